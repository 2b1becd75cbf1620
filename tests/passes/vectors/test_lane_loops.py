"""Pass `lane_loops`: serial loops of C that run for neighbouring iterations together; results do not change."""

from __future__ import annotations

import numpy as np
import pytest
import written_programs

import shadesmith as ti

pytestmark = pytest.mark.targets("cpu")  # elsewhere the pass returns at once

RUNS = "#define LANES 128"
Matrix = ti.types.ndarray(dtype=ti.f32, ndim=2)
Numbers = ti.types.ndarray(dtype=ti.i32, ndim=1)


@ti.kernel
def product(a: Matrix, b: Matrix, c: Matrix):
    for i, j in c:
        s = 0.0
        for k in range(a.shape[1]):
            s += a[i, k] * b[k, j]
        c[i, j] = s


@ti.kernel
def rows_of_b(starts: Numbers, columns: Numbers, b: Matrix, c: Matrix):
    for i, j in c:
        s = c[i, j] * 2.0
        for k in range(starts[i], starts[i + 1]):
            s += b[columns[k], j]
        c[i, j] += s


@ti.kernel
def nested(a: Matrix, c: Matrix, first: ti.i32, last: ti.i32):
    for i, j in ti.ndrange((1, 4), (first, last)):
        s, where = 1.0, 0
        for k in range(i, last):
            t = 0.0
            for m in range(k, last):
                t += a[m, j - 1] - a[k, j + 1] * i
            where = k if t > s else where
            s = ti.max(s, t)
        c[i, j] = s + where


def start(passes: str = "", arch=ti.cpu) -> None:
    ti.init(arch=arch, log_level=ti.ERROR, passes=passes)


def integers(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).integers(-9, 9, shape).astype(np.float32)


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 0, 5), (0, 2, 3), (5, 7, 129), (2, 9, 300)], ids=str)
def test_products(shape):
    start()
    n, m, p = shape
    a, b, c = integers(n, m), integers(m, p), np.full((n, p), 7, np.float32)
    product(a, b, c)
    assert np.array_equal(c, a @ b)
    assert RUNS in product.source(a, b, c) and "s[j - first_j] += a(i, k) * b(k, j);" in product.source(a, b, c)


def test_bounds_that_are_loaded():
    start()
    starts, columns = np.array([0, 3, 3, 7], np.int32), np.array([0, 2, 1, 4, 4, 0, 3], np.int32)
    b, c = integers(5, 200), integers(3, 200)
    expected = 3 * c
    for i in range(3):
        expected[i] += b[columns[starts[i] : starts[i + 1]]].sum(axis=0)
    rows_of_b(starts, columns, b, c)
    assert RUNS in rows_of_b.source(starts, columns, b, c)
    assert np.array_equal(c, expected)


@pytest.mark.parametrize(("first", "last"), [(1, 1), (5, 3), (2, 9), (1, 150)])
def test_nested_loops_equal_those_of_one_iteration(first, last):
    results = []
    for passes in ("", "-lane_loops"):
        start(passes)
        a, c = integers(160, 160), np.zeros((4, 160), np.float32)
        nested(a, c, first, last)
        assert (RUNS in nested.source(a, c, first, last)) == (not passes)
        results.append(c)
    assert np.array_equal(*results)


def test_gpus_have_no_such_loops():
    start(arch=ti.python)
    c = integers(4, 4)
    product(c, c, c)
    assert "first_j" not in product.source(c, c, c, arch=ti.cuda)


BODIES = {
    "rows": "for k in range(n):\n    s += a[j, k]",
    "bounds of the iteration": "for k in range(j % 5):\n    s += a[k, j]",
    "bounds of a variable": "m = 3\nfor q in range(n):\n    m += q\nfor k in range(m):\n    s += a[k, j]",
    "bounds that are stored": "b[j, 0] = 2.0\nfor k in range(ti.i32(b[0, 0])):\n    s += a[k, j]",
    "bounds that are stored in a loop": (
        "for k in range(n):\n    for m in range(ti.i32(b[0, k])):\n        s += a[m, j]\n    b[k, j] = 1.0"
    ),
    "branch with a sum": "for k in range(n):\n    if a[k, j] > 3:\n        s += a[k, j]",
    "while": "k = 0\nwhile k < n:\n    s += a[k, j]\n    k += 1",
    "break": "for k in range(n):\n    if s > 50:\n        break\n    s += a[k, j]",
    "vector": "v = ti.Vector([0.0, 0.0])\nfor k in range(n):\n    v += a[k, j]\ns = v[0] - v[1] / 2",
    "atomic": "for k in range(n):\n    s += ti.atomic_add(b[k, k], 0) + a[k, j]",
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_other_loops_stay(body, tmp_path):
    program = written_programs.write(
        tmp_path / "program.py",
        "Matrix = ti.types.ndarray(dtype=ti.f32, ndim=2)\n"
        "@ti.kernel\n"
        "def total(a: Matrix, b: Matrix, c: Matrix, n: ti.i32):\n"
        "    for i, j in c:\n"
        "        s = 0.0\n" + "".join(f"        {line}\n" for line in body.splitlines()) + "        c[i, j] = s\n",
    )
    start()
    a, b, c = integers(40, 40), np.zeros((40, 40), np.float32), np.zeros((2, 40), np.float32)
    assert RUNS not in program.total.source(a, b, c, 6)


@ti.kernel
def nearest(x: Numbers, y: Numbers, where: Numbers):
    for i in x:
        best, at = 1000, -1
        for j in range(y.shape[0]):
            d = ti.abs(x[i] - y[j])
            if d < best:
                best = d
                at = j
        where[i] = at


@pytest.mark.parametrize(("points", "others"), [(0, 3), (1, 0), (3, 1), (129, 7), (300, 40)])
def test_searches(points, others):
    start()
    random = np.random.default_rng(0)
    x, y = (random.integers(-50, 50, count).astype(np.int32) for count in (points, others))
    where = np.full(points, 7, np.int32)
    nearest(x, y, where)
    assert RUNS in nearest.source(x, y, where)
    expected = np.abs(x[:, None] - y).argmin(axis=1) if others else np.full(points, -1)
    assert np.array_equal(where, expected)
