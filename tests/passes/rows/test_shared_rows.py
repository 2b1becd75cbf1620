"""Pass `shared_rows`: four threads share a loop over a row of a sparse matrix; results are those of plain loops."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.transpiler.passes.loops import axis_sums

pytestmark = pytest.mark.targets("vulkan", "cuda")  # elsewhere the pass returns at once

Table = ti.types.ndarray(ti.f32, 2)
Floats, Numbers = ti.types.ndarray(ti.f32, 1), ti.types.ndarray(ti.i32, 1)


@ti.kernel
def product(starts: Numbers, columns: Numbers, values: Floats, x: Floats, y: Floats):
    for i in y:
        s = 0.0
        for k in range(starts[i], starts[i + 1]):
            s += values[k] * x[columns[k]]
        y[i] = s


@ti.kernel
def several(starts: Numbers, values: Numbers, y: Numbers, first: ti.i32):
    for i in range(starts.shape[0] - 1):
        total, least, greatest, count = i, 1000, -1000, 0
        for k in range(starts[i] + first, starts[i + 1]):
            value = values[k] - 5
            total -= value * 3
            least = ti.min(least, value)
            if value > 2:
                greatest = ti.max(greatest, value * i)
                count += 1
        y[i] = total * 7 + least * 5 + greatest * 3 + count
        y[i + starts.shape[0] - 1] = count


def matrix(rows: int):
    random = np.random.default_rng(rows)
    starts = np.concatenate([[0], np.cumsum(random.integers(0, 14, rows))]).astype(np.int32)
    entries = max(int(starts[-1]), 1)
    return starts, random.integers(0, max(rows, 1), entries).astype(np.int32), random.integers(0, 9, entries)


@pytest.mark.parametrize("rows", [0, 1, 7, 32, 131])
def test_product(target, rows):
    starts, columns, values = matrix(rows)
    values = values.astype(np.float32)
    x, y = (np.arange(max(rows, 1)) % 11).astype(np.float32), np.full(rows, 9, np.float32)
    product(starts, columns, values, x, y)
    expected = [np.sum(values[a:b] * x[columns[a:b]]) for a, b in zip(starts, starts[1:], strict=False)]
    assert np.array_equal(y, np.array(expected, np.float32))


@pytest.mark.parametrize(("rows", "width"), [(0, 4), (1, 1), (7, 33), (131, 16)])
def test_a_column_of_rows_that_are_read(target, rows, width):
    """Neighbouring threads read neighbours in a row of `x`: each of them has its sum alone."""
    starts, columns, values = matrix(rows)
    values = values.astype(np.float32)

    @ti.kernel
    def products(starts: Numbers, columns: Numbers, values: Floats, x: Table, y: Table):
        for i, j in y:
            s = 0.0
            for k in range(starts[i], starts[i + 1]):
                s += values[k] * x[columns[k], j]
            y[i, j] = s

    x, y = (
        (np.arange(max(rows, 1) * width) % 11).astype(np.float32).reshape(-1, width),
        np.full((rows, width), 9.0, "f4"),
    )
    products(starts, columns, values, x, y)
    for i in range(rows):
        part = slice(starts[i], starts[i + 1])
        assert np.array_equal(y[i], (values[part, None] * x[columns[part]]).sum(0, dtype=np.float32))
    if target != "python":
        assert "(shared_rows)" not in products.source(starts, columns, values, x, y, arch=ti.cuda)


@pytest.mark.parametrize("first", [0, 2])
def test_several_accumulators(target, first):
    starts, _, values = matrix(57)
    values, y = values.astype(np.int32), np.zeros(2 * 57, np.int32)
    several(starts, values, y, first)
    for i in range(57):
        row = values[starts[i] + first : starts[i + 1]] - 5 if starts[i] + first < starts[i + 1] else values[:0]
        greatest = max([-1000, *(int(v) * i for v in row if v > 2)])
        count = int(np.sum(row > 2))
        total = i - 3 * int(row.sum())
        assert y[i] == total * 7 + min([1000, *row.tolist()]) * 5 + greatest * 3 + count and y[57 + i] == count


def text(kernel, *arrays):
    given = [
        ti.ndarray(ti.f32 if array is Floats else ti.i32, 4) if array in (Floats, Numbers) else array
        for array in arrays
    ]
    return kernel.source(*given, arch=ti.cuda)


def test_sources():
    ti.init(arch=ti.python, log_level=ti.ERROR)
    shared = text(product, Numbers, Numbers, Floats, Floats, Floats)
    assert "(shared_rows)" in shared and "k < group + 16; k += 4" in shared and "__shfl_xor_sync(lanes, s, 2)" in shared
    assert "(shared_rows)" in text(several, Numbers, Numbers, Numbers, 1)
    for options in ({"fast_math": False}, {"passes": "-shared_rows"}, {"deterministic": True}, {"debug": True}):
        ti.init(arch=ti.python, log_level=ti.ERROR, **options)
        assert "(shared_rows)" not in text(product, Numbers, Numbers, Floats, Floats, Floats)
    ti.init(arch=ti.python, log_level=ti.ERROR, fast_math=False)
    assert "(shared_rows)" in text(several, Numbers, Numbers, Numbers, 1)


def test_what_is_not_shared():
    ti.init(arch=ti.python, log_level=ti.ERROR)

    @ti.kernel
    def others(case: ti.template(), starts: Numbers, values: Floats, y: Floats, n: ti.i32):
        for i in y:
            s, t = 0.0, 0.0
            if ti.static(case == 0):  # the same bounds in all threads
                for k in range(starts[0], starts[1]):
                    s += values[k]
            if ti.static(case == 1):  # nothing is read along the row
                for k in range(starts[i], starts[i + 1]):
                    s += values[i]
            if ti.static(case == 2):  # a sum that others read
                for k in range(starts[i], starts[i + 1]):
                    s += values[k]
                    t += s
            if ti.static(case == 3):  # not a sum
                for k in range(starts[i], starts[i + 1]):
                    s = s * 0.5 + values[k]
            if ti.static(case == 4):  # a store
                for k in range(starts[i], starts[i + 1]):
                    s += values[k]
                    y[k] = s
            if ti.static(case == 5):  # an end by its values
                for k in range(starts[i], starts[i + 1]):
                    if values[k] > 3.0:
                        break
                    s += values[k]
            if ti.static(case == 6):  # the last value
                for k in range(starts[i], starts[i + 1]):
                    t = values[k]
                    s += values[k]
            if ti.static(case == 7):  # a store before it
                y[i] = 1.0
                for k in range(starts[i], starts[i + 1]):
                    s += values[k] * y[i]
            if ti.static(case == 8):  # the last sum with what a variable was before the loop
                if values[i] > 3.0:
                    s = 5.0
                first = s
                for k in range(starts[i], starts[i + 1]):
                    s = first + values[k]
            y[i] = s + t

    given = ti.ndarray(ti.i32, 4), ti.ndarray(ti.f32, 4), ti.ndarray(ti.f32, 4)
    for case in range(9):
        assert "(shared_rows)" not in others.source(case, *given, 3, arch=ti.cuda), case


def test_rows_between_extreme_bounds_are_empty(target):
    """A row that starts at the largest number, as programs mark empty cells, has no entry for any of its threads."""

    @ti.kernel
    def sums(starts: Numbers, ends: Numbers, values: Numbers, y: Numbers):
        for i in y:
            s = i
            for k in range(starts[i], ends[i]):
                s += values[k]
            y[i] = s

    largest, least = 2**31 - 1, -(2**31)
    starts = np.array([largest, 0, largest, largest - 1, 5, 3, 0], np.int32)
    ends = np.array([0, 3, least, -1, 5, 6, least], np.int32)
    y = np.zeros(7, np.int32)
    sums(starts, ends, np.arange(10, dtype=np.int32), y)
    assert y.tolist() == [0, 1 + 0 + 1 + 2, 2, 3, 4, 5 + 3 + 4 + 5, 6]


def test_more_rows_than_their_threads_can_be_counted():
    ti.init(arch=ti.python, log_level=ti.ERROR)

    @ti.kernel
    def sums(rows: ti.template(), starts: Numbers, values: Numbers, y: Numbers):
        for i in range(rows):
            s = 0
            for k in range(starts[i], starts[i + 1]):
                s += values[k]
            y[i] = s

    assert "(shared_rows)" in text(sums, 2**29 - 1, Numbers, Numbers, Numbers)
    assert "(shared_rows)" not in text(sums, 2**29, Numbers, Numbers, Numbers)


Plane = ti.types.ndarray(ti.f32, 2)


@ti.kernel
def rows_of_arrays(a: Plane, x: Floats, least: Floats, y: Floats):
    for i in range(a.shape[0]):
        s, low = 1.0, 100.0
        for k in range(1, a.shape[1]):
            s += a[i, k] * x[k]
            low = ti.min(low, a[i, k])
        y[i] = s
        least[i] = low


@pytest.mark.parametrize(("rows", "columns"), [(0, 5), (1, 1), (7, 2), (33, 9), (5, 200)])
def test_rows_of_ndarrays(target, rows, columns):
    random = np.random.default_rng(columns)
    a = random.integers(0, 9, (rows, columns)).astype(np.float32)
    x, y, least = (np.arange(columns) % 5).astype(np.float32), np.zeros(rows, np.float32), np.zeros(rows, np.float32)
    rows_of_arrays(a, x, least, y)
    assert np.array_equal(y, 1 + a[:, 1:] @ x[1:])
    assert np.array_equal(least, np.min(a[:, 1:], axis=1, initial=100))


@pytest.mark.parametrize("length", [15, 16, 37, 64, 300])
def test_rows_of_fields(target, length):
    a, b, c = ti.field(ti.i32, (6, length)), ti.field(ti.i32, (11, length)), ti.field(ti.i32, (6, 11))
    left, right = (np.arange(count * length).reshape(count, length) % 23 for count in (6, 11))
    a.from_numpy(left.astype(np.int32))
    b.from_numpy(right.astype(np.int32))

    @ti.kernel
    def product():
        for i, j in c:
            s = 0
            for k in range(length):
                s += a[i, k] * b[j, k]
            c[i, j] = s

    product()
    assert np.array_equal(c.to_numpy(), left @ right.T)


def test_threads_of_a_row():
    """A thread has four elements of a row or more, and a row a warp at most; columns are read together already."""
    ti.init(arch=ti.python, log_level=ti.ERROR)

    @ti.kernel(passes=["-register_tiles"])
    def product(transposed: ti.template(), a: ti.template(), b: ti.template(), c: ti.template()):
        for i, j in c:
            s = 0.0
            for k in range(a.shape[1]):
                s += a[i, k] * (b[j, k] if ti.static(transposed) else b[k, j])
            c[i, j] = s

    for length, threads in ((15, 0), (16, 4), (63, 8), (64, 16), (128, 32), (4096, 32)):
        square = [ti.field(ti.f32, (length, length)) for _ in range(3)]
        source = product.source(True, *square, arch=ti.cuda)
        assert source.count("(shared_rows)") == (threads > 0)
        assert threads == 0 or f"k += {threads})" in source
        assert "(shared_rows)" not in product.source(False, *square, arch=ti.cuda)
    given = [ti.ndarray(ti.f32, shape) for shape in ((4, 4), 4, 4, 4)]
    assert "k < args.a_n1; k += 8" in rows_of_arrays.source(*given, arch=ti.cuda)
    columns = ti.field(ti.f32, (64, 64), order="ji")
    assert "(shared_rows)" not in product.source(True, columns, columns, square[0], arch=ti.cuda)


def test_sums_along_rows(target, monkeypatch):
    """A loop over all elements that adds to one element a row, also in branches, and to several arrays."""
    monkeypatch.setattr(axis_sums, "FEWEST_ROWS", 4)
    rows, length = 3, 70
    a, total = ti.field(ti.f32, (rows, 2, length)), ti.field(ti.f32, (rows, 2))
    count, weights = ti.field(ti.i32, rows * 2), ti.field(ti.f32, rows)
    values = (np.arange(rows * 2 * length) % 7).astype(np.float32).reshape(rows, 2, length)
    a.from_numpy(values)
    weights.from_numpy(np.arange(rows, dtype=np.float32))
    total.fill(5.0)

    @ti.kernel
    def add():
        for i, k, j in ti.ndrange(rows, 2, (1, length)):
            total[i, k] -= weights[i] * a[i, k, j]
            if a[i, k, j] > 3.0:
                count[2 * i + k] += j

    add()
    above = values[:, :, 1:] > 3
    assert np.array_equal(total.to_numpy(), 5 - values[:, :, 1:].sum(axis=2) * np.arange(rows)[:, None])
    assert np.array_equal(count.to_numpy(), (above * np.arange(1, length)).sum(axis=2).ravel())


def test_a_row_that_adds_nothing_reaches_no_element():
    """A condition keeps the index inside of a field: without a term, a sum has no element that it could be added to."""
    ti.init(arch=ti.python, log_level=ti.ERROR)
    a, s = ti.field(ti.i32, (axis_sums.FEWEST_ROWS, 64)), ti.field(ti.i32, axis_sums.FEWEST_ROWS - 1)

    @ti.kernel
    def add(always: ti.template()):
        for i, j in a:
            if ti.static(always):
                s[i // 2] += a[i, j]
            elif i > 0:
                s[i - 1] += a[i, j]

    source = add.source(False, arch=ti.cuda)
    assert "(shared_rows)" in source
    assert "if (s_sum != 0) {\n            s(i - 1) += s_sum;  // not atomic" in source
    assert "if (s_sum" not in add.source(True, arch=ti.cuda)


def test_which_sums_are_rows():
    """Sums along the last axis alone, of many long rows, with nothing else in an iteration."""
    size = axis_sums.FEWEST_ROWS

    def is_shared(rows=size, length=64, case="", **options):
        ti.init(arch=ti.python, log_level=ti.ERROR, **options)
        a, b = ti.field(ti.f32, (rows, length)), ti.field(ti.f32, (length, rows))
        s, t = ti.field(ti.f32, rows), ti.field(ti.f32, length)

        @ti.kernel
        def add():
            for i, j in a:
                if ti.static(case == "columns"):
                    t[j] += a[i, j]
                elif ti.static(case == "transposed"):
                    s[i] += b[j, i]
                elif ti.static(case == "read"):
                    s[i] += a[i, j] * s[i]
                elif ti.static(case == "used"):
                    t[j] = ti.atomic_add(s[i], a[i, j])
                elif ti.static(case == "stored"):
                    s[i] += a[i, j]
                    t[j] = 1.0
                elif ti.static(case == "moved"):
                    s[i + j % 2] += a[i, j]
                else:
                    s[i] += a[i, j]

        return "(shared_rows)" in add.source(arch=ti.cuda)

    assert is_shared()
    assert not is_shared(rows=size - 1) and not is_shared(length=63)
    for case in ("columns", "transposed", "read", "used", "stored", "moved"):
        assert not is_shared(case=case), case
    for options in ({"fast_math": False}, {"passes": "-shared_rows"}, {"deterministic": True}):
        assert not is_shared(**options), options


@pytest.mark.parametrize("length", [0, 37, 256])
def test_parts_of_rows_between_bounds_that_are_read(target, length):
    """Splits of attention: the last part is shorter, or empty. Bounds may be extreme numbers."""
    a, ends, y = ti.field(ti.i32, (5, 256)), ti.field(ti.i32, 5), ti.field(ti.i32, (5, 4))
    values = np.arange(5 * 256, dtype=np.int32).reshape(5, 256) * 37 % 101
    a.from_numpy(values)
    stops = np.array([length, 256, 1, -(2**31), 3], np.int32)
    ends.from_numpy(stops)

    @ti.kernel
    def splits():
        for i, part in y:
            step = (ends[i] + 3) // 4
            s = 1
            for k in range(part * step, ti.min(part * step + step, ends[i])):
                s += a[i, k] * (k + 1)
            y[i, part] = s

    splits()
    for i in range(5):
        step = (int(stops[i]) + 3) // 4
        for part in range(4):
            own = range(part * step, min(part * step + step, int(stops[i])))
            assert y[i, part] == 1 + sum(int(values[i, k]) * (k + 1) for k in own)
    assert "16 threads share a row" in splits.source(arch=ti.cuda)


@pytest.mark.parametrize(("pixels", "is_shared"), [(64, True), (65, False)])
def test_rows_that_many_iterations_have(pixels: int, is_shared: bool) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    lights, counts, image = ti.field(ti.f32, (4, 128)), ti.field(ti.i32, 4), ti.field(ti.f32, pixels)

    @ti.kernel
    def shade():
        for i in image:
            tile = i * 4 // pixels
            s = 0.0
            for k in range(counts[tile]):
                s += lights[tile, k] * i
            image[i] = s

    assert ("(shared_rows)" in shade.source(arch=ti.cuda)) is is_shared
