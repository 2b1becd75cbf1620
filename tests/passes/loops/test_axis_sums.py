"""Iterations that add to one element along an axis: the serial loops of one thread, and what they leave alone."""

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.transpiler.passes.loops import axis_sums
from shadesmith.transpiler.passes.tiles.parts import register_plan

pytestmark = pytest.mark.targets("vulkan", "cuda")  # elsewhere the pass returns at once

N1, N2 = (ti.types.ndarray(ti.f32, ndim) for ndim in (1, 2))


@pytest.fixture
def short_is_long(monkeypatch):
    small = {"FEWEST_ROWS": 4, "SHORTEST": 4, "FEWEST": 1, "CHUNK": 4, "BUSY": 50, "MANY": 60, "LEAST_PARTS": 4}
    for name, value in small.items():
        monkeypatch.setattr(axis_sums, name, value)


def cuda(kernel, *args):
    return kernel.source(*args, arch=ti.cuda)


def test_columns_are_added_in_chunks(target, monkeypatch):
    """64 rows a thread, whose last chunk is shorter; what one of several loops does not need is not loaded."""
    monkeypatch.setattr(axis_sums, "MANY", 1 << 10)
    n, m = 1031, 70
    values = (np.arange(n * m) % 11).astype(np.float32).reshape(n, m)
    a, columns, total = ti.field(ti.f32, (n, m)), ti.field(ti.f32, m), ti.field(ti.f32, ())
    a.from_numpy(values)

    @ti.kernel
    def add():
        for i, j in a:
            columns[j] -= a[i, j]
            total[None] += 2 * a[i, j]

    add()
    assert np.array_equal(columns.to_numpy(), -values.sum(axis=0)) and total[None] == 2 * values.sum()
    source = cuda(add)
    assert "for (int i = i_chunk; i < end_i; i++)" in source and "min(a_n0 - i_chunk, 64)" in source
    assert source.count("// task ") == 2 and source.count("columns_sum -= a(i, j)") == 1


def test_rows_of_ndarrays(target):
    """A launch chooses between rows of a warp and parts of few rows; sums, minima and maxima, also of no terms."""

    @ti.kernel
    def add(a: N2, w: N1, s: N1, low: N1, high: N1):
        for i, j in a:
            s[i] += a[i, j] * w[j]
            if a[i, j] > 3:
                ti.atomic_min(low[i], a[i, j])
            ti.atomic_max(high[i], a[i, j])

    many = 40 if target == "python" else 1024  # the interpreter has one task
    for n, m in ((many, 64), (3, 700), (1, 1), (5, 0), (many + 3, 130)):
        values = ((np.arange(n * m) * 7) % 13 % 5).astype(np.float32).reshape(n, m)
        given = [values, np.arange(m, dtype=np.float32) % 3, *(np.full(n, 2, np.float32) for _ in range(3))]
        arrays = [ti.ndarray(ti.f32, array.shape) for array in given] if m else given
        for array, numbers in zip(arrays, given if m else (), strict=False):
            array.from_numpy(numbers)
        add(*arrays)
        s, low, high = [array.to_numpy() if m else array for array in arrays[2:]]
        assert np.array_equal(s, 2 + values @ given[1])
        assert np.array_equal(low, np.where(values > 3, values, 2).min(axis=1, initial=2))
        assert np.array_equal(high, values.max(axis=1, initial=2))


@pytest.mark.parametrize("order", ["i, j, k", "i, k, j", "k, i, j"])
def test_a_product_of_matrices_that_adds_has_tiles(target, order, short_is_long, monkeypatch):
    n = 32 if target == "python" else 64
    for name in ("FEWEST", "SHORT", "THIN"):
        monkeypatch.setattr(register_plan, name, 1)
    a, b, c = (ti.field(ti.i32, (n, n)) for _ in range(3))
    left, right = np.arange(n * n).reshape(n, n) % 9, np.arange(n * n).reshape(n, n) % 7
    a.from_numpy(left.astype(np.int32))
    b.from_numpy(right.astype(np.int32))

    @ti.kernel
    def ijk():
        for i, j, k in ti.ndrange(n, n, n):
            c[i, j] += a[i, k] * b[k, j]

    @ti.kernel
    def ikj():
        for i, k, j in ti.ndrange(n, n, n):
            c[i, j] += a[i, k] * b[k, j]

    @ti.kernel
    def kij():
        for k, i, j in ti.ndrange(n, n, n):
            c[i, j] += a[i, k] * b[k, j]

    kernel = {"i, j, k": ijk, "i, k, j": ikj, "k, i, j": kij}[order]
    c.fill(5)
    kernel()
    assert np.array_equal(c.to_numpy(), 5 + left @ right)
    source = cuda(kernel)
    assert "(register_tiles)" in source and "atomicAdd" not in source


