"""Where the text of a kernel comes from: files, notebooks, the prompt, `exec`, packages without source."""

from __future__ import annotations

import linecache
import py_compile
import subprocess
import sys
from pathlib import Path

import pytest

import shadesmith as ti

KERNEL = "import shadesmith as ti\n@ti.kernel\ndef k():\n    größe = 3 + \\\n\t\tfehlt\n"


def call(text: str, file: str) -> ti.TaichiCompilationError:
    """Return the error of kernel `k` that `text` defines, compiled under the name `file`."""
    ti.init(arch=ti.python, log_level=ti.ERROR)
    space: dict[str, object] = {}
    exec(compile(text, file, "exec", dont_inherit=True), space)
    with pytest.raises(ti.TaichiCompilationError) as caught:
        space["k"]()  # type: ignore[operator]
    return caught.value


@pytest.mark.parametrize("file", ["<ipython-input-1-a1b2>", "/tmp/ipykernel_77/1234.py", "<registered by a program>"])
def test_text_registered_with_linecache(file: str) -> None:
    linecache.cache[file] = (len(KERNEL), None, KERNEL.splitlines(keepends=True), file)
    error = call(KERNEL, file)
    assert (error.location.file, error.location.line, error.location.column) == (file, 5, 3)
    assert "\n\t\tfehlt\n\t\t^^^^^\n" in str(error)


def test_two_cells_of_one_name_show_the_text_of_their_own() -> None:
    for word in ("eins", "zwei"):
        text = KERNEL.replace("fehlt", word)
        file = f"<cell {word}>"
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        assert f"\n\t\t{word}\n" in str(call(text, file))


def test_column_counts_characters_of_any_width(tmp_path: Path) -> None:
    text = "import shadesmith as ti\n@ti.kernel\ndef k():\n    print('日本', '𝒙', 'é'); x = «fehlt\n"
    path = tmp_path / "wide.py"
    path.write_text(text.replace("«", ""), encoding="utf-8")
    error = call(text.replace("«", ""), str(path))
    assert (error.location.line, error.location.column) == (4, text.splitlines()[3].index("«") + 1)


def test_lines_of_a_file_with_carriage_returns(tmp_path: Path) -> None:
    path = tmp_path / "dos.py"
    path.write_bytes(KERNEL.replace("\n", "\r\n").encode())
    error = call(KERNEL, str(path))
    assert (error.location.line, error.location.column) == (5, 3) and "\r" not in str(error)


def run(*command: str, text: str = "", folder: Path) -> str:
    """Run Python with `text` as its input in `folder`; return what it shows."""
    done = subprocess.run(
        [sys.executable, *command], input=text, capture_output=True, text=True, cwd=folder, timeout=300, check=False
    )
    return done.stdout + done.stderr


def test_prompt(tmp_path: Path) -> None:
    lines = "import shadesmith as ti\nti.init(arch=ti.python)\n@ti.kernel\ndef k():\n    x = fehlt\n\nk()\n"
    shown = run("-i", text=lines, folder=tmp_path)
    if sys.version_info >= (3, 13):
        assert 'Name "fehlt" is not defined' in shown
    else:
        assert "The source of `k` is not available in <stdin>, line 1" in shown and "Hint: define it in a file" in shown


def test_command_line_text(tmp_path: Path) -> None:
    shown = run(
        "-c", "import shadesmith as ti\nti.init(arch=ti.python)\n@ti.kernel\ndef k():\n    pass\nk()", folder=tmp_path
    )
    assert "The source of `k` is not available in <string>, line 3" in shown or sys.version_info >= (3, 13)


def test_module_without_source(tmp_path: Path) -> None:
    module = tmp_path / "kernels.py"
    module.write_text(KERNEL.replace("fehlt", "4"), encoding="utf-8")
    py_compile.compile(str(module), cfile=str(tmp_path / "kernels.pyc"))
    module.unlink()
    shown = run("-c", "import shadesmith as ti, kernels\nti.init(arch=ti.python)\nkernels.k()", folder=tmp_path)
    assert "The source of `k` is not available in" in shown and "Hint: define it in a file" in shown
    assert "kernel.py" not in shown


@pytest.mark.parametrize("place", ["start", "middle", "end", "all"])
def test_of_a_long_line_only_a_window_is_shown(place: str) -> None:
    terms = " + ".join(f"{n}.0" for n in range(100))
    line = {
        "start": f"fehlt + {terms}",
        "middle": f"{terms} + fehlt + {terms}",
        "end": f"{terms} + fehlt",
        "all": f"[{terms}] + 'text'",
    }[place]
    file = f"<long line {place}>"
    text = f"import shadesmith as ti\n@ti.kernel\ndef k():\n    x = {line}\n"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    error = call(text, file)
    shown, marks = str(error).splitlines()[2:4]
    assert len(shown) <= 130
    assert len(marks) <= len(shown)
    assert (shown.startswith("..."), shown.endswith("...")) == {
        "start": (False, True),
        "middle": (True, True),
        "end": (True, False),
        "all": (False, True),
    }[place]
    marked = shown[marks.index("^") : len(marks)]
    assert marked == "fehlt" if place != "all" else marked.startswith("[0.0 + 1.0")
    assert error.location.column == 9 + (0 if place in ("start", "all") else len(terms) + 3)
