"""Three-way merges: of lines drawn at random, and of edits of kernels that change under them."""

from __future__ import annotations

import json
import random
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import written_programs

import shadesmith as ti
from shadesmith.runtime.session import session as sessions
from shadesmith.runtime.workbench.edits.merge import carried_lines, has_markers, merge, same_source

SIZE = 257


def lines(*texts: str) -> str:
    return "".join(f"{text}\n" for text in texts)


BASE = lines("a", "b", "c", "d", "e")


@pytest.mark.parametrize(
    ("edit", "new", "merged"),
    [
        (BASE, BASE, BASE),
        (lines("a", "B", "c", "d", "e"), BASE, lines("a", "B", "c", "d", "e")),
        (BASE, lines("a", "b", "c", "D", "e"), lines("a", "b", "c", "D", "e")),
        (lines("a", "B", "c", "d", "e"), lines("a", "b", "c", "D", "e"), lines("a", "B", "c", "D", "e")),
        (lines("a", "B", "c", "d", "e"), lines("a", "b", "C", "d", "e"), lines("a", "B", "C", "d", "e")),
        (lines("0", *"abcde"), lines(*"abcde", "9"), lines("0", *"abcde", "9")),
        (lines("a", "c", "d", "e"), lines("a", "b", "c", "e"), lines("a", "c", "e")),
        (lines("a", "X", "c", "d", "e"), lines("a", "X", "c", "d", "e"), lines("a", "X", "c", "d", "e")),
        (lines("a", "n", "b", "c", "d", "e"), lines("a", "B", "c", "d", "e"), lines("a", "n", "B", "c", "d", "e")),
        (lines("a", "b", "c", "d", "e", "f"), "", lines("f")),
        ("", lines(*"abcde"), ""),
    ],
)
def test_changes_of_different_lines_are_both_made(edit: str, new: str, merged: str) -> None:
    result = merge(BASE, edit, new)
    assert (result.text, result.conflicts) == (merged, 0)


def test_changes_of_one_line_conflict() -> None:
    result = merge(BASE, lines("a", "B", "c", "d", "e"), lines("a", "bb", "c", "d", "E"), ("mine", "old", "yours"))
    assert result.conflicts == 1 and has_markers(result.text)
    assert result.text == lines(
        "a", "<<<<<<< mine", "B", "||||||| old", "b", "=======", "bb", ">>>>>>> yours", "c", "d", "E"
    )
    result = merge(BASE, lines("a", "x", "b", "c", "d", "e"), lines("a", "y", "b", "c", "d", "e"))
    assert result.conflicts == 1, "two insertions at one place have no order"


def test_no_typed_line_is_lost(full: bool) -> None:
    for seed in range(300) if full else range(0, 300, 3):
        check_that_no_typed_line_is_lost(seed)


def check_that_no_typed_line_is_lost(seed: int) -> None:
    """Every line that one side has and the base has not stands in the result, also where it conflicts."""
    chance = random.Random(seed)
    base = [f"line {chance.randrange(12)}" for _ in range(chance.randrange(25))]
    edit, new = changed(base, chance, "mine"), changed(base, chance, "theirs")
    result = merge(lines(*base), lines(*edit), lines(*new))
    found = result.text.splitlines()
    for side in (edit, new):
        for line in side:
            if line.startswith(("mine", "theirs")):
                assert line in found, f"seed {seed}: {line!r} is lost"
    assert merge(lines(*base), lines(*edit), lines(*base)).text == lines(*edit)
    assert merge(lines(*base), lines(*base), lines(*new)).text == lines(*new)
    assert merge(lines(*base), lines(*edit), lines(*edit)).text == lines(*edit)
    assert has_markers(result.text) == (result.conflicts > 0)


def changed(base: list[str], chance: random.Random, name: str) -> list[str]:
    """Insert, replace, delete and move some lines. Those put in are like no others, so that a loss shows."""
    result = list(base)
    for number in range(chance.randrange(6)):
        place = chance.randrange(len(result) + 1)
        kind = chance.randrange(4)
        if kind == 0:
            result[place:place] = [f"{name} {number} {k}" for k in range(chance.randrange(1, 4))]
        elif kind == 1:
            del result[place : place + chance.randrange(3)]
        elif kind == 2:
            result[place : place + chance.randrange(3)] = [f"{name} {number}"]
        elif result:
            result.insert(place, result.pop(chance.randrange(len(result))))
    return result


