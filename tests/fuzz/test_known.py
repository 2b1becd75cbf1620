"""Each defect of Taichi 1.7.4 that the fuzzer knows by name, in its shortest program; what is no such defect has no name.

FUZZ_TAICHI names a Python that has Taichi; without it the tests are skipped.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from fuzz.known import cause_of
from fuzz.session import Runner

CACHED = """
b = ti.Vector.field(2, ti.i32, shape=())

@ti.kernel
def k():
    w = 0
    while w < 4:
        w += 1
        for j in range(2):
            b[None] = b[None] + b[None][1]

def run():
    b.from_numpy(np.array([1, 1], np.int32))
    k()
    return [("b", b.to_numpy())]  # 81 and 81 instead of 256
"""
OLD_COMPONENT = """
found = ti.field(ti.i32, shape=4)

@ti.kernel
def k(c: ti.types.ndarray(dtype=ti.types.vector(2, ti.i32), ndim=1), m: ti.i32):
    for i in range(4):
        found[i] = c[i][1]
        if m > 0:
            c[i] = [0, 0]
        found[i] += c[i][1]

def run():
    k(np.full((4, 2), 5, np.int32), 1)
    return [("found", found.to_numpy())]  # 10 instead of 5
"""
NOT_ACTIVATED = """
v = ti.Vector.field(2, ti.i32)
ti.root.pointer(ti.i, 6).dense(ti.i, 1).place(v)

@ti.kernel
def k():
    for i in range(6):
        v[i][1] += 1

def run():
    k()
    return [("v", v.to_numpy())]  # 0 instead of 1 in each second place
"""
FOLDED_SHAPE = """
x = ti.field(ti.i32, shape=13)

@ti.kernel
def k() -> ti.i32:
    return ti.cast(x.shape[0], ti.i32) ** 12 // 5

def run():
    return [("k", np.array(k()))]  # -429496730, of the product -2**31, instead of -422491664
"""
FOLDED_EXPONENT = """
@ti.kernel
def k(x: ti.i32) -> ti.i32:
    return x ** ((ti.cast(-620654463, ti.i32) // 8) & 3)

def run():
    return [("k", np.array(k(5)))]  # 5 instead of 1
"""
NO_DEFECT = """
x = ti.field(ti.i32, shape=())

def run():
    x[None] = 1 if ti.__name__ == "taichi" else 2
    return [("x", x.to_numpy())]
"""
LOCALS = "Taichi 1.7.4: right if loops do not keep elements in locals (two locals of one element)"
SCALARS = "Taichi 1.7.4: right with scalars in place of matrices (old components, atomics that activate no cell)"
LITERALS = "Taichi 1.7.4: right if literals cannot be folded (it folds with C's division, u32 as i32, powers as f64)"


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[Runner]:
    if not os.environ.get("FUZZ_TAICHI"):
        pytest.skip("FUZZ_TAICHI names no Python with Taichi")
    made = Runner(["taichi"], tmp_path)
    yield made
    made.stop()


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "program, cause",
    [
        (CACHED, LOCALS), (OLD_COMPONENT, SCALARS), (NOT_ACTIVATED, SCALARS), (FOLDED_SHAPE, LITERALS),
        (FOLDED_EXPONENT, LITERALS), (NO_DEFECT, None),
    ],
    ids=["cached", "old_component", "not_activated", "folded_shape", "folded_exponent", "no_defect"],
)  # fmt: skip
def test_a_defect_of_taichi_has_a_name(runner: Runner, program: str, cause: str | None) -> None:
    failures = runner.failures(0, f"import numpy as np\n\nimport shadesmith as ti\n{program}", ["taichi"])
    assert [failure.kind for failure in failures] == ["differs"]
    assert cause_of(failures[0], runner.on) == cause
