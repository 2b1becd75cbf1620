"""Pass `row_lanes`: four rows share what they load in loops; results have the bits of single rows, sources say so."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import shadesmith as ti

Grid = ti.types.ndarray(ti.f32, 2)
MODULE = sys.modules["shadesmith.transpiler.passes.control.row_lanes"]


@pytest.fixture
def for_few(monkeypatch):
    """Let few iterations be enough."""
    monkeypatch.setattr(MODULE, "FEW", 1)


def fields(dtype, *shapes):
    """Return fields of integers below 9, and these."""
    random = np.random.default_rng(3)
    values = [random.integers(-9, 9, shape).astype(np.float32 if dtype == ti.f32 else np.int32) for shape in shapes]
    found = [ti.field(dtype, shape) for shape in shapes]
    for field, value in zip(found, values, strict=True):
        field.from_numpy(value)
    return found, values


def product(n=6, m=3, w=5, start=0.25):
    (a, b, c), values = fields(ti.f32, (n, m), (m, w), (n, w))

    @ti.kernel
    def multiply():
        for i, j in c:
            s = start
            for k in range(m):
                s += a[i, k] * b[k, j]
            c[i, j] = s

    return multiply, c, values[0] @ values[1] + start


@pytest.mark.parametrize(("n", "m", "w"), [(4, 5, 8), (3, 1, 12), (5, 7, 7), (8, 2, 3), (11, 3, 1), (6, 9, 130)])
def test_a_product(target: str, for_few: None, n: int, m: int, w: int) -> None:
    multiply, c, expected = product(n, m, w)
    multiply()
    assert np.array_equal(c.to_numpy(), expected)


@pytest.mark.parametrize("n", [3, 8, 10])
def test_several_loops_and_variables(target: str, for_few: None, n: int) -> None:
    m, w = 4, 9
    (a, b, c, d), (x, y, z, _) = fields(ti.i32, (n, m), (m, w), (n, w), (n, w))

    @ti.kernel
    def several(last: ti.i32):
        for i, j in c:
            s, t, column = 5, 3, 0
            for k in range(last):
                column += b[k, j]
                for h in range(k, last):
                    s += b[h, j] * a[i, k] - column
                t -= s
            c[i, j] = t - c[i, j] + column
            d[i, j] = s

    several(m)
    s, t, column = np.full_like(z, 5), np.full_like(z, 3), np.zeros(w, np.int32)
    for k in range(m):
        column += y[k]
        for h in range(k, m):
            s += y[h] * x[:, k : k + 1] - column
        t -= s
    assert np.array_equal(c.to_numpy(), t - z + column) and np.array_equal(d.to_numpy(), s)
    several(0)
    assert (d.to_numpy() == 5).all()


@pytest.mark.parametrize("n", [3, 4, 9])
def test_neighbouring_rows(target: str, for_few: None, n: int) -> None:
    (a, b, c), (x, y, z) = fields(ti.f32, (n + 1, 5), (5, 6), (n, 6))

    @ti.kernel
    def shifted():
        for i, j in ti.ndrange(n, (1, 5)):
            s = c[i, j]
            for k in range(5):
                s = ti.max(s - b[k, j], a[i + 1, k] * b[k, j + 1])
            c[i, j] = s + a[i, 0]

    shifted()
    s = z[:, 1:5].copy()
    for k in range(5):
        s = np.maximum(s - y[k, 1:5], x[1:, k : k + 1] * y[k, 2:])
    z[:, 1:5] = s + x[:n, :1]
    assert np.array_equal(c.to_numpy(), z)


def test_three_axes(target: str, for_few: None) -> None:
    (a, b, c), (x, y, _) = fields(ti.f32, (3, 6, 4), (4, 7), (3, 6, 7))

    @ti.kernel
    def multiply():
        for n, i, j in c:
            s = 0.0
            for k in range(4):
                s += a[n, i, k] * b[k, j]
            c[n, i, j] = s

    multiply()
    assert np.array_equal(c.to_numpy(), x @ y)


def test_sources(for_few: None) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    for arch, vec4 in ((ti.cuda, "vec4{{{}}}"), (ti.vulkan, "vec4({})")):
        together = f"s += {vec4.format('a(i, k), a(i + 1, k), a(i + 2, k), a(i + 3, k)')} * b(k, j);"
        source = product()[0].source(arch=arch)
        assert together in source and "c(i + 3, j) = s.w;" in source and "s += a(ii, k) * b(k, j);" in source
        assert "four rows share what they load (row_lanes)" in source
        whole = product(8)[0].source(arch=arch)
        assert together in whole and "ii" not in whole
    assert "(row_lanes)" not in product()[0].source(arch=ti.x64)
    ti.init(arch=ti.python, log_level=ti.ERROR, passes="-row_lanes")
    assert "(row_lanes)" not in product()[0].source(arch=ti.cuda)


def test_loops_that_stay(for_few: None) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    n = 8
    a, b, c = (ti.field(ti.f32, (n, n)) for _ in range(3))
    d = ti.field(ti.f64, (n, n))

    @ti.kernel
    def stays(u: Grid, v: Grid, w: Grid):
        for i, j in c:
            s = 0.0
            for k in range(i):  # bounds of the row
                s += a[i, k] * b[k, j]
            c[i, j] = s
        for i, j in c:
            s = 0.0
            for k in range(n):  # neighbouring threads are rows apart
                s += a[i, k] * b[j, k] * c[i, j]
            c[i, j] += s
        for i, j in c:
            s = 0.0
            for k in range(n):
                if a[i, k] > 0.5:
                    s += b[k, j]
            c[i, j] += s
        for i, j in c:
            s = 0.0
            for k in range(n):  # nothing of a row
                s += b[k, j]
            c[i, j] += s
        for i, j in c:
            s = 0.0
            for k in range(n):
                s += a[i, k] * ti.sin(b[k, j] * a[i, k])
            c[i, j] += s
        for i, j in d:  # 8 bytes
            s = d[i, j]
            for k in range(n):
                s += d[i, k] * d[k, j]
            d[i, j] = s
        for i, j in c:  # stores in the loop
            for k in range(n):
                c[i, j] += a[i, k] * b[k, j] + ti.sqrt(c[i, j])
        for i, j in w:  # of unknown length
            s = 0.0
            for k in range(n):
                s += u[i, k] * v[k, j]
            w[i, j] = s

    given = [np.zeros((2, 4), np.float32)] * 3
    for arch in (ti.cuda, ti.vulkan):
        assert "(row_lanes)" not in stays.source(*given, arch=arch)


def test_a_loop_with_few_iterations_keeps_its_threads() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    assert "(row_lanes)" not in product(1023, 2, 1024)[0].source(arch=ti.cuda)
    assert "(row_lanes)" in product(1024, 2, 1024)[0].source(arch=ti.cuda)