def test_numbers_of_python_lines_are_no_change() -> None:
    base = lines(
        "// shadesmith 0.1.0, cuda 0123abcd, p.py:4: k()",
        "// p.py:6  for i in x:",
        "    x(i) = 1;",
        "// p.py:7  y = 2",
        "    y = 2;",
    )
    new = (
        base.replace("0.1.0, cuda 0123abcd, p.py:4", "10.0, cuda 76543210, p.py:14")
        .replace(":6 ", ":16 ")
        .replace(":7 ", ":17 ")
    )
    edit = base.replace("    x(i) = 1;", "    x(i) = 1;  // p.py:6 by hand")
    assert same_source(base, new) and not same_source(base, edit)
    result = merge(base, edit, new)
    assert result.conflicts == 0 and "// p.py:6 by hand" in result.text
    assert (
        "// p.py:16  for i in x:" in result.text
        and "// shadesmith 10.0, cuda 76543210, p.py:14: k()" in result.text
        and ":17  y = 2" in result.text
    )


def test_line_maps_follow_an_edit() -> None:
    text = lines("head", "// p.py:6  a", "a", "// p.py:7  b", "b")
    edited = lines("head", "new", "// p.py:6  a", "A", "other", "// p.py:7  b", "b")
    assert carried_lines(text, ((2, "p.py", 6), (4, "p.py", 7)), edited) == ((3, "p.py", 6), (6, "p.py", 7))


# --- kernels that change under their edits

STATEMENTS = ("t = x[i] * 2", "u = t + 3", "v = u * u - t", "w = v + u * 5")
CHANGES = (
    lambda body: [*body[:1], "q = t + 1", *body[1:-1], "y[i] = w + q"],
    lambda body: [line.replace("t + 3", "t + 4") for line in body],
    lambda body: [line.replace("x[i] * 2", "x[i] * 3") for line in body],
    lambda body: [line.replace("y[i] = w", "y[i] = w + i") for line in body],
    lambda body: [line.replace("u * 5", "u * 7") for line in body],
    lambda body: [*body[:3], "v += i", *body[3:]],
    lambda body: ["# a comment alone", *body],
    lambda body: body,
)
EDITS = (
    lambda text: text.replace("#define BLOCK 128", "#define BLOCK 64"),
    lambda text: text.replace("int u = t + 3;", "int u = 3 + t;  // by hand"),
    lambda text: text.replace("int v = u * u - t;", "int squared = u * u;  // by hand\n    int v = squared - t;"),
    lambda text: text.replace("int w = v + u * 5;", "int w = v + (u << 2) + u;  // by hand"),
    lambda text: text.replace("int t = x(i) * 2;", "int t = x(i) + x(i);  // by hand"),
    lambda text: text.replace("// p.py", "// my own note: by hand\n    // p.py", 3),
)


def program_of(body: list[str]) -> str:
    inner = "\n".join(f"            {line}" for line in body)
    head = "    for i in x:\n"
    text = f"@ti.kernel\ndef run(x: ti.types.ndarray(ti.i32, 1), y: ti.types.ndarray(ti.i32, 1)):\n{head}"
    return text + textwrap.indent(textwrap.dedent(inner), "        ") + "\n"


@pytest.mark.targets("cpu", "vulkan", "cuda")
@pytest.mark.sampled(8)
@pytest.mark.filterwarnings("ignore:(.|\n)*(this edit was merged with it|generated source of kernel `run` runs)")
@pytest.mark.parametrize("seed", range(50))
def test_edits_of_kernels_that_change(target: str, tmp_path: Path, seed: int) -> None:
    """A clean merge runs once it computes what the generated source does; a conflict changes nothing, loses nothing."""
    if target == "python" or (target == "vulkan" and seed % 5):
        pytest.skip("the interpreter runs no text; lavapipe takes part in every fifth")
    chance = random.Random(seed)
    body = [*STATEMENTS, "y[i] = w"]
    program = written_programs.write(tmp_path / "p.py", program_of(body))
    x, y = np.arange(SIZE, dtype=np.int32), np.zeros(SIZE, np.int32)
    path = program.run.edit(x, y)
    for edit in chance.sample(EDITS, chance.randrange(1, 4)):
        path.write_text(edit(path.read_text()))
    typed = [line for line in path.read_text().splitlines() if "by hand" in line or "BLOCK 64" in line]
    edited = path.read_text()
    for change in chance.sample(CHANGES, chance.randrange(1, 3)):
        body = change(body)
    program = written_programs.write(tmp_path / "p.py", program_of(body), lines_before=chance.randrange(4))
    ti.init(arch=sessions.CURRENT.arch, log_level=ti.WARN, edits="off")
    program.run(x, y)
    expected = y.copy()
    ti.init(arch=sessions.CURRENT.arch, log_level=ti.WARN)
    conflict, merged = (path.with_name(path.name + suffix) for suffix in (".conflict", ".merged"))
    try:
        program.run(x, y)
    except ti.TaichiCompilationError as error:
        copy = conflict if conflict.exists() else merged
        assert str(error).startswith(f"{copy if copy == conflict else path}:")
        assert has_markers(copy.read_text()) == (copy == conflict)
        assert path.read_text() == edited
        assert all(line in copy.read_text() for line in typed)
        ti.init(arch=sessions.CURRENT.arch, log_level=ti.WARN, edits="fallback")
        y.fill(0)
        program.run(x, y)
    assert np.array_equal(y, expected)
    launch = program.run.last_launch
    if launch.variant == "edit":
        assert all(line in path.read_text() for line in typed) and not merged.exists()
    else:
        assert path.read_text() == edited, "a merge that computes something else is not applied"


