"""Pass `eager_conditions`: branches of C by several comparisons, which guard quotients, count those that hold."""

from __future__ import annotations

import random

import numpy as np
import pytest
import written_programs

import shadesmith as ti

pytestmark = pytest.mark.targets("cpu")  # elsewhere the pass returns at once


BOXES = """
import shadesmith as ti
N = 96
@ti.func
def quotient(w, h, u):
    r = 0.25
    if CONDITION:
        r = w * h / (1.0 + u - w * h)
    return r

@ti.kernel
def searches(x: ti.template(), y: ti.template()):
    for i in range(N):
        k, s = -1, 0.0
        for j in range(N):
            if x[j, 2] < x[i, 2]:
                continue
            w = ti.min(x[i, 0], x[j, 0]) - x[j, 2]
            h = x[i, 1] + x[j, 1]
            r = quotient(w, h, x[j, 2])
            s += r
            if r > 0.7:
                k = j
                END
        y[i, 0], y[i, 1] = k, s
"""


def searches_of(condition: str, tmp_path, end: str = "break"):
    """Return a kernel that searches for a quotient."""
    source = BOXES.replace("CONDITION", condition).replace("END", end)
    path = tmp_path / f"searches_{len(list(tmp_path.iterdir()))}.py"
    path.write_text(source)
    return written_programs.load(path).searches


def results_of(kernel, arch, **options) -> np.ndarray:
    ti.init(arch=arch, log_level=ti.ERROR, enable_fallback=False, fast_math=False, **options)
    x, y = ti.field(ti.f32, (96, 3)), ti.field(ti.f32, (96, 2))
    numbers = np.random.default_rng(0).integers(-4, 5, (96, 3)) * 0.5
    numbers[::7, 0], numbers[1::11, 1], numbers[2::13, 2], numbers[3::9, 0] = np.nan, np.inf, -np.inf, -0.0
    x.from_numpy(numbers.astype(np.float32))
    kernel(x, y)
    return y.to_numpy()


def source_of(kernel) -> str:
    ti.init(arch=ti.cpu, log_level=ti.ERROR)
    return kernel.source(ti.field(ti.f32, (96, 3)), ti.field(ti.f32, (96, 2)))


COUNTED = "all are compared: gcc 12 would jump between (eager_conditions)"


def test_a_branch_that_guards_a_quotient_counts_what_holds(tmp_path):
    source = source_of(searches_of("w > 0 and h > 0", tmp_path))
    assert COUNTED in source and "if ((w > 0.0f) + (h > 0.0f) == 2) {" in source
    lines = source.split("\n")
    remark = next(k for k, line in enumerate(lines) if COUNTED in line)
    assert any("if ((w > 0.0f)" in line for line in lines[remark : remark + 3]), "the remark is at the branch"


@pytest.mark.parametrize("condition", ["w > 0", "w > 0 or h > 0", "w > 0 and (h > 0 or u < 1)", "w > 0 and 1 / h < u"])
def test_other_branches_stay(condition, tmp_path):
    assert COUNTED not in source_of(searches_of(condition, tmp_path))


def test_loops_that_may_be_vectors_stay():
    @ti.kernel
    def sums(x: ti.template(), y: ti.template()):
        for i in range(96):
            s = 0.0
            for j in range(96):
                w, h = x[j, 0], x[j, 1]
                if w > 0 and h > 0:
                    s += w / h
            y[i, 0] = s

    assert COUNTED not in source_of(sums)


COMPARISONS = ["w > 0", "h >= 0.5", "w + h <= u", "u != w", "w == h", "h < w", "u > -1", "not w < h", "u <= 1e38"]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(10))
def test_random_guards(seed, tmp_path):
    generator = random.Random(seed)
    for _ in range(2):
        condition = " and ".join(generator.choices(COMPARISONS, k=generator.randint(2, 4)))
        kernel = searches_of(condition, tmp_path, generator.choice(["break", "continue", "s -= r"]))
        ours, expected = (results_of(kernel, arch) for arch in (ti.cpu, ti.python))
        assert ours.tobytes() == expected.tobytes() or np.array_equal(ours, expected, equal_nan=True), condition
        without = results_of(kernel, ti.cpu, passes="-eager_conditions")
        assert np.array_equal(ours, without, equal_nan=True), condition
