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


@pytest.mark.exhaustive
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


@pytest.mark.exhaustive
@pytest.mark.isolated
def test_an_edit_that_crashes_or_hangs_gives_the_answer_no(command, edited) -> None:
    kernel = edited("x(i, j) =", "for (volatile int q = 1; q; ) { } x(i, j) =")
    said = command("compare", kernel, "--time-limit", "1")
    assert said.status == 2 and "`edit` of kernel `scale` was stopped after 1 s" in said.notes, said
    subprocess.run([sys.executable, "-c", EDIT, str(Path(kernel).parent), "x(i, j) =", "__builtin_trap(); x(i, j) =", "trap"],
                   check=True)  # fmt: skip
    said = command(
        "compare", kernel, "--variant", "edit", "--variant", "trap", "--variant", "generated", "--time-limit", "1"
    )
    assert said.status == 1 and "an instruction that traps" in said.text and "was stopped" in said.text, said
    assert "passed" in said.text, "the generated source against itself"
    assert command("bench", kernel, "--time-limit", "1").status == 2


@pytest.mark.isolated
def test_launches_before_the_one_that_is_asked_for_run_the_generated_source(command, program) -> None:
    path = program(PROGRAM + "        for k in range(3): scale(np.ones((4, 5), np.float32), float(k))\n")
    subprocess.run(
        [sys.executable, "-c", EDIT, str(path.parent), "x(i, j) =", "__builtin_trap(); x(i, j) ="], check=True
    )
    said = command("compare", f"{path}:scale", "--call", "3")
    assert said.status == 2 and "was stopped; what it computes is incomplete" in said.notes, said


def test_a_merge_is_accepted_by_a_command(command, edited) -> None:
    kernel = edited("int j = 0;", "int j = 1 - 1;")
    path = Path(kernel.rpartition(":")[0])
    path.write_text(path.read_text().replace("+ start[0]", "+ 2.0 * start[0]"))
    said = command("status", kernel)
    assert "merges" in said.text and "shadesmith merge" in said.text
    (text,) = (file for file in path.parent.rglob("scale.c") if file.parent.name != ".base")
    before = text.read_text()
    said = command("merge", kernel, "--dry-run")
    assert said.status == 0 and text.read_text() == before and "+" in said.text and "passed" in said.text
    with pytest.warns(UserWarning, match="accepted by a person, after a comparison"):
        said = command("merge", kernel)
    assert said.status == 0 and "2.0f * start" in text.read_text() and "1 - 1" in text.read_text()
    assert command("compare", kernel).status == 0
    assert "nothing to merge" in command("merge", kernel).notes


@pytest.mark.exhaustive
def test_a_merge_that_computes_something_else_is_not_accepted(command, edited) -> None:
    kernel = edited("int j = 0;", "int j = 1;")
    path = Path(kernel.rpartition(":")[0])
    path.write_text(path.read_text().replace("+ start[0]", "+ 2.0 * start[0]"))
    said = command("merge", kernel)
    assert said.status == 1 and "DIFFERS" in said.text and "is not accepted" in said.notes, said
    with pytest.warns(UserWarning, match="accepted by a person, against a comparison"):
        assert command("merge", kernel, "--force").status == 0
