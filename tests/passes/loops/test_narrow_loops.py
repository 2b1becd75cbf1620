"""Pass `narrow_loops`: on C a condition on the indices is the range of a loop; results are the same everywhere."""

from __future__ import annotations

import itertools
import re
import textwrap
from types import ModuleType

import numpy as np
import pytest
import written_programs

import shadesmith as ti

NOTE = "is the range of the loop (narrow_loops)"
KERNELS = """
import shadesmith as ti
{constants}

@ti.kernel
def over(x: ti.types.ndarray(ti.i32, 2), y: ti.types.ndarray(ti.i32, 2), k: ti.i32):
    for i, j in x:
        if {condition}:
            y[i, j] += x[i, j] + 10 * i + j

@ti.kernel
def between(x: ti.types.ndarray(ti.i32, 2), y: ti.types.ndarray(ti.i32, 2), k: ti.i32):
    for i, j in ti.ndrange((2, 7), (1, x.shape[1])):
        if {condition}:
            y[i, j] += x[i, j] + 10 * i + j
"""
WHOLE = [
    "0 < i < x.shape[0] - 1 and 0 < j < x.shape[1] - 1",
    "i >= 1 and j + 1 < x.shape[1] and j - 1 >= 0",
    "i > 2 and i > 4 and j < 5 and j <= x.shape[1] - 2",
    "i < M - 1 and 1 <= j",
    "i <= M - 3 and M - 6 < j",
    "k <= i < k + 3",
    "i < k and k < 100",
    "i < y.shape[1]",
    "j > 2147483646 or i < 3",
    "x.shape[0] - 3 > i",
    "i + 1 < 5 and 1 < j - 1",
    "not i < 3",
]
PARTLY = {
    "i > 0 and x[i, j] > 3": "int i = 1;",
    "i > 3 and j != 3 and i != j": "int i = 4;",
    "i + k > 3 and i < 6": "i < 6;",
    "i < x[0, 0] and 4 <= j": "int j = 4;",
}
NEVER = ["i + j < 5", "j != 2", "i < 2 or j < 2", "x[i, j] > 2"]
SHAPES = [(0, 5), (1, 1), (2, 3), (9, 8), (3, 17)]


def load(condition: str, folder) -> ModuleType:
    path = folder / "program.py"
    path.write_text(KERNELS.format(condition=condition, constants="M = 7"))
    return written_programs.load(path)


def expected(condition: str, x: np.ndarray, start: np.ndarray, k: int, box) -> np.ndarray:
    y = start.copy()
    code = compile(condition, "condition", "eval")
    for i, j in itertools.product(*box):
        if i < x.shape[0] and j < x.shape[1] and eval(code, {"i": i, "j": j, "x": x, "y": y, "k": k, "M": 7}):  # noqa: S307
            y[i, j] += x[i, j] + 10 * i + j
    return y


def check(condition: str, folder, sizes=SHAPES) -> ModuleType:
    program = load(condition, folder)
    for shape, k in itertools.product(sizes, (0, 3, -5)):
        if 0 in shape and "x[0" in condition:
            continue
        x = np.arange(np.prod(shape), dtype=np.int32).reshape(shape) % 7
        start = np.full(shape, 100, np.int32)
        y = start.copy()
        program.over(x, y, k)
        np.testing.assert_array_equal(y, expected(condition, x, start, k, map(range, shape)), f"{shape} {k}")
        if shape[0] >= 7:
            y = start.copy()
            program.between(x, y, k)
            box = range(2, 7), range(1, shape[1])
            np.testing.assert_array_equal(y, expected(condition, x, start, k, box), f"{shape} {k}")
    return program


@pytest.mark.sampled(7)
@pytest.mark.parametrize("condition", [*WHOLE, *PARTLY, *NEVER])
def test_results(target, condition: str, tmp_path) -> None:
    check(condition, tmp_path)


def random_condition(random: np.random.Generator) -> str:
    """Return comparisons of indices, some mirrored or of other things, joined by `and`, some by `or`."""

    def pick(*choices: str) -> str:
        return str(random.choice(choices))

    def comparison() -> str:
        number = int(random.integers(-3, 9))
        index = pick("i", "j", "i + 1", "j - 1", "i - 2", "j + 3", "i + j", "2 * i")
        extent = pick("x.shape[0]", "x.shape[1]", "y.shape[0]")
        bound = pick(
            f"{number}", f"{extent}", f"{extent} - {abs(number)}", f"M - {number}", "k", f"k + {number}", "x[0, 0]"
        )
        op = pick("<", "<=", ">", ">=", "<", "<=", ">", ">=", "==", "!=")
        return f"{index} {op} {bound}" if random.random() < 0.7 else f"{bound} {op} {index}"

    parts = [comparison() for _ in range(random.integers(1, 5))]
    joined = [parts[0]]
    for part in parts[1:]:
        joined += [pick("and", "and", "and", "or"), pick("", "", "", "not ") + part]
    return " ".join(joined)