SUM = """
    @ti.kernel
    def run(x: ti.types.ndarray(ti.i32, 1), y: ti.types.ndarray(ti.i32, 1)):
        for i in x:
            y[i] = x[i] + {number}
"""


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_a_conflict_is_decided_in_its_copy(target: str, tmp_path: Path) -> None:
    if target == "python":
        pytest.skip("the interpreter runs no text")
    x, y = np.arange(SIZE, dtype=np.int32), np.zeros(SIZE, np.int32)
    program = written_programs.write(tmp_path / "p.py", SUM.format(number=1))
    path = program.run.edit(x, y)
    edited = written_programs.replaced(path, "x(i) + 1", "1 + x(i)")
    program = written_programs.write(tmp_path / "p.py", SUM.format(number=2))
    for _ in range(2):
        with pytest.raises(ti.TaichiCompilationError, match=r"1 conflict\. The edit is unchanged"):
            program.run(x, y)
    assert path.read_text() == edited and np.all(y == 0)
    copy = path.with_name(path.name + ".conflict")
    half = copy.read_text().replace("1 + x(i);", "1 + x(i);  // by hand")
    copy.write_text(half)
    with pytest.raises(ti.TaichiCompilationError, match="1 conflict"):
        program.run(x, y)
    assert copy.read_text() == half, "work on it is not overwritten"
    kept = [
        line
        for line in half.splitlines()
        if not has_markers(line) and "1 + x(i)" not in line and "x(i) + 1" not in line
    ]
    copy.write_text("\n".join(kept).replace("x(i) + 2", "2 + x(i)"))
    with pytest.warns(ti.ShadesmithWarning, match="this edit was merged with it"):
        program.run(x, y)
    assert np.array_equal(y, x + 2) and program.run.last_launch.variant == "edit"
    assert "2 + x(i)" in path.read_text() and not copy.exists()
    assert (path.parent / ".base" / f"{path.name}.before").read_text() == edited


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_a_conflict_that_changed_again_keeps_the_work_on_the_first(target: str, tmp_path: Path) -> None:
    if target == "python":
        pytest.skip("the interpreter runs no text")
    x, y = np.arange(SIZE, dtype=np.int32), np.zeros(SIZE, np.int32)
    path = written_programs.write(tmp_path / "p.py", SUM.format(number=1)).run.edit(x, y)
    written_programs.replaced(path, "x(i) + 1", "1 + x(i)")
    for number in (2, 3):
        program = written_programs.write(tmp_path / "p.py", SUM.format(number=number))
        with pytest.raises(ti.TaichiCompilationError, match="1 conflict"):
            program.run(x, y)
        copy = path.with_name(path.name + ".conflict")
        assert f"x(i) + {number}" in copy.read_text()
        copy.write_text(copy.read_text() + f"// thought {number}\n")
    first = path.with_name(path.name + ".conflict-2")
    assert "// thought 2" in first.read_text() and "// thought 3" in copy.read_text()


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_an_edit_that_cannot_be_written_is_refused_when_stale(target: str, tmp_path: Path, monkeypatch) -> None:
    if target == "python":
        pytest.skip("the interpreter runs no text")
    x, y = np.arange(SIZE, dtype=np.int32), np.zeros(SIZE, np.int32)
    path = written_programs.write(tmp_path / "p.py", SUM.format(number=1)).run.edit(x, y)
    written_programs.replaced(path, "#include" if "#include" in path.read_text() else "void ", "// by hand\nvoid ")
    program = written_programs.write(tmp_path / "p.py", SUM.format(number=2))
    monkeypatch.setattr("shadesmith.runtime.workbench.edits.proposals.is_writable", lambda path: False)
    with pytest.raises(ti.TaichiCompilationError, match="made for another generated source .* read-only"):
        program.run(x, y)
    ti.init(arch=sessions.CURRENT.arch, log_level=ti.WARN, edits="fallback")
    with pytest.warns(ti.ShadesmithWarning, match="generated source of kernel `run` runs instead"):
        program.run(x, y)
    assert np.array_equal(y, x + 2)


