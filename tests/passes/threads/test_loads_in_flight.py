"""Pass `loads_in_flight`: registers for iterations of CUDA that gather many numbers."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.targets("vulkan", "cuda")  # elsewhere the pass returns at once

BOUNDS = "__launch_bounds__(BLOCK, 512 / BLOCK)"
WHY = "// 512 threads on an SM, with up to 128 registers for loads in flight (loads_in_flight)\n"


def grid_and_points(target: str, n: int, **options: object):
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR, **options)
    g, x, y = ti.Vector.field(2, ti.f32, (16, 16)), ti.Vector.field(2, ti.f32, n), ti.Vector.field(2, ti.f32, n)
    rng = np.random.default_rng(0)
    g.from_numpy(rng.integers(0, 9, (16, 16, 2)).astype(np.float32))
    x.from_numpy(rng.integers(0, 13, (n, 2)).astype(np.float32))

    @ti.kernel
    def gather():
        for p in x:
            base = ti.cast(x[p], ti.i32)
            s = ti.Vector([0.0, 0.0])
            for i, j in ti.static(ti.ndrange(3, 3)):
                s += g[base + ti.Vector([i, j])] * (i + 1) * (j + 2)
            y[p] = s

    return gather, g.to_numpy(), x.to_numpy().astype(int), y


def test_gathers_have_registers(target: str) -> None:
    gather, g, x, y = grid_and_points(target, 301)
    gather()
    expected = sum(g[x[:, 0] + i, x[:, 1] + j] * np.float32((i + 1) * (j + 2)) for i in range(3) for j in range(3))
    assert np.array_equal(y.to_numpy(), expected)
    source = gather.source(arch=ti.cuda)
    assert BOUNDS in source and WHY in source
    assert "512" not in gather.source(arch=ti.vulkan)


def test_it_can_be_switched_off() -> None:
    gather, *_ = grid_and_points("cpu", 301, passes="-loads_in_flight")
    assert "__launch_bounds__(BLOCK)" in gather.source(arch=ti.cuda)


def test_functions_are_seen(target: str) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    n = 257
    table, at, y = ti.field(ti.i32, 64), ti.field(ti.i32, n), ti.field(ti.i32, n)
    table.from_numpy(np.arange(64, dtype=np.int32) ** 2)
    at.from_numpy(np.arange(n, dtype=np.int32) % 40)

    @ti.real_func
    def window(first: ti.i32) -> ti.i32:
        s = 0
        for k in ti.static(range(10)):
            s += table[first + k]
        return s

    @ti.kernel
    def sums():
        for i in y:
            y[i] = window(at[i]) + window(at[i] + 7)

    sums()
    squares = np.arange(64) ** 2
    expected = [squares[a : a + 10].sum() + squares[a + 7 : a + 17].sum() for a in np.arange(n) % 40]
    assert np.array_equal(y.to_numpy(), expected)
    assert BOUNDS in sums.source(arch=ti.cuda)


def test_what_stays() -> None:
    """Neighbours, few gathers, long loops, sums."""
    ti.init(arch=ti.cpu, log_level=ti.ERROR)
    x, y, at = ti.field(ti.f32, 4096), ti.field(ti.f32, 4096), ti.field(ti.i32, 4096)
    v = ti.Vector.field(4, ti.i32, 4096)

    @ti.kernel
    def neighbours():
        for i in range(20, 4000):
            s = 0.0
            for k in ti.static(range(20)):
                s += x[i + k - 10] * k
            y[i] = s * s

    @ti.kernel
    def few():
        for i in y:
            y[i] = x[v[i][0]] + x[v[i][1]] * x[v[i][2]] - x[v[i][3]]

    @ti.kernel
    def long_loop(m: ti.i32):
        for i in y:
            s = 0.0
            for k in range(m):
                for c in ti.static(range(20)):
                    s += x[at[i] + k + c]
            y[i] = s

    @ti.kernel
    def total() -> ti.f32:
        s = 0.0
        for i in y:
            for k in ti.static(range(20)):
                s += x[at[i] + k]
        return s

    sources = [k.source(*args, arch=ti.cuda) for k, *args in ((neighbours,), (few,), (long_loop, 3), (total,))]
    assert not any("512 / BLOCK" in source for source in sources)
