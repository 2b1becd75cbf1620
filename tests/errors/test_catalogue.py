"""Every invalid program gets the right class, line, column, caret and hint, and no frame of ours is shown."""

from __future__ import annotations

import subprocess
import sys
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
        exec(compile(text, str(path), "exec"), {"__name__": case.name, "__file__": str(path)})
    error = caught.value
    assert type(error).__name__ == case.error, str(error)
    assert case.message.lower() in str(error).lower()
    if line:
        assert (error.location.line, error.location.column) == (line, column), str(error)
        assert error.location.source.line(line) in str(error)
    assert "^" in str(error)
    assert error.hint, str(error)


@pytest.mark.parametrize("case", [CASES[0], CASES[20], CASES[40]], ids=lambda case: case.name)
def test_no_frame_of_ours_is_shown(case: Case, tmp_path: Path) -> None:
    text, _, _ = split(case)
    path = tmp_path / f"{case.name}.py"
    path.write_text(text.replace("import shadesmith as ti\n", "import shadesmith as ti; ti.init(arch=ti.python)\n"))
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    package = str(Path(ti.__file__).resolve().parent)
    assert package not in done.stderr and "kernel.py" not in done.stderr, done.stderr
    assert case.error in done.stderr


def test_the_catalogue_is_large_enough() -> None:
    assert len(CASES) >= 60
    assert len({case.name for case in CASES}) == len(CASES)
