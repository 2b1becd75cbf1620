"""Pass `row_lanes`: four rows share what they load in loops; results have the bits of single rows, sources say so."""

from __future__ import annotations

import re
import sys

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.workbench.measure import roofline

pytestmark = pytest.mark.targets("vulkan", "cuda")  # elsewhere the pass returns at once

Grid = ti.types.ndarray(ti.f32, 2)
MODULE = sys.modules["shadesmith.transpiler.passes.loops.row_lanes"]


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


@ti.kernel(passes=["-register_tiles"])
def of_given(a: Grid, b: Grid, c: Grid):
    for i, j in c:
        s = 0.25
        for k in range(a.shape[1]):
            s += a[i, k] * b[k, j]
        c[i, j] = s


@pytest.mark.parametrize("most", [1, 36, 1 << 31])
def test_products_of_ndarrays_of_any_size(target: str, monkeypatch, most: int) -> None:
    """One kernel takes rows one by one and together, by the number of iterations at each launch."""
    monkeypatch.setattr(MODULE, "FEW", most)
    random = np.random.default_rng(most)
    shapes = [(0, 3, 4), (4, 0, 4), (4, 3, 0), (1, 1, 1), (3, 2, 12), (4, 3, 9), (5, 3, 7), (9, 2, 4), (11, 4, 130)]
    for n, m, w in shapes:
        x, y = (random.integers(-9, 9, shape).astype(np.float32) for shape in ((n, m), (m, w)))
        padded = np.full((n + 2, w), 7.0, np.float32)
        of_given(x, y, padded[1 : n + 1])
        assert np.array_equal(padded[1 : n + 1], x @ y + 0.25), (n, m, w)
        assert (padded[[0, -1]] == 7).all()
        given, result = np.zeros((n, 2 * m), np.float32), np.zeros((2 * n, w), np.float32)
        given[:, ::2] = x
        of_given(given[:, ::2], y, result[::2])  # with gaps
        assert np.array_equal(result[::2], x @ y + 0.25) and not result[1::2].any()


@pytest.mark.parametrize("most", [1, 30])
def test_bounds_that_the_launch_knows(target: str, monkeypatch, most: int) -> None:
    monkeypatch.setattr(MODULE, "FEW", most)

    @ti.kernel(passes=["-register_tiles"])
    def part(a: Grid, b: Grid, c: Grid, rows: ti.i32, last: ti.i32):
        for n, i, j in ti.ndrange((1, 3), rows, (2, last)):
            s = c[n * rows + i, j]
            for k in range(3):
                s -= a[i, k] * b[k, j]
            c[n * rows + i, j] = s

    random = np.random.default_rng(most)
    a, b = (random.integers(-9, 9, shape).astype(np.float32) for shape in ((13, 3), (3, 9)))
    for rows, last in ((0, 5), (-8, -8), (-3, 5), (1, 9), (2, 9), (3, 7), (5, 8), (13, 9), (8, 2)):
        c = random.integers(-9, 9, (39, 9)).astype(np.float32)
        expected = c.copy()
        if rows > 0 and last > 2:
            expected[rows : 3 * rows, 2:last] -= np.tile(a[:rows] @ b[:, 2:last], (2, 1))
        part(a, b, c, rows, last)
        assert np.array_equal(c, expected), (rows, last)


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
        for i, j in ti.ndrange(ti.cast(u[0, 0], ti.i32), n):  # of a length that only the device knows
            s = 0.0
            for k in range(n):
                s += u[i, k] * v[k, j]
            w[i, j] = s

    given = [np.zeros((2, 4), np.float32)] * 3
    for arch in (ti.cuda, ti.vulkan):
        assert "(row_lanes)" not in stays.source(*given, arch=arch)


def test_the_choice_at_launch_is_in_the_source() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    given = [np.zeros((2, 4), np.float32)] * 3
    for arch, unsigned in ((ti.cuda, "(uint32_t){}"), (ti.vulkan, "uint({})")):
        source = of_given.source(*given, arch=arch)
        count = " * ".join(unsigned.format(f"args.c_n{axis}") for axis in range(2))
        assert f"int rows = {count} >= 1048576u ? 4 : 1;" in source
        assert "if (rows == 4 && i <= args.c_n0 - 4) {" in source
        assert "ii < (rows == 4 ? args.c_n0 : i + 1); ii++" in source
        assert "four rows share what they load, if there are many (row_lanes)" in source


def test_the_host_counts_threads_by_the_same_choice(target: str) -> None:
    if target == "python":
        pytest.skip("the interpreter has no plan")
    plan = {}
    for n in (1023, 1024, 1026):
        given = [ti.ndarray(ti.f32, (n, 1)), ti.ndarray(ti.f32, (1, 1024)), ti.ndarray(ti.f32, (n, 1024))]
        plan[n] = re.findall(r"iterations: ([\d,]+)", str(of_given.launch_plan(*given)))
    rows = {1023: 1023, 1024: 256, 1026: 257} if target in ("cuda", "vulkan") else dict(zip(plan, plan))
    assert plan == {n: [f"{count * 1024:,}"] for n, count in rows.items()}


@pytest.mark.parametrize("most", [1, 1 << 20])
def test_the_work_of_rows_together_is_that_of_all_rows(monkeypatch, most: int) -> None:
    monkeypatch.setattr(MODULE, "FEW", most)
    monkeypatch.setattr(roofline, "_measured", lambda session: roofline.Ceilings(1e9, 1e9))  # its kernels take seconds
    n, m, w = 8, 3, 12
    for passes in ("", "-row_lanes"):
        ti.init(arch=ti.vulkan, log_level=ti.ERROR, kernel_profiler=True, passes=passes)
        of_given(*(ti.ndarray(ti.f32, shape) for shape in ((n, m), (m, w), (n, w))))
        (row,) = ti.profiler.roofline()
        assert (row.operations, row.bytes) == (2 * n * m * w, 4 * (n * m + m * w + n * w)), passes


def test_a_loop_with_few_iterations_keeps_its_threads() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    assert "(row_lanes)" not in product(1023, 2, 1024)[0].source(arch=ti.cuda)
    assert "(row_lanes)" in product(1024, 2, 1024)[0].source(arch=ti.cuda)
