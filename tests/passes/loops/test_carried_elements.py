"""Pass `carried_elements`: what an iteration stores and the next one loads is in a variable on GPUs, with equal results."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.targets("vulkan", "cuda")  # elsewhere the pass returns at once

NOTE = "(carried_elements)"
N1, N2 = (ti.types.ndarray(ti.f32, ndim) for ndim in (1, 2))


def test_a_tridiagonal_system(target: str) -> None:
    """Recurrences upward and downward, whose first element is loaded once."""
    n, b = 40, 33
    rng = np.random.default_rng(0)
    lo, up, rhs = (rng.random((n, b), dtype=np.float32) for _ in range(3))
    di = 3 + rng.random((n, b), dtype=np.float32)

    @ti.kernel
    def solve(lo: N2, di: N2, up: N2, rhs: N2, cp: N2, x: N2):
        for s in range(b):
            cp[0, s] = up[0, s] / di[0, s]
            x[0, s] = rhs[0, s] / di[0, s]
            for j in range(1, n):
                m = 1.0 / (di[j, s] - lo[j, s] * cp[j - 1, s])
                cp[j, s] = up[j, s] * m
                x[j, s] = (rhs[j, s] - lo[j, s] * x[j - 1, s]) * m
            for jj in range(1, n):
                j = n - 1 - jj
                x[j, s] -= cp[j, s] * x[j + 1, s]

    cp, x = np.zeros((n, b), np.float32), np.zeros((n, b), np.float32)
    solve(lo, di, up, rhs, cp, x)
    for s in range(b):
        matrix = np.diag(di[:, s]) + np.diag(lo[1:, s], -1) + np.diag(up[:-1, s], 1)
        assert np.allclose(x[:, s], np.linalg.solve(matrix.astype(np.float64), rhs[:, s]), rtol=1e-4, atol=1e-5)


def fields(n: int, m: int):
    x = ti.field(ti.i32, (n, m))
    y = ti.field(ti.i32, (n, m))
    x.from_numpy(np.random.default_rng(1).integers(-9, 9, (n, m)).astype(np.int32))
    return x, y


@pytest.mark.parametrize("n", [0, 1, 2, 9])
def test_lengths_that_only_the_launch_knows(target: str, n: int) -> None:
    """Without an iteration nothing is loaded: there may be no such element."""
    x, _ = fields(7, 9)
    sums, expected = ti.field(ti.i32, 7), x.to_numpy()

    @ti.kernel
    def add_up(n: ti.i32):
        for i in range(7):
            for j in range(1, n):
                x[i, j] += x[i, j - 1]
            sums[i] = x[i, 8]

    add_up(n)
    expected[:, :n] = expected[:, :n].cumsum(axis=1)
    assert np.array_equal(x.to_numpy(), expected) and np.array_equal(sums.to_numpy(), expected[:, 8])


def test_sources_of_lengths_that_only_the_launch_knows() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR, passes="-block_scans")
    x = ti.field(ti.i32, (7, 9))

    @ti.kernel
    def add_up(n: ti.i32):
        for i in range(7):
            for j in range(1, n):
                x[i, j] += x[i, j - 1]

    for arch in (ti.cuda, ti.vulkan):
        source = add_up.source(4, arch=arch)
        assert NOTE in source and "x_before = x(i, 0);" in source and "x(i, j) = x_before;" in source
    assert NOTE not in add_up.source(4, arch=ti.cpu)


def test_steps_vectors_and_inner_loops(target: str) -> None:
    n = 21
    v, w = ti.Vector.field(2, ti.f32, (5, n)), ti.field(ti.f32, (n, 5))
    rng = np.random.default_rng(2)
    first, second = rng.random((5, n, 2), dtype=np.float32), rng.random((n, 5), dtype=np.float32)
    v.from_numpy(first)
    w.from_numpy(second)

    @ti.kernel
    def smooth():
        for i in range(5):
            for j in range(2, n):
                v[i, j] = 0.5 * v[i, j] + 0.25 * v[i, j - 1] + 0.25 * v[i, j - 2]
            for k in range(3):
                for j in range(n - 1):
                    w[n - 2 - j, i] += 0.5 * w[n - 1 - j, i]

    smooth()
    for j in range(2, n):
        first[:, j] = 0.5 * first[:, j] + 0.25 * first[:, j - 1] + 0.25 * first[:, j - 2]
    for _ in range(3):
        for j in range(n - 1):
            second[n - 2 - j] += 0.5 * second[n - 1 - j]
    assert np.allclose(v.to_numpy(), first, rtol=1e-5) and np.allclose(w.to_numpy(), second, rtol=1e-5)
    source = smooth.source(arch=ti.cuda)
    assert "vec2 v_before = v(i, 1);" in source and "float w_before = w(20, i);" in source


def test_what_stays(target: str) -> None:
    """Loads that the first iteration may not do, other stores, elements of other iterations, and loops that are left."""
    n = 12
    x, y = fields(6, n)

    @ti.kernel
    def guarded():
        for i in range(6):
            for j in range(n):
                if j > 0:
                    x[i, j] += x[i, j - 1]

    @ti.kernel
    def twice():
        for i in range(6):
            for j in range(1, n):
                x[i, j] += x[i, j - 1]
                if x[i, j] > 10:
                    x[i, j] = 3

    @ti.kernel
    def ahead():
        for i in range(6):
            for j in range(n - 1):
                x[i, j] += x[i, j + 1]

    @ti.kernel
    def leaves():
        for i in range(6):
            for j in range(1, n):
                if y[i, j] > 5:
                    continue
                x[i, j] += x[i, j - 1]

    @ti.kernel
    def other_row():
        for i in range(5):
            for j in range(1, n):
                y[i, j] = x[i, j - 1] + y[i + 1, j - 1] * 0

    expected = x.to_numpy()
    for kernel in (guarded, twice, ahead, leaves, other_row):
        kernel()
        assert NOTE not in kernel.source(arch=ti.cuda), kernel.__name__
    for i in range(6):
        for j in range(1, n):
            expected[i, j] += expected[i, j - 1]
        for j in range(1, n):
            expected[i, j] += expected[i, j - 1]
            expected[i, j] = 3 if expected[i, j] > 10 else expected[i, j]
        for j in range(n - 1):
            expected[i, j] += expected[i, j + 1]
        for j in range(1, n):
            expected[i, j] += expected[i, j - 1]
    assert np.array_equal(x.to_numpy(), expected)


def test_an_ndarray_under_two_names(target: str) -> None:
    """Another store of an iteration may change what the next one loads."""

    @ti.kernel
    def fill(x: N1, y: N1):
        for i in range(1):
            for j in range(1, 8):
                x[j] = x[j - 1] + 1.0
                y[j] = 5.0

    one, x, y = np.zeros(8, np.float32), np.zeros(8, np.float32), np.zeros(8, np.float32)
    fill(one, one)
    fill(x, y)
    assert one.tolist() == [0, *[5] * 7] and x.tolist() == list(range(8)) and y.tolist() == [0, *[5] * 7]
    assert NOTE not in fill.source(x, y, arch=ti.cuda)
