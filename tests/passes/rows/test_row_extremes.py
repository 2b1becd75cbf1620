"""Pass `shared_rows`: threads that share a row find its greatest or least element; all bits are those of plain loops."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.targets("vulkan", "cuda")  # elsewhere the pass returns at once

REMARK = "(shared_rows)"
EXCHANGE = "the threads of a row compare what they have found (shared_rows)"
Floats, Counts = ti.types.ndarray(ti.f32, 2), ti.types.ndarray(ti.i32, 1)
Line = ti.types.ndarray(ti.f32, 1)

COMPARED = {">": np.greater, "<": np.less, ">=": np.greater_equal, "<=": np.less_equal}


def in_order(row: np.ndarray, value, op: str, at: int) -> tuple[object, int]:
    """Return what Python's loop finds in a row."""
    for j, element in enumerate(row):
        if COMPARED[op](element, value):
            value, at = element, j
    return value, at


def bits(numbers: np.ndarray) -> list[object]:
    """Return numbers as what distinguishes 0.0 from -0.0, and all NaN as one."""
    return [repr(number) for number in numbers.tolist()]


def special_rows(length: int, dtype: type = np.float32) -> np.ndarray:
    """Return rows with equal numbers, NaN, infinities and zeros of both signs at their ends and inside."""
    random = np.random.default_rng(length)
    a = random.integers(0, 3, (12, length)).astype(dtype)
    a[0], a[1, 1:] = 1, 0
    if np.issubdtype(dtype, np.floating):
        a[2:8] -= 1
        a[2, ::3], a[3], a[4, 0] = np.nan, np.nan, np.nan
        a[5] = np.where(random.random(length) < 0.5, 0.0, -0.0)
        a[6], a[7, length // 2], a[7, -1] = -np.inf, np.inf, np.inf
    a[8], a[9] = np.sort(a[8]), np.sort(a[9])[::-1]
    return a


@pytest.mark.sampled(4, each="op")
@pytest.mark.parametrize("op", COMPARED)
@pytest.mark.parametrize("length", [0, 1, 5, 31, 64, 131])
def test_rows_of_ndarrays(target: str, op: str, length: int) -> None:
    """The place decides between equal elements; rows may be shorter than their threads are many."""

    @ti.kernel
    def find(a: Floats, first: Line, value: Line, place: Counts):
        for i in value:
            s, at = first[i], -1
            for j in range(a.shape[1]):
                if ti.static(op == ">"):
                    if a[i, j] > s:
                        s = a[i, j]
                        at = j
                elif ti.static(op == "<"):
                    if s > a[i, j]:
                        s, at = a[i, j], j
                elif ti.static(op == ">="):
                    v = a[i, j]
                    if v >= s:
                        at = j
                        s = v
                else:
                    if a[i, j] <= s:
                        s = a[i, j]
                        at = j
            value[i] = s
            place[i] = at

    a = special_rows(length + 1)[:, :length].copy()
    for start in (0.0, -0.0, 1.0, -9.0, 9.0, np.nan):
        first, value, place = np.full(12, start, np.float32), np.zeros(12, np.float32), np.zeros(12, np.int32)
        find(a, first, value, place)
        expected = [in_order(row, np.float32(start), op, -1) for row in a]
        assert place.tolist() == [at for _, at in expected]
        assert bits(value) == bits(np.array([found for found, _ in expected], np.float32))
    assert find.source(a, first, value, place, arch=ti.cuda).count(EXCHANGE) == 2


@ti.func
def takes(op: ti.template(), a, b):
    return (
        a > b
        if ti.static(op == ">")
        else a < b
        if ti.static(op == "<")
        else a >= b
        if ti.static(op == ">=")
        else a <= b
    )


@pytest.mark.sampled(4, each="op")
@pytest.mark.parametrize("kind", ["i32", "u32", "i64", "u64", "f32", "f64"])
@pytest.mark.parametrize("op", COMPARED)
def test_rows_of_fields(target: str, kind: str, op: str) -> None:
    """The first element is the first value, and the place at first is that of an element."""
    length, dtype = 70, np.dtype(getattr(np, {"i": "int", "u": "uint", "f": "float"}[kind[0]] + kind[1:])).type
    x, value = ti.field(getattr(ti, kind), (12, length)), ti.field(getattr(ti, kind), 12)
    place, column = ti.field(ti.i32, 12), ti.field(ti.i32, 12)

    @ti.kernel
    def find():
        for i in place:
            s = x[i, 0]
            at, k = 0, 3
            for j in range(length):
                if takes(op, x[i, j], s):
                    s = x[i, j]
                    at = j
                    k = 2 * j + i
            value[i], place[i], column[i] = s, at, k

    numbers = special_rows(length, dtype)
    if kind[1:] == "64":
        numbers[10, 40:42] = dtype(2**40)
    x.from_numpy(numbers)
    find()
    expected = [in_order(row, row[0], op, -1) for row in numbers]
    assert place.to_numpy().tolist() == [max(at, 0) for _, at in expected]
    assert column.to_numpy().tolist() == [3 if at < 0 else 2 * at + i for i, (_, at) in enumerate(expected)]
    assert bits(value.to_numpy()) == bits(np.array([found for found, _ in expected], dtype))
    assert EXCHANGE in find.source(arch=ti.cuda)
    assert ("found_at" in find.source(arch=ti.cuda)) == ("=" in op)  # the place at first is an index, too


@pytest.mark.parametrize("start", [-1, 0, 40, 100])
def test_an_element_as_good_as_the_first_value(target: str, start: int) -> None:
    """With `>=` it takes its place, whatever the place was at first; 0.0 takes that of -0.0."""
    x, value, place = ti.field(ti.f32, (64, 64)), ti.field(ti.f32, 64), ti.field(ti.i32, (64, 2))

    @ti.kernel
    def find():
        for i in value:
            s, at, before = -0.0, start, 7
            for j in range(64):
                if x[i, j] >= s:
                    s = x[i, j]
                    at = j
            t = 0.0
            for j in range(64):
                if t <= x[i, j]:
                    t = x[i, j]
                    before = j - 1
            value[i], place[i, 0], place[i, 1] = s, at, before

    x.from_numpy(np.eye(64, dtype=np.float32) - 1)  # row i has a 0.0 at i, all others are less
    find()
    assert place.to_numpy().tolist() == [[i, i - 1] for i in range(64)]
    assert bits(value.to_numpy()) == ["0.0"] * 64
    assert find.source(arch=ti.cuda).count("int found_at") == 1 + (start >= 0)
    x.fill(-1.0)
    find()
    assert place.to_numpy().tolist() == [[start, 7]] * 64
    assert bits(value.to_numpy()) == ["-0.0"] * 64


def test_several_in_one_loop_and_loops_after_it(target: str) -> None:
    """The least, the greatest and a sum; a loop that uses them, and one that goes on with the same variables."""
    x, y, weights = ti.field(ti.f32, (9, 130)), ti.field(ti.f32, (9, 130)), ti.field(ti.f32, 130)
    found = ti.field(ti.i32, (9, 4))

    @ti.kernel
    def find():
        for i in range(9):
            low, high, first, last, count = x[i, 0], -1e9, 0, -1, 0
            for j in range(130):
                v = x[i, j] * weights[j]
                if v < low:
                    low = v
                    first = j
                if v >= high:
                    high = v
                    last = j
                count += j % 3
            for j in range(130):
                y[i, j] = x[i, j] - low + high
            third = 5
            for j in range(130):
                if weights[j] > 0.0 and abs(y[i, j]) > high:
                    high = abs(y[i, j])
                    third = j
            found[i, 0], found[i, 1], found[i, 2], found[i, 3] = first, last, third, count

    random = np.random.default_rng(1)
    numbers, scale = random.integers(-9, 9, (9, 130)), random.integers(-2, 3, 130)
    x.from_numpy(numbers.astype(np.float32))
    weights.from_numpy(scale.astype(np.float32))
    find()
    products = numbers * scale
    low, high = np.minimum(products.min(1), numbers[:, 0]), products.max(1)
    expected = numbers - low[:, None] + high[:, None]
    assert np.array_equal(y.to_numpy(), expected)
    for i in range(9):
        first = int(np.argmin(products[i])) if products[i].min() < numbers[i, 0] else 0
        last = 129 - int(np.argmax(products[i, ::-1]))
        third = in_order(np.where(scale > 0, abs(expected[i]), -1), high[i], ">", 5)[1]
        assert found.to_numpy()[i].tolist() == [first, last, third, sum(j % 3 for j in range(130))]
    source = find.source(arch=ti.cuda)
    assert source.count(EXCHANGE) == 2 and source.count("j += 32") == 3


def test_rows_of_sparse_matrices(target: str) -> None:
    """Rows between bounds that are read, some of which are empty."""

    @ti.kernel
    def find(starts: Counts, values: Line, place: Counts):
        for i in place:
            best, at = 1e9, -1
            for k in range(starts[i], starts[i + 1]):
                if values[k] < best:
                    best = values[k]
                    at = k
            place[i] = at

    random = np.random.default_rng(2)
    starts = np.concatenate([[0], np.cumsum(random.integers(0, 14, 40))]).astype(np.int32)
    values, place = random.integers(0, 4, starts[-1]).astype(np.float32), np.zeros(40, np.int32)
    find(starts, values, place)
    rows = [values[start:end] for start, end in zip(starts, starts[1:], strict=False)]
    assert place.tolist() == [int(s + np.argmin(row)) if row.size else -1 for s, row in zip(starts, rows, strict=False)]
    assert EXCHANGE in find.source(starts, values, place, arch=ti.cuda)


def test_greatest_elements_without_a_place(target: str) -> None:
    """Of zeros the first one is kept, with its sign."""
    x, value = ti.field(ti.f32, (6, 64)), ti.field(ti.f32, 6)

    @ti.kernel
    def find():
        for i in value:
            s = -1.0
            for j in range(64):
                if x[i, j] > s:
                    s = x[i, j]
            value[i] = s

    numbers = np.where(np.random.default_rng(3).random((6, 64)) < 0.5, 0.0, -0.0).astype(np.float32)
    x.from_numpy(numbers)
    find()
    assert bits(value.to_numpy()) == bits(numbers[:, 0])
    assert EXCHANGE in find.source(arch=ti.cuda)


def test_sources() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR, fast_math=False)
    x, best = ti.field(ti.f32, (8192, 1024)), ti.field(ti.i32, 8192)

    @ti.kernel
    def argmax():
        for i in best:
            s = -1e9
            at = 0
            for j in range(1024):
                if x[i, j] > s:
                    s = x[i, j]
                    at = j
            best[i] = at

    source = argmax.source(arch=ti.cuda)
    assert "for (int j = lane; j < 1024; j += 32) {" in source
    assert (
        f"""\
    // {EXCHANGE}
    for (int step = 0; step < 5; step++) {{
        float other_s = __shfl_xor_sync(0xffffffffu, s, 1 << step);
        int other_at = __shfl_xor_sync(0xffffffffu, at, 1 << step);
        if (other_s > s || (other_s == s && other_at < at)) {{
            s = other_s;
            at = other_at;
        }}
    }}
    if (lane == 0) {{"""
        in source
    )
    assert REMARK not in argmax.source(arch=ti.x64)
    ti.init(arch=ti.python, log_level=ti.ERROR, passes="-shared_rows")
    x, best = ti.field(ti.f32, (8192, 1024)), ti.field(ti.i32, 8192)
    assert REMARK not in argmax.source(arch=ti.cuda)


