"""Pass `wide_accesses`: loops of GPUs take four iterations as one; results have the same bits, at every edge."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.sampled(3)  # the rest in `make test-all`

LONG = 1 << 16
"""Iterations of a field from which its loops are widened."""

Vector = ti.types.ndarray(ti.f32, 1)


@ti.kernel
def saxpy(x: Vector, y: Vector, a: ti.f32):
    for i in x:
        y[i] = a * x[i] + y[i]


@ti.kernel
def first_ones(x: Vector, y: Vector, n: ti.i32):
    for i in range(n):
        y[i] = -abs(x[i]) + ti.max(y[i], 2.0)


@ti.kernel
def twice(x: Vector, y: Vector, z: Vector):
    for i in x:
        y[i] = x[i] + 1.0
        z[i] = x[i] * 2.0
        y[i] += z[i]


@ti.kernel
def rows(a: ti.types.ndarray(ti.f32, 2), b: ti.types.ndarray(ti.f32, 2), c: Vector):
    for i, j in a:
        b[i, j] = a[i, j] * c[i] + b[i, j]


def start(target: str) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR, enable_fallback=False)


def given(values: np.ndarray) -> ti.Ndarray:
    made = ti.ndarray(ti.f32, values.shape)
    made.from_numpy(values)
    return made


def some(*shape: int) -> np.ndarray:
    return (np.arange(np.prod(shape, dtype=int)).reshape(shape) % 97 - 40).astype(np.float32)


@pytest.mark.parametrize("n", [0, 1, 3, 4, 5, 127, 513, 4099])
def test_vectors_of_any_length(target: str, n: int) -> None:
    start(target)
    x, y = given(some(n)), given(some(n) * 2)
    saxpy(x, y, 3.0)
    assert np.array_equal(y.to_numpy(), 5 * some(n))


@pytest.mark.parametrize("by", [0, 1, 2, 3, 4])
def test_addresses_that_are_not_aligned(target: str, by: int) -> None:
    if target == "python":
        pytest.skip("it has no addresses")
    start(target)
    n, size = 4099 - by, 4
    for only_one in (True, False):
        x, y = given(some(4099)), given(some(4099) * 2)
        expected = y.to_numpy()
        x.allocation.address += 0 if only_one else by * size
        y.allocation.address += by * size
        first_ones(x, y, n)
        x.allocation.address -= 0 if only_one else by * size
        y.allocation.address -= by * size
        read = some(4099)[:n] if only_one else some(4099)[by:]
        expected[by:] = -abs(read) + np.maximum(expected[by:], 2)
        assert np.array_equal(y.to_numpy(), expected)


def test_arrays_that_are_the_same(target: str) -> None:
    start(target)
    x, y = given(some(1003)), given(some(1003))
    saxpy(x, x, 3.0)
    assert np.array_equal(x.to_numpy(), 4 * some(1003))
    twice(y, y, y)  # the second statement reads what the first has stored
    after = (some(1003) + 1) * 2
    assert np.array_equal(y.to_numpy(), after + after)


@pytest.mark.parametrize("columns", [1, 3, 4, 8, 130, 132])
def test_rows(target: str, columns: int) -> None:
    start(target)
    a, b, c = given(some(7, columns)), given(some(7, columns) * 2), given(some(7))
    rows(a, b, c)
    assert np.array_equal(b.to_numpy(), some(7, columns) * some(7)[:, None] + 2 * some(7, columns))


@pytest.mark.parametrize("n", [LONG, LONG + 3])
@pytest.mark.parametrize("dtype", [ti.f32, ti.i32, ti.u32, ti.f64, ti.i64])
def test_fields(target: str, n: int, dtype: object) -> None:
    n = 403 if target == "python" else n
    start(target)
    x, y = ti.field(dtype, n), ti.field(dtype, n)

    @ti.kernel
    def move():
        for i in x:
            y[i] = x[i] * 3 - y[i]
        for i in y:
            x[i] = 7

    values = (np.arange(n) % 1000).astype(x.to_numpy().dtype)
    x.from_numpy(values)
    y.fill(5)
    move()
    assert np.array_equal(y.to_numpy(), values * 3 - np.asarray(5, values.dtype))
    assert (x.to_numpy() == 7).all()


def test_grids_of_fields(target: str) -> None:
    start(target)
    shape = (3, 5, 4) if target == "python" else (33, 65, 64)
    x, y = ti.field(ti.f32, shape), ti.field(ti.f32, shape)
    plane = ti.field(ti.f32, shape[:2])

    @ti.kernel
    def scale():
        for i, j, k in x:
            y[i, j, k] = x[i, j, k] * plane[i, j] + y[i, j, k]

    values = (np.arange(np.prod(shape)).reshape(shape) % 64).astype(np.float32)
    factors = np.arange(shape[0] * shape[1], dtype=np.float32).reshape(shape[:2]) % 31
    x.from_numpy(values)
    y.from_numpy(values)
    plane.from_numpy(factors)
    scale()
    assert np.array_equal(y.to_numpy(), values * factors[..., None] + values)


def sources(kernel: object, *args: object) -> list[str]:
    return [kernel.source(*args, arch=arch) for arch in (ti.cuda, ti.vulkan)]


def test_sources() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    x = some(8)
    for source in sources(saxpy, x, x, 1.0):
        assert "y4(i) = args.a * x4(i) + y4(i);" in source
        assert "% 16" in source and "y(i + k) = args.a * x(i + k) + y(i + k);" in source
    assert "x4(" not in saxpy.source(x, x, 1.0, arch=ti.x64)
    field = ti.field(ti.f32, LONG)

    @ti.kernel
    def double():
        for i in field:
            field[i] *= 2.0

    for source in sources(double):
        assert "field4(i) *= 2.0" in source and "field(i" not in source and "% 16" not in source
    ti.init(arch=ti.python, log_level=ti.ERROR, passes="-wide_accesses")
    assert not any("x4(" in source for source in sources(saxpy, x, x, 1.0))


def test_what_is_not_widened() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    x, y, small = ti.field(ti.f32, LONG), ti.field(ti.f32, LONG), ti.field(ti.f32, 100)
    double, odd = ti.field(ti.f64, LONG), ti.field(ti.f32, (300, 301))
    vectors, shared = ti.Vector.field(4, ti.f32, LONG), ti.field(ti.f32)
    ti.root.dense(ti.i, LONG).place(shared, ti.field(ti.f32))

    @ti.kernel
    def kernels(n: ti.template(), given: ti.types.ndarray(ti.f32, 1), at: ti.types.ndarray(ti.i32, 1)):
        if ti.static(n == 0):
            for i in x:
                y[i] = x[i + 1]
        if ti.static(n == 1):
            for i in x:
                x[0] = y[i]
        if ti.static(n == 2):
            for i in x:
                y[i] = i
        if ti.static(n == 3):
            for i in small:
                small[i] = 1.0
        if ti.static(n == 4):
            for i in x:
                double[i] = x[i]
        if ti.static(n == 5):
            for i, j in odd:
                odd[i, j] = 1.0
        if ti.static(n == 6):
            for i in x:
                x[i] = 1.0
            for i in vectors:
                vectors[i] *= 2.0
        if ti.static(n == 7):
            for i in x:
                shared[i] = 1.0
        if ti.static(n == 8):
            for i in range(2, LONG):
                x[i] = 1.0
        if ti.static(n == 9):
            for i in range(LONG // 2):
                x[2 * i] = y[at[i]] + given[i]
        if ti.static(n == 10):
            for i in given:
                given[i] = ti.random()

    given = np.zeros(4, np.float32)
    for n in range(11):
        for source in sources(kernels, n, given, np.zeros(4, np.int32)):
            assert "(wide_accesses)" not in source, n