# --- who accepts a merge

STALE = """
    @ti.kernel
    def run(x: ti.types.ndarray(ti.i32, 1), y: ti.types.ndarray(ti.i32, 1)):
        for i in x:
            t = x[i] * {first}
            u = t + 5
            v = u * 7 - t
            y[i] = v + u
"""
"""An edit of `v + u` that was simplified with the first line in mind merges without a conflict, and is wrong."""


def stale_edit(folder: Path, is_right: bool) -> tuple[Path, Any, np.ndarray, np.ndarray]:
    """Edit a kernel and change its first line: the merge is right, or what was simplified by hand is stale."""
    x, y = np.arange(SIZE, dtype=np.int32), np.zeros(SIZE, np.int32)
    path = written_programs.write(folder / "p.py", STALE.format(first=2)).run.edit(x, y)
    new = "u + v" if is_right else "16 * x(i) + 40 - 2 * x(i)"  # u = 2 x + 5, v = 7 u - 2 x
    written_programs.replaced(path, "y(i) = v + u;", f"y(i) = {new};  // by hand")
    return path, written_programs.write(folder / "p.py", STALE.format(first=3)), x, y


def record(path: Path) -> dict[str, Any]:
    return json.loads((path.parent / ".base" / f"{path.name}.merge.json").read_text())


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_a_clean_merge_does_not_run_under_strict_before_a_person_accepts_it(target: str, tmp_path: Path) -> None:
    if target == "python":
        pytest.skip("the interpreter runs no text")
    path, program, x, y = stale_edit(tmp_path, is_right=True)
    before = path.read_text()
    for _ in range(2):
        with pytest.raises(ti.TaichiCompilationError, match=r"nobody has accepted .*shadesmith merge"):
            program.run(x, y)
    assert path.read_text() == before and not y.any()
    proposed = path.with_name(path.name + ".merged").read_text()
    assert "x(i) * 3" in proposed and "u + v;  // by hand" in proposed
    variants = program.run.variants(x, y)
    assert program.run.compare(x, y).passed, "what is compared is the merge"
    assert path.read_text() == before
    with pytest.warns(ti.ShadesmithWarning, match="accepted by a person, and keeps 1 line of yours"):
        for proposal in variants.proposals["edit"]:
            proposal.accept("a person")
    program.run(x, y)
    assert np.array_equal(y, 24 * x + 40 - 3 * x) and path.read_text() == proposed
    assert program.run.last_launch.reason == "merged, accepted by a person"
    assert record(path)["accepted_by"] == "a person"


@pytest.mark.parametrize("policy", ["fallback", "watch"])
@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_a_comparison_accepts_a_merge_that_is_right(target: str, tmp_path: Path, policy: str) -> None:
    if target == "python":
        pytest.skip("the interpreter runs no text")
    ti.init(arch=sessions.CURRENT.arch, log_level=ti.WARN, edits=policy)
    path, program, x, y = stale_edit(tmp_path, is_right=True)
    with pytest.warns(ti.ShadesmithWarning, match="accepted by a comparison on the arguments of a launch"):
        program.run(x, y)
    assert np.array_equal(y, 24 * x + 40 - 3 * x) and program.run.last_launch.variant == "edit"
    assert program.run.last_launch.reason == "merged, accepted by a comparison on the arguments of a launch"
    assert record(path)["lines_kept"] == 1


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_stale_arithmetic_does_not_run_though_it_merges(target: str, tmp_path: Path) -> None:
    if target == "python":
        pytest.skip("the interpreter runs no text")
    ti.init(arch=sessions.CURRENT.arch, log_level=ti.WARN, edits="fallback")
    path, program, x, y = stale_edit(tmp_path, is_right=False)
    before = path.read_text()
    with pytest.warns(ti.ShadesmithWarning, match=r"does not compute the same: y\[1\]"):
        program.run(x, y)
    assert np.array_equal(y, 24 * x + 40 - 3 * x) and program.run.last_launch.variant == "generated"
    assert path.read_text() == before