def test_what_is_not_shared() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    x, y = ti.field(ti.f32, (64, 256)), ti.field(ti.f32, (64, 256))
    z, places, best = ti.field(ti.f32, 256), ti.ndarray(ti.i32, 256), ti.field(ti.i32, 64)

    @ti.kernel
    def others(case: ti.template(), known: ti.types.ndarray(ti.i32, 1)):
        for i in best:
            s, at, t, n = -1e9, 0, 0.0, 0
            for j in range(256):
                v = x[i, j]
                if ti.static(case == 1):  # an end by its values
                    if v > 1e9:
                        break
                if ti.static(case == 2):  # the value so far
                    t += s
                if ti.static(case == 3):  # the place so far
                    n += at
                if ti.static(case == 4):  # an element that another thread stores
                    y[i, j] = v
                    v += y[i, 255 - j]
                if ti.static(case == 5):  # what it stores is not what it compares
                    if v * v > s:
                        s = v
                        at = j
                elif ti.static(case == 6):  # the last one
                    if v > t:
                        s = v
                        at = j
                elif ti.static(case == 7):  # a condition behind it
                    if v > s and known[j] > 0:
                        s = v
                        at = j
                elif ti.static(case == 8):  # either of two conditions
                    if v > s or j == 7:
                        s = v
                        at = j
                elif ti.static(case == 9):  # two conditions for two variables
                    if v > s:
                        s = v
                    if v >= s:
                        at = j
                else:
                    if v > s:
                        if ti.static(case == 10):  # the second best
                            t = s
                        s = v
                        at = j
                        if ti.static(case == 11):  # a store
                            y[i, j] = v
                        if ti.static(case == 12):  # how often
                            n += 1
                        if ti.static(case == 13):  # where an index is only inside if the condition holds
                            n = known[j]
                        if ti.static(case == 14):  # likewise
                            t = z[ti.cast(v, ti.i32)]
                        if ti.static(case == 15):  # likewise, a division
                            n = 100 // (j - 7)
                        if ti.static(case == 16):  # the place of the last one
                            n = at
                    elif ti.static(case == 17):
                        t = v
                    if ti.static(case == 18):  # the same variable twice
                        if y[i, j] > s:
                            s = y[i, j]
                            at = j
                    if ti.static(case == 19):  # a loop of its own
                        for k in range(known[0]):
                            t += x[i, k]
                    if ti.static(case == 20):  # of two branches
                        if y[i, j] > t:
                            t = y[i, j]
                            at = j
            best[i] = at + n + ti.cast(s + t, ti.i32)

    assert REMARK in others.source(0, places, arch=ti.cuda)
    for case in range(1, 21):
        assert REMARK not in others.source(case, places, arch=ti.cuda), case


