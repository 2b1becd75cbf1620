"""`shadesmith compare` and `shadesmith repro` on a program with an edit beside it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from shadesmith.runtime.commands.command_line import main

PROGRAM = """
    ti.init(arch=ti.cpu, log_level=ti.ERROR)
    start = ti.field(ti.f32, 3)

    @ti.kernel
    def scale(x: ti.types.ndarray(ti.f32, 2), a: ti.f32):
        for i, j in x:
            x[i, j] = a * x[i, j] + start[0]

    def edit(old, new, variant=""):
        path = scale.edit(np.ones((4, 5), np.float32), 3.0, variant=variant)
        path.write_text(path.read_text().replace(old, new))

    if __name__ == "__main__":
        start[0] = 2.0
        scale(np.ones((4, 5), np.float32), 3.0)
"""
EDIT = "import sys; sys.path.insert(0, sys.argv[1]); import program; program.edit(*sys.argv[2:])"


@pytest.fixture
def edited(program: Callable[..., Path]) -> Callable[..., str]:
    """Write the program and an edit of its kernel; return what a command line calls the kernel."""

    def edit(*words: str) -> str:
        path = program(PROGRAM)
        if words:
            subprocess.run([sys.executable, "-c", EDIT, str(path.parent), *words], check=True)
        return f"{path}:scale"

    return edit


def test_a_right_edit_gives_the_answer_yes(command, edited) -> None:
    said = command("compare", edited("args.a * x(i, j)", "x(i, j) * args.a"))
    assert said.status == 0, said.notes
    lines = said.text.splitlines()
    assert lines[0] == "compare scale on c: generated and edit, 3 rounds" and lines[-1] == "passed"
    assert lines[1].split()[:3] == ["output", "type", "result"]


def test_a_wrong_edit_gives_the_answer_no_with_an_index(command, edited) -> None:
    said = command("compare", edited("args.a * x(i, j)", "args.a * x(i, j) + j"), "--rounds", "1")
    assert said.status == 1 and "x[0, 1]: 5, found 6 (and 15 more)" in said.text, said


def test_all_variants_are_compared_as_data(command, edited) -> None:
    edited("args.a * x(i, j)", "x(i, j) * args.a")
    said = command("compare", edited("args.a * x(i, j)", "2.0f", "two"), "--variant", "all", "--json")
    found = {each["variant"]: each["passed"] for each in said.data["comparisons"]}
    assert (said.status, said.data["passed"], found) == (1, False, {"edit": True, "two": False})


def test_mistakes_are_one_line_with_a_hint(command, edited) -> None:
    said = command("compare", edited())
    assert said.status == 2 and "no variant `edit`" in said.notes and "kernel.edit" in said.notes
    said = command("compare", edited(), "--rounds", "0")
    assert said.status == 2 and said.notes.startswith("shadesmith: `--rounds 0`")


def test_a_reproducer_holds_the_arguments_of_the_launch(command, edited, tmp_path: Path) -> None:
    said = command("repro", edited(), "-o", tmp_path / "out", "--json")
    assert said.status == 0 and "run.py" in said.data["files"]
    assert np.all(np.load(tmp_path / "out" / "expected" / "x.npy") == 5.0)
    said = command("repro", edited(), "-o", tmp_path / "out")
    assert said.status == 2 and "is not empty" in said.notes


def test_help_names_both(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    assert {"compare", "repro"} <= set(capsys.readouterr().out.split())