def test_few_long_rows_are_shared_by_parts(target):
    n, m = 7, 700 if target == "python" else 70000  # the interpreter shares no rows
    a, s = ti.field(ti.i32, (n, m)), ti.field(ti.i32, n)
    values = (np.arange(n * m) % 17 - 8).astype(np.int32).reshape(n, m)
    a.from_numpy(values)

    @ti.kernel
    def add():
        for i, j in ti.ndrange(n, (3, m)):
            s[n - 1 - i] += a[i, j]

    add()
    assert np.array_equal(s.to_numpy()[::-1], values[:, 3:].sum(axis=1))
    assert m < 70000 or "int j = 3 + part; j < m; j += 2048" in cuda(add)


def test_four_axes_vectors_and_offsets(target, short_is_long):
    """Channels of images: the element depends on the second of four axes; vectors are added as they are."""
    shape = (2, 3, 5, 9)
    x = ti.Vector.field(2, ti.f32, shape, offset=(1, -2, 0, 3))
    channels, images = ti.Vector.field(2, ti.f32, 3, offset=-2), ti.field(ti.i32, (2, 5, 9), offset=(1, 0, 3))
    values = (np.arange(2 * np.prod(shape)) % 5).astype(np.float32).reshape(*shape, 2)
    x.from_numpy(values)

    @ti.kernel
    def add():
        for b, c, i, j in x:
            channels[c] += x[b, c, i, j]
            if x[b, c, i, j].x > 1:
                images[b, i, j] += c

    add()
    assert np.array_equal(channels.to_numpy(), values.sum(axis=(0, 2, 3)))
    expected = ((values[..., 0] > 1) * np.array([-2, -1, 0])[None, :, None, None]).sum(axis=1)
    assert np.array_equal(images.to_numpy(), expected)
    source = cuda(add)
    assert "for (int c = " in source and "channels_sum += x(b, c, i, j)" in source


