"""Pass `overlap_loads`: threads of GPUs run several short iterations at a time; results do not change, at any length."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

pytestmark = [
    pytest.mark.sampled(3),  # the rest in `make test-all`
    pytest.mark.targets("vulkan", "cuda"),  # elsewhere the pass returns at once
]

LONG = (1 << 20) + 4
"""Shorter loops have a thread for each iteration."""


def moving(arch, n, **options):
    """Return a kernel that moves data between fields of n numbers, and the fields."""
    passes = ",".join(filter(None, ("-wide_accesses", options.pop("passes", ""))))
    ti.init(arch=arch, log_level=ti.ERROR, passes=passes, **options)
    x, y, z = ti.field(ti.f32, n), ti.field(ti.f32, n), ti.field(ti.i32, (n // 4, 4))

    @ti.kernel
    def move(a: ti.f32):
        for i in x:
            y[i] = a * x[i] + y[i]
        for i, j in z:
            z[i, j] = z[i, j] + i * j
        for i in x:
            if 0 < i < n - 1:
                x[i] = 3.0 if i > 7 else 4.0

    return move, x, y, z


@pytest.mark.parametrize("n", [LONG, pytest.param(3 * LONG, marks=pytest.mark.exhaustive)])
def test_results(target: str, n: int) -> None:
    if target == "python":
        n = 4000
    move, x, y, z = moving(getattr(ti, target), n)
    start = (np.arange(n) % 1000).astype(np.float32)
    x.from_numpy(start)
    y.fill(1.0)
    z.fill(5)
    move(2.0)
    assert np.array_equal(y.to_numpy(), 2 * start + 1)
    assert np.array_equal(z.to_numpy(), 5 + np.arange(n // 4)[:, None] * np.arange(4))
    start[1:8], start[8:-1] = 4, 3
    assert np.array_equal(x.to_numpy(), start)


def test_sources() -> None:
    move, *_ = moving(ti.python, LONG)
    for arch in (ti.cuda, ti.vulkan):
        assert "item < LOADS" in move.source(1.0, arch=arch)
    assert "item < LOADS" not in moving(ti.python, LONG, passes="-overlap_loads")[0].source(1.0, arch=ti.cuda)


def test_loads_that_nothing_writes_are_marked() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR, passes="-wide_accesses")
    x, y, z = ti.field(ti.f32, LONG), ti.field(ti.f32, LONG), ti.Vector.field(3, ti.f32, LONG)

    @ti.kernel
    def copy():
        for i in x:
            y[i] = x[i]

    @ti.kernel
    def swap():
        for i in x:
            y[i] = x[i]
        for i in x:
            x[i] = 1.0

    @ti.kernel
    def vectors():
        for i in z:
            z[i] = z[i] + 1.0

    assert "#define x(i) __ldg(&args.x_data[i])" in copy.source(arch=ti.cuda)
    assert "__ldg" not in swap.source(arch=ti.cuda) and "__ldg" not in vectors.source(arch=ti.cuda)


def test_what_does_not_overlap() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    x, y = ti.field(ti.f32, LONG), ti.field(ti.f32, LONG)

    @ti.kernel
    def others(given: ti.types.ndarray(ti.f32, 1), k: ti.i32):
        for i in x:
            given[i] = x[i]  # may be x's memory
        for i in x:
            x[i] = x[i + k]  # what another iteration stores
        for i in x:
            y[0] += x[i] * 0.0
            y[i] = 1.0

    assert "item < LOADS" not in others.source(np.zeros(4, np.float32), 1, arch=ti.cuda)