def test_what_is_shared() -> None:
    """Loads that are certainly inside, the same value computed again, and conditions before the comparison."""
    ti.init(arch=ti.python, log_level=ti.ERROR)
    x, y = ti.field(ti.f32, (64, 256)), ti.Vector.field(3, ti.f32, (64, 256))
    names, best = ti.field(ti.i32, 256), ti.field(ti.i32, 64)

    @ti.kernel
    def found(case: ti.template(), n: ti.i32):
        for i in best:
            s, at, count = 1e9, 0, 0
            for j in range(3, 256):
                if ti.static(case == 0):
                    if (y[i, j] - y[i, 0]).norm() < s:
                        s = (y[i, j] - y[i, 0]).norm()
                        at = n
                elif ti.static(case == 1):
                    if j != i and abs(x[i, j]) < s:
                        s = abs(x[i, j])
                        at = names[j]
                elif ti.static(case == 2):
                    d = x[i, j]
                    if j % 2 == 0:
                        d *= 2.0
                    if names[j] > n:
                        count += 1
                        if d < s:
                            s, at = d, j // 4
                elif ti.static(case == 3):
                    if x[i, j] / n < s:
                        at = j + 1
                        s = x[i, j] / n
            best[i] = at + count

    for case in range(4):
        assert EXCHANGE in found.source(case, 5, arch=ti.cuda), case