def test_what_stays():
    """Elements of all axes, or of numbers that are read; results that are used; stores; sums that must be exact."""

    def has_sums(case, n=1024, **options):
        ti.init(arch=ti.python, log_level=ti.ERROR, **options)
        a, s, t, k = ti.field(ti.f32, (n, n)), ti.field(ti.f32, n), ti.field(ti.f32, (n, n)), ti.field(ti.i32, n)

        @ti.kernel
        def add():
            for i, j in a:
                if ti.static(case == "all axes"):
                    t[j, i // 2] += a[i, j]
                elif ti.static(case == "read"):
                    s[k[j]] += a[i, j]
                elif ti.static(case == "used"):
                    t[i, j] = ti.atomic_add(s[j], a[i, j])
                elif ti.static(case == "stored"):
                    s[j] += a[i, j]
                    t[i, j] = a[i, j]
                elif ti.static(case == "loaded"):
                    s[j] += a[i, j] * s[i]
                elif ti.static(case == "random"):
                    s[j] += ti.random()
                elif ti.static(case == "other"):
                    s[j] += a[i, j]
                    t[j, i // 2] += a[i, j]
                else:
                    s[j] += a[i, j]

        return "(axis_sums)" in cuda(add)

    assert has_sums("") and not has_sums("", n=256)
    for case in ("all axes", "read", "used", "stored", "loaded", "random", "other"):
        assert not has_sums(case), case
    for options in ({"fast_math": False}, {"deterministic": True}, {"passes": "-axis_sums"}):
        assert not has_sums("", **options), options


def test_each_loop_of_one_has_its_own_reduction(target):
    """A total and sums of columns become two tasks; only one of them joins the total."""
    n = 60 if target == "python" else 300
    a, columns, rows, total = ti.field(ti.i32, (n, n)), ti.field(ti.i32, n), ti.field(ti.i32, n), ti.field(ti.i32, ())
    a.from_numpy(np.arange(n * n, dtype=np.int32).reshape(n, n) % 100)

    @ti.kernel
    def add() -> ti.i32:
        count = 0
        for i, j in a:
            total[None] += a[i, j]
            columns[j] += a[i, j]
            rows[i] += 1
            if a[i, j] > 50:
                count += 1
        return count

    values = a.to_numpy()
    assert add() == (values > 50).sum() and total[None] == values.sum()
    assert np.array_equal(columns.to_numpy(), values.sum(axis=0)) and np.array_equal(rows.to_numpy(), [n] * n)


def test_functions_that_load(target, short_is_long):
    """A function may load, also what was added under another name; one that writes or draws numbers leaves the loop."""

    @ti.real_func
    def doubled(a: N2, i: ti.i32, j: ti.i32) -> ti.f32:
        return 2 * a[i, j]

    @ti.real_func
    def counted(count: ti.template(), i: ti.i32) -> ti.f32:
        count[0] += 1
        return i

    @ti.kernel
    def add(a: N2, s: N2, t: N1):
        for i, j in ti.ndrange(50, 70):
            if j == 0:
                s[i, 0] += 5
            t[i] += doubled(a, i, j)

    for is_same in (False, True):
        a, s, t = ti.ndarray(ti.f32, (50, 70)), ti.ndarray(ti.f32, (50, 70)), ti.ndarray(ti.f32, 50)
        a.fill(3)
        add(a, a if is_same else s, t)
        assert np.array_equal(t.to_numpy(), np.full(50, 420 + 10 * is_same))
    assert "s and a overlap" in cuda(add, a, a, t) and "(axis_sums)" in cuda(add, a, a, t)
    count, sums = ti.field(ti.i32, 1), ti.field(ti.f32, 50)

    @ti.kernel
    def add_counted():
        for i, j in ti.ndrange(50, 70):
            sums[i] += counted(count, j)

    add_counted()
    assert count[0] == 3500 and sums[49] == 69 * 35 and "(axis_sums)" not in cuda(add_counted)


def test_an_ndarray_with_two_names(target, short_is_long):
    """An iteration loads what it has added under another name; others see nothing of it."""

    @ti.kernel
    def add(a: N2, s: N2, t: N1):
        for i, j in a:
            if j == 0:
                s[i, 0] += 5
            t[i] += a[i, j]

    @ti.kernel
    def add_before(a: N2, s: N2, t: N1):
        for i, j in a:
            x = a[i, j]
            if j == 0:
                s[i, 0] += 5
            t[j] += x

    for n, m in ((50, 70), (3, 5)):
        for kernel, axis in ((add, 1), (add_before, 0)):
            a, t = ti.ndarray(ti.f32, (n, m)), ti.ndarray(ti.f32, (n, m)[1 - axis])
            a.fill(3)
            kernel(a, a, t)
            expected = np.full((n, m), 3.0)
            expected[:, 0] += 5 * axis
            assert np.array_equal(t.to_numpy(), expected.sum(axis=axis))
            assert np.array_equal(a.to_numpy()[:, 0], np.full(n, 8))
    assert "if s and a overlap" in cuda(add, a, a, t)
    total = ti.field(ti.i32, ())

    @ti.kernel
    def add_all(a: ti.types.ndarray(ti.i32, 2), s: ti.types.ndarray(ti.i32, 2)):
        for i, j in a:
            x = a[i, j]
            s[i, 0] += 5
            total[None] += x

    column = ti.ndarray(ti.i32, (50, 1))
    column.fill(3)
    add_all(column, column)
    assert total[None] == 150 and np.array_equal(column.to_numpy(), np.full((50, 1), 8))


def test_lengths_that_only_the_launch_knows(target, monkeypatch):
    """Short rows and rows of no elements stay as they are; so do filters, which are neither rows nor columns."""
    monkeypatch.setattr(axis_sums, "FEWEST_ROWS", 4)

    @ti.kernel
    def rows(a: N2, s: N1):
        for i, j in a:
            s[i] += a[i, j]

    @ti.kernel
    def filtered(x: N2, w: N2, y: N2):
        for i, j, u, v in ti.ndrange(y.shape[0], y.shape[1], w.shape[0], w.shape[1]):
            y[i, j] += x[i + u, j + v] * w[u, v]

    for n, m in ((5, 3), (50, 63), (50, 64), (3, 200)):
        a, s = ti.ndarray(ti.f32, (n, m)), ti.ndarray(ti.f32, n)
        a.from_numpy((np.arange(n * m) % 7).astype(np.float32).reshape(n, m))
        rows(a, s)
        assert np.array_equal(s.to_numpy(), a.to_numpy().sum(axis=1))
    short = np.zeros((50, 0), np.float32), np.zeros(4, np.float32)
    rows(*short)
    assert not short[1].any()
    x, w, y = ti.ndarray(ti.f32, (34, 34)), ti.ndarray(ti.f32, (3, 3)), ti.ndarray(ti.f32, (32, 32))
    x.fill(2)
    w.fill(3)
    filtered(x, w, y)
    assert np.array_equal(y.to_numpy(), np.full((32, 32), 54))
    assert not any(name in cuda(filtered, x, w, y) for name in ("(axis_sums)", "(shared_rows)", "y_sum"))


def test_operations_whose_order_is_seen(target, short_is_long):
    """Sums and minima of one array; minima of floats that may have no term."""
    n = 9
    s, low = ti.field(ti.i32, n), ti.field(ti.f32, n)

    @ti.kernel
    def change():
        for i, j in ti.ndrange(n, n):
            if i == 3 and j == 3:
                s[i] += 5
                ti.atomic_min(s[j], 3)
                s[i] += 5

    @ti.kernel
    def least():
        for i, j in ti.ndrange(n, n):
            if i > 4:
                ti.atomic_min(low[i], float(j))

    low.fill(7.0)
    change()
    least()
    assert s.to_numpy().tolist() == [0, 0, 0, 8, 0, 0, 0, 0, 0]
    assert low.to_numpy().tolist() == [7.0] * 5 + [0.0] * 4


def test_bounds_near_the_greatest_index(target, short_is_long):
    n, end = 8, 2**31 - 1
    s, t = ti.field(ti.i32, n), ti.field(ti.i32, n)

    @ti.kernel
    def add(lo: ti.i32, hi: ti.i32):
        for i, j in ti.ndrange(n, (lo, hi)):
            s[i] += j & 15
        for i, j in ti.ndrange(n, (end - 10, end)):
            t[i] += j & 15

    add(end - 10, end)
    expected = [sum(j & 15 for j in range(end - 10, end))] * n
    assert s.to_numpy().tolist() == t.to_numpy().tolist() == expected


def test_long_serial_loops_on_drivers_that_end_them(target):
    """lavapipe ends loops after 65,535 iterations: the axis is divided."""
    n, m = 2, 140000
    a, s = ti.field(ti.i32, (n, m)), ti.field(ti.i32, n)
    a.fill(2)

    @ti.kernel
    def add():
        for i, j in a:
            s[i] += a[i, j]

    add()
    assert s.to_numpy().tolist() == [2 * m] * n


def test_few_rows_of_ndarrays(target):
    """32 threads have up to 1,024 iterations of a row; with more rows a thread has one, or an iteration each."""
    two, one = ti.types.ndarray(ti.i32, ndim=2), ti.types.ndarray(ti.i32, ndim=1)

    @ti.kernel
    def add(a: two, x: one, s: one):
        for i, j in a:
            s[i] += a[i, j] * x[j]

    @ti.kernel
    def find(a: two, least: one):
        for i, j in a:
            if a[i, j] > 3:
                ti.atomic_min(least[i], a[i, j] + j)

    for rows, length in (
        (1, 1),
        (1, 5000),
        (3, 63),
        (7, 1023),
        (7, 1024),
        (5, 1025),
        (0, 9),
        (9, 0),
        (1100, 5),
        (1030, 70),
    ):
        rng = np.random.default_rng(rows)
        a, x = (rng.integers(-9, 10, shape).astype(np.int32) for shape in ((rows, length), length))
        s, least = np.ones(rows, np.int32), np.full(rows, 7000, np.int32)
        add(a, x, s)
        find(a, least)
        found = np.where(a > 3, a + np.arange(length), 7000).min(axis=1, initial=7000)
        assert np.array_equal(s, 1 + a @ x) and np.array_equal(least, found), (rows, length)
    for source in (cuda(add, a, x, s), cuda(find, a, least)):
        few = source.split("for fewer than 1,024 rows")[1].split("// task")[0]
        assert "min(args.a_n1 - j_chunk, 1024)" in few and "32 threads share a row" in few


def test_few_rows_whose_number_is_an_argument(target):
    """A field has at most as many rows as elements: no task for many. Threads share a piece, and add to a copy."""
    a, sums = ti.field(ti.f32, (9, 4100)), ti.field(ti.f32, 9)
    values = (np.arange(9 * 4100) % 7).astype(np.float32).reshape(9, 4100)
    a.from_numpy(values)

    @ti.kernel
    def add(n: ti.i32):
        for i, j in ti.ndrange(n, 4100):
            sums[i] += a[i, j]

    for n in (0, 1, 9):
        sums.fill(1)
        add(n)
        assert np.array_equal(sums.to_numpy(), 1 + values.sum(1) * (np.arange(9) < n))
    source = cuda(add, 3)
    assert "// task " not in source and "threads share a row" in source and "(block_sums)" in source


def test_sums_of_rows_under_a_condition(target):
    """An element that exists in any case gets the sum without a test, so that threads of a warp join what they have."""
    a, sums, before = ti.field(ti.f32, (90, 2050)), ti.field(ti.f32, 90), ti.field(ti.f32, 90)
    values = (np.arange(90 * 2050) % 7).astype(np.float32).reshape(90, 2050)
    a.from_numpy(values)

    @ti.kernel
    def add():
        for i, j in a:
            if 3 < j <= 20 * i:
                sums[i] += a[i, j]
            if i > 0 and j <= 20 * i:
                before[i - 1] += a[i, j]

    add()
    inside = np.arange(2050) <= 20 * np.arange(90)[:, None]
    assert np.array_equal(sums.to_numpy(), (values * inside)[:, 4:].sum(1))
    assert np.array_equal(before.to_numpy(), [*(values * inside).sum(1)[1:], 0])
    source = cuda(add)
    assert "reduce_add(sums_sum)" in source and "if (before_sum != 0.0f)" in source
