"""Pass `wide_accesses`: loops of GPUs take four iterations as one; results have the same bits, at every edge."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

pytestmark = [
    pytest.mark.sampled(3),  # the rest in `make test-all`
    pytest.mark.targets("vulkan", "cuda"),  # elsewhere the pass returns at once
]

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


@ti.kernel
def jacobi(a: ti.types.ndarray(ti.f32, 2), b: ti.types.ndarray(ti.f32, 2), w: ti.f32):
    for i, j in a:
        n, m = a.shape
        if 0 < i < n - 1 and 0 < j < m - 1:
            s = a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]
            b[i, j] = a[i, j] + w * (0.25 * s - a[i, j])


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


@pytest.mark.parametrize("columns", [1, 4, 5, 8, 12, 132])
@pytest.mark.parametrize("rows", [1, 3, 9])
def test_stencils_of_ndarrays(target: str, rows: int, columns: int) -> None:
    start(target)
    a, b = given(some(rows, columns)), given(some(rows, columns) * 2)
    jacobi(a, b, 0.5)
    x, expected = some(rows, columns), some(rows, columns) * 2
    total = x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]
    expected[1:-1, 1:-1] = x[1:-1, 1:-1] + 0.5 * (0.25 * total - x[1:-1, 1:-1])
    assert np.array_equal(b.to_numpy(), expected)


@pytest.mark.parametrize("dtype", [ti.f32, ti.i32, ti.f64])
def test_stencils_of_fields(target: str, dtype: object) -> None:
    start(target)
    shape = (5, 8) if target == "python" else (257, 256)
    n, m = shape
    x, y, z, w = (ti.field(dtype, shape) for _ in range(4))

    @ti.kernel
    def run():
        for i, j in x:
            if n - 1 > i and i >= 1 and 1 <= j and m - 2 >= j:
                y[i, j] = x[i - 1, j] - x[i + 1, j] + x[i, j - 1] * 2 - x[i, j + 1] * 3 + x[i, j]
        for i, j in x:
            if j < m - 3:
                z[i, j] = x[i, j + 3] - x[i, j + 1]
        for i, j in x:
            if i < n // 2 and j > 1:
                w[i, j] += x[i, j - 2]

    values = (np.arange(n * m).reshape(shape) % 911).astype(x.to_numpy().dtype)
    x.from_numpy(values)
    w.fill(1)
    run()
    expected = np.zeros_like(values)
    left, right = values[1:-1, :-2] * values.dtype.type(2), values[1:-1, 2:] * values.dtype.type(3)
    expected[1:-1, 1:-1] = values[:-2, 1:-1] - values[2:, 1:-1] + left - right + values[1:-1, 1:-1]
    assert np.array_equal(y.to_numpy(), expected)
    expected[:] = 0
    expected[:, :-3] = values[:, 3:] - values[:, 1:-2]
    assert np.array_equal(z.to_numpy(), expected)
    expected[:] = 1
    expected[: n // 2, 2:] += values[: n // 2, :-2]
    assert np.array_equal(w.to_numpy(), expected)


@pytest.mark.parametrize("dtype", [ti.f32, ti.u32, ti.f64])
def test_parts_of_rows(target: str, dtype: object) -> None:
    start(target)
    n, m = (5, 20) if target == "python" else (259, 260)
    x, y, z = (ti.field(dtype, (n, m)) for _ in range(3))
    line = ti.field(dtype, n * m + 3)

    @ti.kernel
    def run():
        for i, j in ti.ndrange((1, n - 1), (1, m - 1)):
            y[i, j] = x[i - 1, j] + x[i + 1, j] + x[i, j - 1] * 2 + x[i, j + 1] * 3
        for i, j in ti.ndrange(n, (2, m)):
            z[i, j] = z[i, j] + x[i, j]
        for i in range(3, n * m + 1):
            line[i] = line[i] * 2 + 1

    values = (np.arange(n * m).reshape(n, m) % 911).astype(x.to_numpy().dtype)
    x.from_numpy(values)
    z.fill(1)
    line.fill(4)
    run()
    expected = np.zeros_like(values)
    two, three = values.dtype.type(2), values.dtype.type(3)
    expected[1:-1, 1:-1] = values[:-2, 1:-1] + values[2:, 1:-1] + values[1:-1, :-2] * two + values[1:-1, 2:] * three
    assert np.array_equal(y.to_numpy(), expected)
    expected[:] = 1
    expected[:, 2:] += values[:, 2:]
    assert np.array_equal(z.to_numpy(), expected)
    assert line.to_numpy().tolist() == [4] * 3 + [9] * (n * m - 2) + [4] * 2


@pytest.mark.parametrize("n", [LONG, LONG + 2])
def test_neighbours_along_a_vector(target: str, n: int) -> None:
    n = n % 1000 if target == "python" else n
    start(target)
    x, y = ti.field(ti.f32, n), ti.field(ti.f32, n)

    @ti.kernel
    def run():
        for i in x:
            if i > 0:
                y[i] = x[i - 1] * 2.0

    x.from_numpy(some(n))
    run()
    assert np.array_equal(y.to_numpy(), np.concatenate(([0], some(n)[:-1] * 2)))


@pytest.mark.parametrize("by", [1, 2, 3])
def test_neighbours_of_a_part(target: str, by: int) -> None:
    n = 403 if target == "python" else LONG + 2
    start(target)
    x, y = ti.field(ti.f32, n), ti.field(ti.f32, n)

    @ti.kernel
    def run():
        for i in range(3, n - 3):
            y[i] = y[i] + x[i] - x[i - by] * 2.0

    x.from_numpy(some(n))
    y.from_numpy(some(n) * 3)
    run()
    expected = some(n) * 3
    expected[3:-3] += some(n)[3:-3] - some(n)[3 - by : n - 3 - by] * 2
    assert np.array_equal(y.to_numpy(), expected)


def test_cubes(target: str) -> None:
    start(target)
    n = 4 if target == "python" else 44
    x, y = ti.field(ti.f32, (n, n, n)), ti.field(ti.f32, (n, n, n))

    @ti.kernel
    def laplace():
        for i, j, k in x:
            if 0 < i < n - 1 and 0 < j < n - 1 and 0 < k < n - 1:
                s = x[i - 1, j, k] + x[i + 1, j, k] + x[i, j - 1, k] + x[i, j + 1, k] + x[i, j, k - 1] + x[i, j, k + 1]
                y[i, j, k] = s - 6.0 * x[i, j, k]

    x.from_numpy(some(n, n, n))
    laplace()
    v, expected, inner = some(n, n, n), np.zeros((n, n, n), np.float32), slice(1, -1)
    expected[inner, inner, inner] = (
        v[:-2, inner, inner] + v[2:, inner, inner] + v[inner, :-2, inner] + v[inner, 2:, inner]
        + v[inner, inner, :-2] + v[inner, inner, 2:] - 6 * v[inner, inner, inner]
    )  # fmt: skip
    assert np.array_equal(y.to_numpy(), expected)


def sources(kernel: object, *args: object) -> list[str]:
    return [kernel.source(*args, arch=arch) for arch in (ti.cuda, ti.vulkan)]


@ti.kernel
def shift(a: ti.types.ndarray(ti.i32, 3), b: ti.types.ndarray(ti.i32, 3)):
    for i, j, k in ti.ndrange((1, a.shape[0]), a.shape[1], (2, a.shape[2] - 1)):
        b[i, j, k] = a[i - 1, j, k - 2] - 3 * a[i, j, k + 1] + a[i - 1, j, k]


@pytest.mark.parametrize(
    ("rows", "first", "last"), [(1, 0, 8), (5, 0, 4), (4, 0, 3), (6, 0, 36), (5, 1, 37), (3, 4, 260), (3, 0, 131)]
)
def test_parts_of_rows_of_ndarrays(target: str, rows: int, first: int, last: int) -> None:
    """Rows of all lengths, and arrays that start between multiples of 16 bytes."""
    start(target)
    size = rows * 2 * (last - first)
    a, b = (np.arange(size + first, dtype=np.int32) * factor % 91 for factor in (7, 5))
    a, b = (x[first:].reshape(rows, 2, -1) for x in (a, b))
    expected = b.copy()
    expected[1:, :, 2:-1] = a[:-1, :, :-3] - 3 * a[1:, :, 3:] + a[:-1, :, 2:-1]
    shift(a, b)
    assert np.array_equal(b, expected)


def test_a_single_iteration_that_stays_keeps_its_numbers() -> None:
    """It is short: the pass that makes functions of others leaves it as it is."""

    @ti.kernel
    def quotient(x: Vector, y: Vector):
        for i in x:
            x[i] = x[i] / y[i] + 1.0

    ti.init(arch=ti.python, log_level=ti.ERROR)
    x = some(8)
    assert "x4(i) / y4(i) + 1.0f" in quotient.source(x, x, arch=ti.cuda)
    assert "$?" not in quotient.ir("final", x, x, arch=ti.cuda)


def test_sources() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    x = some(8)
    for source in sources(saxpy, x, x, 1.0):
        assert "y4(i) = args.a * x4(i) + y4(i);" in source
        assert "% 16" in source and "y(ii) = args.a * x(ii) + y(ii);" in source
        assert "// one by one; i + 4 might overflow\n        int end = i + min(args.x_n - i, 4);" in source
    assert "x4(" not in saxpy.source(x, x, 1.0, arch=ti.x64)
    field = ti.field(ti.f32, LONG)

    @ti.kernel
    def double():
        for i in field:
            field[i] *= 2.0

    for source in sources(double):
        assert "field4(i) *= 2.0" in source and "field(i" not in source and "% 16" not in source
    for source in sources(jacobi, some(4, 4), some(4, 4), 1.0):
        assert "a4(" in source and "iteration(" in source.partition("// one by one")[2]
    for source in sources(shift, np.zeros((4, 4, 4), np.int32), np.zeros((4, 4, 4), np.int32)):
        assert "% 16" in source and "k >= 2 && k < args.a_n2 - 4)" in source
        assert "- 3 * " in source and "if (k >= 2 && k < args.a_n2 - 1) {" in source
        assert "k / 4 + part * quarter;" in source and "overflow" not in source
    u, w = ti.field(ti.f32, (512, 256)), ti.field(ti.f32, (512, 256))

    @ti.kernel
    def relax():
        for i, j in u:
            if 0 < i < 511 and 0 < j < 255:
                w[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])

    @ti.kernel
    def relax_part():
        for i, j in ti.ndrange((1, 511), (1, 255)):
            w[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])

    for source in sources(relax_part):
        assert "if (j >= 1 && j + 3 < 255) {" in source and "u4(i - 1, j) + u4(i + 1, j) + vec4" in source
        assert "if (j >= 1 && j < 255) {" in source
    for source in sources(relax):
        assert "if (0 < i && i < 511 && 0 < j && j + 3 < 255) {" in source
        assert "u4(i - 1, j) + u4(i + 1, j) + vec4" in source
        assert "w(i, j) = 0.25" in source and "if (0 < i && i < 511 && 0 < j && j < 255) {" in source
        assert "index >= u_n0 * (u_n1 / 4)" in source and "index % (u_n1 / 4)" in source
    ti.init(arch=ti.python, log_level=ti.ERROR, passes="-wide_accesses")
    assert not any("x4(" in source for source in sources(saxpy, x, x, 1.0))


@ti.kernel
def clear(x: Vector, value: ti.f32, rows: ti.types.ndarray(ti.i32, 2)):
    for i in x:
        x[i] = value
    for i, j in rows:
        rows[i, j] = i * 100


@pytest.mark.parametrize("n", [0, 1, 3, 4, 5, 1023, 4096, 70001])
@pytest.mark.parametrize("first", [0, 1, 4])
def test_loops_that_only_store(target: str, n: int, first: int) -> None:
    """Each thread has one access, in blocks of 256."""
    whole, shape = np.full(n + first + 5, 7, np.float32), (n % 7, n // 7 % 50)
    rows = np.full((shape[0] + 1, shape[1]), -1, np.int32)
    clear(whole[first : first + n], 0.5, rows[: shape[0]])
    assert (whole[first : first + n] == 0.5).all() and (whole[:first] == 7).all() and (whole[first + n :] == 7).all()
    assert np.array_equal(rows[:-1], np.tile(np.arange(shape[0])[:, None] * 100, shape[1])) and (rows[-1] == -1).all()


def test_blocks_that_only_store_start_in_order() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    x, y = some(8), ti.field(ti.f32, LONG)

    @ti.kernel
    def strided(v: Vector):
        ti.loop_config(grid_stride=True)
        for i in v:
            v[i] = 1.0
        ti.loop_config(block_dim=64)
        for i in y:
            y[i] = 1.0

    for source in sources(clear, x, 1.0, np.zeros((2, 4), np.int32)):
        assert "#define BLOCK 256" in source and "no grid-stride loop: blocks store in order" in source
        assert "index +=" not in source
    for source in sources(strided, x):
        assert "BLOCK 256" not in source and "index +=" in source and "64" in source
    for source in sources(saxpy, x, x, 1.0):
        assert "BLOCK 128" in source and "store in order" not in source


def test_names_of_single_iterations_and_of_extents() -> None:
    """The user's own `ii` and `k` keep their names; a field whose length is no multiple of 4 ends early."""
    ti.init(arch=ti.python, log_level=ti.ERROR)
    odd, n = ti.field(ti.f32, LONG + 2), LONG + 2

    @ti.kernel
    def scale(by: ti.f32):
        for i in odd:
            ii = 2.0 * odd[i]
            k = ii + by
            odd[i] = k * ii

    @ti.kernel
    def clear(x: ti.types.ndarray(ti.f32, 1)):
        for number in x:
            x[number] = 0.0

    @ti.kernel
    def steps():
        for i in range(3, n - 1, 2):
            odd[i] = odd[i // 2]

    for source in sources(scale, 1.0):
        assert "int end = min(i + 4, odd_n0);\n        for (int each_i = i; each_i < end; each_i++) {" in source
        assert "float ii = 2.0" in source and "overflow" not in source
        assert "if (index >= (odd_n0 + 3) / 4) return;" in source
    for source in sources(clear, some(8)):
        assert "for (int each_number = number; each_number < end; each_number++) {" in source
    for source in sources(steps):
        assert "if (index >= (n - 4) / 2) return;" in source
        assert "int i = 3 + index * 2;" in source or "int i = 3 + int(index) * 2;" in source


NOT_WIDENED = [
    "backwards",
    "one element for all",
    "backwards in a branch",
    "few elements",
    "bytes to elements of 8 bytes",
    "two axes of odd lengths",
    "vectors beside numbers",
    "members of one cell",
    "half of a row",
    "every second element",
    "random numbers",
    "a load behind a store",
    "either of two conditions",
    "stores of both branches",
    "elements far ahead",
]


@pytest.mark.parametrize("case", NOT_WIDENED)
def test_what_is_not_widened(case: str) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    x, y, small = ti.field(ti.f32, LONG), ti.field(ti.f32, LONG), ti.field(ti.f32, 100)
    double, bytes, odd = ti.field(ti.f64, LONG), ti.field(ti.u8, LONG), ti.field(ti.f32, (300, 301))
    vectors, shared = ti.Vector.field(4, ti.f32, LONG), ti.field(ti.f32)
    ti.root.dense(ti.i, LONG).place(shared, ti.field(ti.f32))

    @ti.kernel
    def kernels(case: ti.template(), given: ti.types.ndarray(ti.f32, 1), at: ti.types.ndarray(ti.i32, 1)):
        if ti.static(case == "backwards"):
            for i in x:
                y[i] = x[LONG - 1 - i]
        if ti.static(case == "one element for all"):
            for i in x:
                x[0] = y[i]
        if ti.static(case == "backwards in a branch"):
            for i in x:
                y[i] = y[i] if i % 2 else x[LONG - 1 - i]
        if ti.static(case == "few elements"):
            for i in small:
                small[i] = 1.0
        if ti.static(case == "bytes to elements of 8 bytes"):
            for i in double:
                double[i] = bytes[i]
        if ti.static(case == "two axes of odd lengths"):
            for i, j in odd:
                odd[i, j] = 1.0
        if ti.static(case == "vectors beside numbers"):
            for i in x:
                x[i] = 1.0
            for i in vectors:
                vectors[i] *= 2.0
        if ti.static(case == "members of one cell"):
            for i in x:
                shared[i] = 1.0
        if ti.static(case == "half of a row"):
            for i in range(2, LONG // 2):  # less than most of the row
                x[i] = 1.0
        if ti.static(case == "every second element"):
            for i in range(LONG // 2):
                x[2 * i] = y[at[i]] + given[i]
        if ti.static(case == "random numbers"):
            for i in given:
                given[i] = ti.random()
        if ti.static(case == "a load behind a store"):
            for i in x:
                if i > 0:
                    x[i] = 1.0
                    y[i] = x[i - 1]
        if ti.static(case == "either of two conditions"):
            for i in x:
                if i > 0 or y[0] > 1.0:
                    x[i] = 1.0
        if ti.static(case == "stores of both branches"):
            for i in x:
                if i % 2 == 0:
                    x[i] = 1.0
                else:
                    y[i] = 1.0
        if ti.static(case == "elements far ahead"):
            for i in x:
                if i < LONG - 9:
                    x[i] = y[i + 9]

    given = np.zeros(4, np.float32)
    for source in sources(kernels, case, given, np.zeros(4, np.int32)):
        assert "(wide_accesses)" not in source
