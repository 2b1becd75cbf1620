"""Pass `vector_lanes`: iterations of C that contain loops become lanes of vectors; results do not change."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
import written_programs

import shadesmith as ti

pytestmark = pytest.mark.targets("cpu")  # elsewhere the pass returns at once

NOTE = "lanes of vectors (vector_lanes)"


def start(arch=ti.cpu, **options) -> None:
    ti.init(arch=arch, log_level=ti.ERROR, **options)


def products(rows: int, columns: int, dtype=ti.f32):
    a, v = ti.field(dtype, (rows, columns)), ti.field(dtype, rows)
    w = ti.field(dtype, columns)
    random = np.random.default_rng(0)
    a.from_numpy(random.integers(-9, 9, (rows, columns)).astype(a.to_numpy().dtype))
    v.from_numpy(random.integers(-9, 9, rows).astype(a.to_numpy().dtype))

    @ti.kernel
    def product():
        for j in w:
            s = ti.cast(0, dtype)
            for k in range(rows):
                s += a[k, j] * v[k]
            w[j] = s

    product()
    return product, w.to_numpy(), v.to_numpy() @ a.to_numpy()


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("rows", "columns"), [(1, 16), (7, 17), (64, 100)])
@pytest.mark.parametrize("dtype", [ti.f32, ti.f64, ti.i64], ids=str)
def test_sums_of_columns(rows, columns, dtype):
    start()
    product, found, expected = products(rows, columns, dtype)
    assert NOTE in product.source()
    assert np.array_equal(found, expected)


def test_the_pass_can_be_left_out():
    start(passes="-vector_lanes")
    product, found, expected = products(7, 17)
    assert NOTE not in product.source() and "always_inline" not in product.source()
    assert np.array_equal(found, expected)


def test_few_columns_stay():
    start()
    product, found, expected = products(7, 3)
    assert NOTE not in product.source()
    assert np.array_equal(found, expected)


def test_gpus_have_no_lanes():
    start(ti.python)
    product, _, _ = products(2, 17)
    assert "always_inline" not in product.source(arch=ti.cuda)


def stencil(n: int = 40):
    u, f, o = ti.field(ti.f32, (n, n)), ti.field(ti.f32, (3, 3)), ti.field(ti.f32, (n, n))
    u.from_numpy(np.arange(n * n, dtype=np.float32).reshape(n, n) % 7)
    f.from_numpy(np.arange(9, dtype=np.float32).reshape(3, 3))

    @ti.kernel
    def convolve():
        for i, j in ti.ndrange((1, n - 1), (1, n - 1)):
            s = 0.0
            for p in range(3):
                for q in range(3):
                    s += u[i + p - 1, j + q - 1] * f[p, q]
            o[i, j] = s

    convolve()
    return convolve, o.to_numpy()


def test_convolution():
    start()
    convolve, found = stencil()
    assert "#pragma omp simd" in convolve.source() and NOTE in convolve.source()
    start(passes="-vector_lanes")
    assert np.array_equal(found, stencil()[1])


def chains(n: int, dtype=ti.f32):
    x, y = ti.field(dtype, n), ti.field(dtype, n)
    x.from_numpy(np.arange(n).astype(x.to_numpy().dtype) / 2)

    @ti.kernel
    def iterate():
        for i in x:
            a, b = x[i], x[i] + 1
            for _ in range(9):
                a, b = a * 2 + 1, b - a
            y[i] = a + b

    iterate()
    return iterate, y.to_numpy()


@pytest.mark.sampled(2, each="dtype")
@pytest.mark.parametrize("dtype", [ti.f32, ti.f64, ti.i32], ids=str)
@pytest.mark.parametrize("n", [16, 37])
def test_loops_without_arrays(n: int, dtype) -> None:
    start()
    kernel, found = chains(n, dtype)
    assert NOTE in kernel.source()
    start(passes="-vector_lanes")
    kernel, expected = chains(n, dtype)
    assert NOTE not in kernel.source() and np.array_equal(found, expected)


BODIES = {
    "sines": "for k in range(5):\n s += ti.cast(ti.sin(s * 1.0), ti.i32)",
    "local remainders": "for k in range(5):\n s += (j + s) % 3",
    "sums of rows": "for k in range(20):\n s += a[j, k]",
    "diagonals": "for k in range(20):\n s += a[k, 2 * j]",
    "indirect": "for k in range(20):\n s += a[k, b[j]]",
    "bounds of the lane": "for k in range(j % 5):\n s += a[k, j]",
    "bounds of arguments": "for k in range(n):\n s += a[k, j]",
    "branch with a store": "for k in range(20):\n if a[k, j] > 3:\n  b[j] = k\n  s += k",
    "branch with a load": "for k in range(20):\n if a[k, j] > 3:\n  s += a[k + 9, j]",
    "branch with a division": "for k in range(20):\n if a[k, j] > 3:\n  s += k // (s + 1)",
    "branch around a loop": "for k in range(20):\n if k > s:\n  for q in range(3):\n   s += a[q, j]",
    "branch after a loop": "for k in range(20):\n s += a[k, j]\nif s > 9:\n s -= 1",
    "lazy condition": "for k in range(20):\n if s < 64 and b[s] > 3:\n  s += 1",
    "elements of the lane and the loop": "for k in range(20):\n s += a[j, k]",
    "break": "for k in range(20):\n if s > 50:\n  break\n s += a[k, j]",
    "atomic": "for k in range(20):\n s += ti.atomic_add(b[k], 0) + a[k, j]",
    "random": "for k in range(20):\n s += 0 * ti.cast(ti.random(), ti.i32) + a[k, j]",
    "stores to columns": "for k in range(20):\n a[j, k] = j\n s += 1",
    "empty": "for k in range(5, 5):\n s += a[k, j]",
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_other_loops_stay(body, tmp_path):
    indented = body.replace("\n", "\n            ").replace("            ", " " * 12)
    program = written_programs.write(
        tmp_path / "program.py",
        "def make(a, b, w):\n"
        "    @ti.kernel\n"
        "    def total(n: ti.i32):\n"
        "        for j in w:\n"
        "            s = 0\n"
        f"            {indented}\n"
        "            w[j] = s\n"
        "    return total\n",
    )
    results = []
    for passes in ("", "-vector_lanes"):
        start(passes=passes)
        a, b, w = ti.field(ti.i32, (64, 64)), ti.field(ti.i32, 64), ti.field(ti.i32, 20)
        a.from_numpy((np.arange(64 * 64, dtype=np.int32) % 11).reshape(64, 64))
        total = program.make(a, b, w)
        total(9)
        assert NOTE not in total.source(9)
        results.append((w.to_numpy(), a.to_numpy()))
    assert all(np.array_equal(one, other) for one, other in zip(*results, strict=True))


def test_local_variables_that_become_of_the_lane_at_the_end_of_a_loop():
    start()
    a, w = ti.field(ti.f32, (32, 32)), ti.field(ti.f32, 32)
    a.from_numpy(np.arange(1024, dtype=np.float32).reshape(32, 32))

    @ti.kernel
    def shifted():
        for j in w:
            at, s = 0, 0.0
            for k in range(4):
                s += a[k, at]
                at = j
            w[j] = s

    shifted()
    expected = [0 + 32 + j + 64 + j + 96 + j for j in range(32)]
    assert NOTE not in shifted.source()
    assert w.to_numpy().tolist() == expected


def nearest(dtype, points: int = 37, others: int = 20):
    """The first of the nearest of other points, some at the same distance, some at none (NaN)."""
    x, y = ti.Vector.field(2, dtype, points), ti.Vector.field(2, dtype, others)
    where, least = ti.field(ti.i32, points), ti.field(dtype, points)
    random = np.random.default_rng(0)
    kind = where.to_numpy().dtype if dtype == ti.i32 else np.float64 if dtype == ti.f64 else np.float32
    a, b = (random.integers(-3, 4, (count, 2)).astype(kind) for count in (points, others))
    if dtype != ti.i32:
        b[3] = np.nan
    x.from_numpy(a)
    y.from_numpy(b)

    @ti.kernel
    def find():
        for i in x:
            best, k = ti.cast(1000, dtype), -1
            for j in range(others):
                d = (x[i] - y[j]).norm_sqr()
                if d < best:
                    best = d
                    k = j
            where[i] = k
            least[i] = best

    find()
    distances = ((a[:, None] - b) ** 2).sum(axis=2)
    return find, where.to_numpy(), least.to_numpy(), np.where(np.isnan(distances), np.inf, distances)


@pytest.mark.parametrize("dtype", [ti.f32, ti.i32, ti.f64], ids=str)
def test_searches(dtype):
    start()
    find, where, least, distances = nearest(dtype)
    assert (NOTE in find.source()) == (dtype != ti.f64)  # gcc selects no i32 by comparing f64: `lane_loops`
    assert np.array_equal(where, distances.argmin(axis=1)) and np.array_equal(least, distances.min(axis=1))
    assert "if (d < best" in find.source()


def test_the_greatest_of_each_column():
    start()
    a, where = ti.field(ti.f32, (30, 50)), ti.field(ti.i32, 50)
    values = np.random.default_rng(0).integers(0, 9, (30, 50)).astype(np.float32)
    a.from_numpy(values)

    @ti.kernel
    def find():
        for j in where:
            best, at = a[0, j], 0
            for i in range(1, 30):
                if a[i, j] > best:
                    best, at = a[i, j], i
            where[j] = at

    find()
    assert NOTE in find.source()
    assert np.array_equal(where.to_numpy(), values.argmax(axis=0))


@pytest.mark.parametrize("count", [5, 40])  # gcc unrolls five iterations, and makes vectors of the loop that is left
@pytest.mark.parametrize("last", ["ti.max(s, 0.0)", "ti.exp(s)", "s if s > 0 else s * 0.5"])
def test_choices_and_calls_after_a_loop_are_for_lane_loops(last, count, tmp_path, monkeypatch):
    text = (
        "import shadesmith as ti\n@ti.kernel\ndef layer(a: ti.template(), b: ti.template()):\n    for j in b:\n"
        f"        s = 0.0\n        for k in range({count}):\n            s += a[k, j]\n        b[j] = {last}\n"
    )
    (tmp_path / "layer_of_test.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    layer = importlib.reload(importlib.import_module("layer_of_test")).layer
    ti.init(arch=ti.cpu, log_level=ti.ERROR)
    a, b = ti.field(ti.f32, (40, 200)), ti.field(ti.f32, 200)
    source = layer.source(a, b)
    assert (NOTE in source, "#define LANES 128" in source) == ((True, False) if count == 5 else (False, True))
