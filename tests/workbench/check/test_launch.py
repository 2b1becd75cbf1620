"""Edits with another interface never run: the launch is refused at the edited file's line, before anything happens."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import written_programs

import shadesmith as ti
from shadesmith.runtime.session import session as sessions
from shadesmith.runtime.workbench.check.edit_error import EditError

BLEND = """
    @ti.kernel
    def blend(x: ti.types.ndarray(ti.f32, 1), y: ti.types.ndarray(ti.f32, 1), a: ti.f32, n: ti.i32):
        for i in y:
            y[i] = a * x[i] + n
"""
SIZE = 300
SUFFIXES = {"cpu": ".c", "cuda": ".cu", "vulkan": ".comp"}


@pytest.fixture(autouse=True)
def compiled(target: str) -> None:
    if target == "python":
        pytest.skip("the interpreter runs no text")


def again(**options) -> None:
    """Start a session like the present one, as the next run of a program does."""
    ti.init(arch=sessions.CURRENT.arch, log_level=ti.WARN, **options)


def mistake(target: str, text: str) -> tuple[str, str]:
    """Return a text with a mistake of each kind a launch could suffer from, and what is said of it."""
    lines = text.split("\n")
    first = next(k for k, line in enumerate(lines) if line.strip().startswith("float a;"))
    lines[first], lines[first + 1] = lines[first + 1], lines[first]
    return "\n".join(lines), rf":{first + 2}: member `a` of `Args` is at another offset"


def test_a_moved_argument_is_refused_before_the_launch(target: str, tmp_path: Path) -> None:
    program = written_programs.write(tmp_path / "p.py", BLEND)
    x, y = np.arange(SIZE, dtype=np.float32), np.zeros(SIZE, np.float32)
    path = program.blend.edit(x, y, 2.0, 5)
    assert path.suffix == SUFFIXES[target]
    text, says = mistake(target, path.read_text())
    path.write_text(text)
    for _ in range(2):
        with pytest.raises(EditError, match=rf"^{path}{says}"):
            program.blend(x, y, 2.0, 5)
    assert not y.any(), "nothing ran"
    again(edits="fallback")
    with pytest.warns(ti.ShadesmithWarning, match="is at another offset"):
        program.blend(x, y, 2.0, 5)
    assert np.array_equal(y, 2 * x + 5) and program.blend.last_launch.variant == "generated"


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_a_store_to_an_array_that_is_only_read_is_refused(target: str, tmp_path: Path) -> None:
    program = written_programs.write(tmp_path / "p.py", BLEND)
    x, y = np.ones(SIZE, np.float32), np.zeros(SIZE, np.float32)
    path = program.blend.edit(x, y, 2.0, 5)
    written_programs.replaced(path, "    y(i) = ", "    x(i) = 0.0;\n    y(i) = ")
    with pytest.raises(EditError, match=r":\d+: `x` is stored to here") as caught:
        program.blend(x, y, 2.0, 5)
    shown = str(caught.value).split("\n")
    assert shown[1].endswith("|     x(i) = 0.0;") and shown[2].endswith("|     ^")
    assert x.all() and not y.any(), "nothing ran"


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_a_syntax_error_is_shown_with_a_caret(target: str, tmp_path: Path) -> None:
    program = written_programs.write(tmp_path / "p.py", BLEND)
    x, y = np.ones(SIZE, np.float32), np.zeros(SIZE, np.float32)
    path = program.blend.edit(x, y, 2.0, 5)
    written_programs.replaced(path, "    y(i) = ", "    y(i) = missing + ")
    with pytest.raises(EditError, match=rf"^{path}:\d+: error: .*missing.*\n *\d+ \| .*\n +\| +\^\^\^\^\^\^\^$"):
        program.blend(x, y, 2.0, 5)


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_a_file_of_the_author_is_not_included(target: str, tmp_path: Path) -> None:
    program = written_programs.write(tmp_path / "p.py", BLEND)
    x, y = np.arange(SIZE, dtype=np.float32), np.zeros(SIZE, np.float32)
    path = program.blend.edit(x, y, 2.0, 5)
    (path.parent / "helper.h").write_text("#define TWICE(v) (2 * (v))\n")
    lines = path.read_text().split("\n")
    first = next(k for k, line in enumerate(lines) if line.startswith("#define"))
    commented = '// #include "other.h"'
    path.write_text("\n".join([*lines[:first], commented, '#include "helper.h"', *lines[first:]]))
    with pytest.raises(EditError, match=rf"{path.name}:{first + 2}: an edit includes no file of its author") as caught:
        program.blend(x, y, 2.0, 5)
    assert '| #include "helper.h"\n' in str(caught.value)
    assert "Hint: put the text of `helper.h` in place of this line" in str(caught.value)
    assert "other.h" not in str(caught.value)
    assert not y.any()


@pytest.mark.all_targets
def test_a_repaired_edit_runs(target: str, tmp_path: Path) -> None:
    program = written_programs.write(tmp_path / "p.py", BLEND)
    x, y = np.ones(SIZE, np.float32), np.zeros(SIZE, np.float32)
    path = program.blend.edit(x, y, 2.0, 5)
    good = path.read_text().replace(
        "    y(i) = ", "    y(i) = 100.0f + " if target != "vulkan" else "    y(i) = 100.0 + "
    )
    path.write_text(mistake(target, good)[0])
    with pytest.raises(EditError):
        program.blend(x, y, 2.0, 5)
    path.write_text(good)
    again()
    program.blend(x, y, 2.0, 5)
    assert np.all(y == 107) and program.blend.last_launch.variant == "edit"
