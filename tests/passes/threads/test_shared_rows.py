"""Pass `shared_rows`: four threads share a loop over a row of a sparse matrix; results are those of plain loops."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

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
    assert "(shared_rows)" in shared and "k < starts_i; k += 4" in shared and "__shfl_xor_sync(lanes, s, 2)" in shared
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
            y[i] = s + t

    given = ti.ndarray(ti.i32, 4), ti.ndarray(ti.f32, 4), ti.ndarray(ti.f32, 4)
    for case in range(8):
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
