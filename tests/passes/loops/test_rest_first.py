"""Pass `rest_first`: loops over lists run in groups, first what is left of a division by their size (CUDA)."""

from __future__ import annotations

import numpy as np
import pytest
import written_programs

import shadesmith as ti

WHY = "// first what is left of a division by {0}: loads of up to {0} iterations are under way together"
SOURCE = """
@ti.kernel
def run(begin: ti.template(), end: ti.template(), at: ti.template(), x: ti.template(), y: ti.template()):
    for i in begin:
        s = 0
        for k in range(begin[i], end[i]):
            BODY
        y[i] = s
"""


def program(tmp_path, body: str):
    """Return a kernel with a loop over lists."""
    return written_programs.write(tmp_path / "lists.py", SOURCE.replace("BODY", body)).run


def fields(rows: int, length: int):
    """Return fields for the kernel."""
    begin, end, y = (ti.field(ti.i32, rows) for _ in range(3))
    return begin, end, ti.field(ti.i32, length), ti.field(ti.i32, length), y


@pytest.mark.targets("cuda")  # elsewhere the pass returns at once
@pytest.mark.parametrize(
    ("body", "count"), [("s += x[at[k]]", 4), ("s = s * 3 + x[at[k]]", 8), ("if x[k] != 5: s = s * 3 + at[k]", 8)]
)
def test_lists_of_all_lengths(target: str, tmp_path, body: str, count: int) -> None:
    random = np.random.default_rng(len(body))
    starts = random.integers(0, 100, 60).astype(np.int32)
    ends = starts + np.arange(-10, 50, dtype=np.int32)  # also lists that end before they start
    begin, end, at, x, y = fields(60, 160)
    values = random.integers(0, 10, 160).astype(np.int32)
    places = random.integers(0, 160, 160).astype(np.int32)
    for field, data in ((begin, starts), (end, ends), (at, places), (x, values)):
        field.from_numpy(data)
    run = program(tmp_path, body)
    run(begin, end, at, x, y)
    assert WHY.format(count) in run.source(begin, end, at, x, y, arch=ti.cuda)
    expected = []
    for first, last in zip(starts, ends, strict=True):
        s = 0
        for k in range(first, last):
            own = {"s": s, "x": values.tolist(), "at": places.tolist(), "k": k}
            exec(body, {}, own)
            s = int(own["s"])
        expected.append((s + 2**31) % 2**32 - 2**31)
    np.testing.assert_array_equal(y.to_numpy(), expected)


@pytest.fixture
def host() -> None:
    """A session that compiles for all targets."""
    ti.init(arch=ti.python, log_level=ti.ERROR)


OTHERS = {
    "an exit": "if x[k] > 2: break\n            s += x[k]",
    "a store": "x[k] = at[k]",
    "an atomic operation": "s += ti.atomic_add(x[at[k]], 1)",
    "a loop inside": "for m in range(k):\n                s += x[m]",
    "a loop around": "s += 1\n        for m in range(3):\n            for k in range(begin[i], end[i]):\n                s += x[k]",
    "no load": "s += k",
    "many operations": "s = x[k]" + " * s + k" * 13,
}


@pytest.mark.usefixtures("host")
@pytest.mark.parametrize("what", OTHERS)
def test_not_of_loops_with(what: str, tmp_path) -> None:
    assert "(rest_first)" not in program(tmp_path, OTHERS[what]).source(*fields(60, 160), arch=ti.cuda)


@pytest.mark.usefixtures("host")
def test_not_of_loops_whose_bounds_the_launch_knows() -> None:
    x, y = ti.field(ti.f32, (64, 512)), ti.field(ti.f32, 512)

    @ti.kernel
    def run(n: ti.i32):
        for i in y:
            s = 0.0
            for k in range(n):
                s = s * 0.5 + x[k, i]
            y[i] = s

    assert "(rest_first)" not in run.source(8, arch=ti.cuda)