def test_random_conditions(full: bool, tmp_path) -> None:
    ti.init(arch=ti.cpu, log_level=ti.ERROR)
    for seed in range(200 if full else 8):
        folder = tmp_path / str(seed)
        folder.mkdir()
        check(random_condition(np.random.default_rng(seed)), folder, [(1, 1), (9, 8), (3, 17)])


def sources(condition: str, folder) -> tuple[str, str]:
    program, x = load(condition, folder), np.ones((9, 8), np.int32)
    found = (kernel.source(x, x.copy(), 3, arch=ti.cpu) for kernel in (program.over, program.between))
    return tuple(re.sub(r"\n *// +\(", " (", source) for source in found)  # one line for each comment


@pytest.mark.parametrize("condition", [c for c in WHOLE if " or " not in c and "100" not in c])
def test_a_condition_becomes_the_range(condition: str, tmp_path) -> None:
    ti.init(arch=ti.cpu, log_level=ti.ERROR)
    for source in sources(condition, tmp_path):
        assert NOTE in source and "    if (" not in source.replace("if ((long long)", "")


@pytest.mark.parametrize(("condition", "head"), PARTLY.items())
def test_the_rest_of_a_condition_stays(condition: str, head: str, tmp_path) -> None:
    ti.init(arch=ti.cpu, log_level=ti.ERROR)
    for source in sources(condition, tmp_path):
        assert NOTE not in source and "    if (" in source
    assert head in sources(condition, tmp_path)[0].replace("end_i = min_i32(args.x_n0, 6)", "i < 6;")


@pytest.mark.parametrize("condition", NEVER)
def test_other_conditions_stay(condition: str, tmp_path) -> None:
    ti.init(arch=ti.cpu, log_level=ti.ERROR)
    with_pass = sources(condition, tmp_path)
    ti.init(arch=ti.cpu, log_level=ti.ERROR, passes="-narrow_loops")
    assert [s.partition("\n")[2] for s in sources(condition, tmp_path)] == [s.partition("\n")[2] for s in with_pass]


@pytest.mark.parametrize(("n", "row"), [(128, "int j = 0; j < x_n1;"), (300, "int j = 1; j < x_n1 - 1;")])
def test_short_rows_stay_whole(n: int, row: str) -> None:
    ti.init(arch=ti.cpu, log_level=ti.ERROR)
    x = ti.field(ti.f32, (n, n))

    @ti.kernel
    def inner():
        for i, j in x:
            if 0 < i < x.shape[0] - 1 and 0 < j < x.shape[1] - 1:
                x[i, j] = 1.0

    assert f"for ({row}" in inner.source() and "int i = 1; i < x_n0 - 1;" in inner.source()
    inner()
    assert x.to_numpy().sum() == (n - 2) ** 2


BODIES = {
    "a statement beside": "if i > 0:\n    y[i] = 1\ny[i] += 2",
    "another branch": "if i > 0:\n    y[i] = 1\nelse:\n    y[i] = 2",
    "a continue": "if i == 0:\n    continue\ny[i] = 5",
    "a variable": "s = 0\nif i > 0 and i < n:\n    s = 3\ny[i] = s",
    "a sum": "if 1 < i < n:\n    y[0] += i",
    "threads": "t = ti.simt.block.thread_idx()\nif i > 0:\n    y[i] = t",
    "a nested condition": "if i > 0:\n    if i < n:\n        y[i] = 7",
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_bodies(target, body: str, tmp_path) -> None:
    found = []
    for passes in ("", "-narrow_loops"):
        ti.init(arch=getattr(ti, target), log_level=ti.ERROR, passes=passes)
        program = written_programs.write(
            tmp_path / "bodies.py",
            "@ti.kernel\ndef k(y: ti.types.ndarray(ti.i32, 1), n: ti.i32):\n    for i in y:\n"
            + textwrap.indent(body, "        "),
        )
        for n in (-3, 0, 1, 2, 40):
            y = np.full(37, 9, np.int32)
            program.k(y, n)
            found.append(y)
    np.testing.assert_array_equal(found[:5], found[5:])


def test_extremes(target) -> None:
    @ti.kernel
    def above(y: ti.types.ndarray(ti.i32, 1), a: ti.i32, b: ti.i32):
        for i in y:
            if a < i and i <= b:
                y[i] = 1

    @ti.kernel
    def sums(y: ti.types.ndarray(ti.i32, 1), a: ti.i32, b: ti.i32):
        for i in y:
            if i >= a + 1 and i < b - 1:
                y[i] = 1

    big, small = 2**31 - 1, -(2**31)
    for a, b in ((big, big), (small, small), (small, big), (big, small), (3, 7), (-1, big)):
        for kernel, low, end in ((above, a + 1, b + 1), (sums, wrapped(a + 1), wrapped(b - 1))):
            y = np.zeros(10, np.int32)
            kernel(y, a, b)
            assert y.tolist() == [int(low <= i < end) for i in range(10)], (a, b, kernel)


def wrapped(number: int) -> int:
    return (number + 2**31) % 2**32 - 2**31
