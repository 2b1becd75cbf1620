"""Every invalid program gets the right class, line, column, caret and hint, and no frame of ours is shown."""

from __future__ import annotations

import subprocess
import sys
import traceback
from pathlib import Path

import pytest
from catalogue import CASES, Case

import shadesmith as ti

HEAD = "import numpy as np\nimport shadesmith as ti\n"


def split(case: Case) -> tuple[str, int, int]:
    """Return the program without its mark, and line and column of the mark (0, 0 without one)."""
    text = HEAD + case.source
    if "«" not in text:
        return text, 0, 0
    before = text[: text.index("«")]
    return text.replace("«", ""), before.count("\n") + 1, len(before) - before.rfind("\n")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_error_names_the_place_and_the_remedy(case: Case, tmp_path: Path) -> None:
    text, line, column = split(case)
    path = tmp_path / f"{case.name}.py"
    path.write_text(text)
    ti.init(arch=ti.python, log_level=ti.ERROR)
    with pytest.raises(ti.TaichiCompilationError) as caught:
        exec(compile(text, str(path), "exec", dont_inherit=True), {"__name__": case.name, "__file__": str(path)})
    error = caught.value
    assert type(error).__name__ == case.error, str(error)
    assert case.message.lower() in str(error).lower()
    if line:
        assert (error.location.line, error.location.column) == (line, column), str(error)
        assert error.location.source.line(line) in str(error)
    assert "^" in str(error)
    assert error.hint, str(error)


def run(text: str, path: Path) -> str:
    """Run a program that ends with an uncaught error; return what Python shows."""
    path.write_text(text)
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    return done.stderr


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_caught_error_holds_no_frame_of_ours(case: Case, tmp_path: Path) -> None:
    text, _, _ = split(case)
    path = tmp_path / f"{case.name}.py"
    path.write_text(text)
    ti.init(arch=ti.python, log_level=ti.ERROR)
    sys.settrace(None)  # a coverage tool is in the way of the cut
    try:
        exec(compile(text, str(path), "exec", dont_inherit=True), {"__name__": case.name, "__file__": str(path)})
    except ti.TaichiCompilationError as error:
        files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    assert set(files) <= {__file__, str(path)}, files


@pytest.mark.parametrize("case", [CASES[0], CASES[20], CASES[40], CASES[-20]], ids=lambda case: case.name)
def test_no_frame_of_ours_is_shown(case: Case, tmp_path: Path) -> None:
    text = split(case)[0].replace("import shadesmith as ti\n", "import shadesmith as ti; ti.init(arch=ti.python)\n")
    shown = run(text, tmp_path / f"{case.name}.py")
    package = str(Path(ti.__file__).resolve().parent)
    assert package not in shown and "kernel.py" not in shown, shown
    assert case.error in shown


def test_full_tracebacks_on_request(tmp_path: Path) -> None:
    start = "ti.init(arch=ti.python, print_full_traceback=True)"
    text = split(CASES[0])[0].replace("import shadesmith as ti\n", f"import shadesmith as ti; {start}\n")
    shown = run(text, tmp_path / "full.py")
    assert "kernel.py" in shown and "context.py" in shown


def test_tracing_is_left_alone(tmp_path: Path) -> None:
    def trace(frame: object, event: str, argument: object) -> None: ...

    ti.init(arch=ti.python, log_level=ti.ERROR)
    namespace: dict[str, object] = {}
    sys.settrace(trace)
    try:
        with pytest.raises(ti.TaichiSyntaxError):
            exec("import shadesmith as ti\nti.kernel(3)", namespace)
        assert sys.gettrace() is trace
    finally:
        sys.settrace(None)


def test_no_caret_without_a_line() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    with pytest.raises(ti.TaichiSyntaxError, match="not available") as caught:
        exec("import shadesmith as ti\n@ti.kernel\ndef k():\n    x = 1\nk()", {})
    assert "^" not in str(caught.value)


def test_the_catalogue_is_large_enough() -> None:
    assert len(CASES) >= 110
    assert len({case.name for case in CASES}) == len(CASES)
