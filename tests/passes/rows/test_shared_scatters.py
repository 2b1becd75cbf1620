"""Pass `shared_rows`: rows that change elements in any order, and rows of one long array; results are those of cpu."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.targets("vulkan", "cuda")  # elsewhere the pass returns at once

Numbers, Plane, Floats = ti.types.ndarray(ti.i32, 1), ti.types.ndarray(ti.i32, 2), ti.types.ndarray(ti.f32, 1)
REMARK = "(shared_rows)"


@ti.kernel
def count(x: Numbers, counts: Plane, shift: ti.i32, n: ti.i32):
    for b in range(n // 64):
        for i in range(b * 64, (b + 1) * 64):
            counts[(x[i] >> shift) & 15, b] += 1


@pytest.mark.parametrize("n", [0, 1, 63, 64, 4095, 4096])
def test_counts_of_digits(target: str, n: int) -> None:
    x = np.random.default_rng(n).integers(-(2**31), 2**31, max(n, 1), np.int32)
    counts = np.full((16, max(n // 64, 1)), 7, np.int32)
    count(x, counts, 28, n)
    expected = np.full_like(counts, 7)
    for i in range(n // 64 * 64):
        expected[(x[i] >> 28) & 15, i // 64] += 1
    np.testing.assert_array_equal(counts, expected)


@ti.kernel
def relax(starts: Numbers, nodes: Numbers, lengths: Numbers, known: Numbers, nearest: Numbers, degrees: Numbers):
    for v in range(starts.shape[0] - 1):
        total = v
        for e in range(starts[v], starts[v + 1]):
            ti.atomic_min(nearest[nodes[e]], known[v] + lengths[e])
            degrees[nodes[e]] -= 1
            total += lengths[e]
        degrees[v] -= total


@pytest.mark.sampled(2)
@pytest.mark.parametrize("rows", [0, 1, 3, 31, 32, 33, 131])
@pytest.mark.parametrize("in_place", [False, True])
def test_neighbours_in_a_graph(target: str, rows: int, in_place: bool) -> None:
    """Where arrays overlap, each row has one thread: here all iterations read and change their own element alone."""
    random = np.random.default_rng(rows)
    starts = np.concatenate([[0], np.cumsum(random.integers(0, 9, rows))]).astype(np.int32)
    rows_of_entries = np.repeat(np.arange(rows), np.diff(starts))
    entries = max(int(starts[-1]), 1)
    nodes = random.integers(0, max(rows, 1), entries).astype(np.int32)
    if in_place:
        nodes[: rows_of_entries.size] = rows_of_entries
    lengths = random.integers(-20, 20, entries).astype(np.int32)
    known, nearest = random.integers(-5, 5, (2, max(rows, 1))).astype(np.int32)
    nearest = known if in_place else nearest
    degrees = np.zeros(max(rows, 1), np.int32)
    least, left = nearest.copy(), degrees.copy()
    read = least if in_place else known.copy()
    for v in range(rows):
        for e in range(starts[v], starts[v + 1]):
            least[nodes[e]] = min(least[nodes[e]], read[v] + lengths[e])
            left[nodes[e]] -= 1
        left[v] -= v + lengths[starts[v] : starts[v + 1]].sum()
    relax(starts, nodes, lengths, known, nearest, degrees)
    np.testing.assert_array_equal(nearest, least)
    np.testing.assert_array_equal(degrees, left)


@pytest.mark.sampled(5, each="op")
@pytest.mark.parametrize("length", [15, 16, 33, 128, 300])
@pytest.mark.parametrize("op", ["add", "sub", "min", "max", "and", "or", "xor"])
def test_all_operations_on_elements_of_the_row(target: str, op: str, length: int) -> None:
    a, h, y = ti.field(ti.i32, (5, length)), ti.field(ti.i32, (5, 8)), ti.field(ti.i32, 5)
    change = getattr(ti, f"atomic_{op}")
    values = np.random.default_rng(length).integers(-(2**31), 2**31, (5, length), np.int32)
    a.from_numpy(values)
    h.fill(77)

    @ti.kernel
    def histogram():
        for i in range(5):
            negative = 0
            for j in range(length):
                if a[i, j] < 0:
                    negative += 1
                    change(h[i, a[i, j] & 7], a[i, j] + j)
            y[i] = negative

    histogram()
    expected = np.full((5, 8), 77, np.int32)
    combine = {"sub": np.subtract, "min": np.minimum, "max": np.maximum}.get(op)
    combine = combine or {"add": np.add, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}[op]
    for i, j in zip(*np.nonzero(values < 0), strict=True):
        expected[i, values[i, j] & 7] = combine(expected[i, values[i, j] & 7], values[i, j] + np.int32(j))
    np.testing.assert_array_equal(h.to_numpy(), expected)
    np.testing.assert_array_equal(y.to_numpy(), (values < 0).sum(1))


@pytest.mark.parametrize("length", [1, 31, 64, 200])
def test_sums_of_floats_and_vectors(target: str, length: int) -> None:
    a, h, v = ti.field(ti.i32, (3, length)), ti.field(ti.f32, (3, 8)), ti.Vector.field(3, ti.f32, 8)
    values = np.random.default_rng(length).integers(0, 99, (3, length)).astype(np.int32)
    a.from_numpy(values)

    @ti.kernel
    def weigh():
        for i in range(3):
            for j in range(length):
                h[i, a[i, j] & 7] += a[i, j] * 0.5
                v[a[i, j] & 7] -= ti.Vector([1.0, a[i, j], j])

    weigh()
    weights, vectors = np.zeros((3, 8), np.float32), np.zeros((8, 3), np.float32)
    for i in range(3):
        np.add.at(weights[i], values[i] & 7, values[i] * 0.5)
        np.subtract.at(vectors, values[i] & 7, np.stack([np.ones(length), values[i], np.arange(length)], 1))
    np.testing.assert_array_equal(h.to_numpy(), weights)
    np.testing.assert_array_equal(v.to_numpy(), vectors)


@ti.kernel
def sums(x: Numbers, y: Numbers, n: ti.i32, width: ti.i32):
    for b in range(y.shape[0] // 4):
        whole, cut, other, flat = b, 0, 0, 0
        for i in range(b * 37 - 1, b * 37 + 36):
            if i >= 0:
                whole += x[i]
        for i in range(b * 64, ti.min((b + 1) * 64, n)):
            cut += x[i] * i
        for i in range(b * width, (b + 1) * width):
            other += x[i]
        for k in range(48):
            flat += x[b * 48 + k]
        y[b * 4], y[b * 4 + 1], y[b * 4 + 2], y[b * 4 + 3] = whole, cut, other, flat


@pytest.mark.sampled(2)
@pytest.mark.parametrize("blocks", [0, 1, 3, 33])
@pytest.mark.parametrize("width", [0, 1, 3, 40, 64])
def test_sums_of_parts(target: str, blocks: int, width: int) -> None:
    x = np.random.default_rng(blocks).integers(-9, 9, max(blocks, 1) * 64).astype(np.int32)
    n, y = max(blocks * 64 - 70, 0), np.zeros(blocks * 4, np.int32)
    sums(x, y, n, width)
    for b, found in enumerate(y.reshape(-1, 4)):
        end, i = min((b + 1) * 64, n), np.arange(x.size)
        cut = (x * i)[b * 64 : end].sum() if end > b * 64 else 0
        whole = b + x[max(b * 37 - 1, 0) : b * 37 + 36].sum()
        assert found.tolist() == [whole, cut, x[b * width : (b + 1) * width].sum(), x[b * 48 : b * 48 + 48].sum()]


def test_rows_beyond_the_greatest_index_are_empty(target: str) -> None:
    """The end of a row wraps, so that it is less than the start: such a row has no iterations."""

    @ti.kernel
    def ends(least: ti.template(), x: Numbers, y: Numbers):
        for b in y:
            s = 0
            for i in range((b + least) * 64, (b + least + 1) * 64):
                s += 1
                if i < 0:
                    s += x[i]
            y[b] = s

    y = np.full(2, 9, np.int32)
    ends(2**31 // 64 - 2, np.zeros(1, np.int32), y)
    assert y.tolist() == [64, 0] and REMARK in ends.source(2**25 - 2, *given(Numbers, Numbers), arch=ti.cuda)


def given(*arrays: object) -> list[object]:
    return [ti.ndarray(ti.f32 if a is Floats else ti.i32, 4 if a is not Plane else (4, 4)) for a in arrays]


def test_sources() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    source = count.source(*given(Numbers, Plane), 3, 5, arch=ti.cuda)
    shared, alone = source.split("task 1 of 2")
    assert "for (int offset = lane; offset < 64; offset += 16) {\n        int i = b * 64 + offset;" in shared
    assert "atomicAdd(&counts((x(i) >> (args.shift & 31)) & 15, b), 1);" in shared and "not atomic" not in shared
    assert "if counts and x do not overlap" in shared and "if counts and x overlap" in alone
    assert "counts((x(i) >> (args.shift & 31)) & 15, b) += 1;" in alone and "(demote_atomics)" in alone
    source = relax.source(*given(*[Numbers] * 6), arch=ti.cuda)
    assert "e += 4" in source and source.index("if (lane == 0) {") < source.index("atomicSub(&degrees(v), total)")
    for options in ({"passes": "-shared_rows"}, {"deterministic": True}):
        ti.init(arch=ti.python, log_level=ti.ERROR, **options)
        assert REMARK not in count.source(*given(Numbers, Plane), 3, 5, arch=ti.cuda)


def test_what_is_not_shared() -> None:
    """The order of changes matters, all threads would change one element, or the target has no such operation."""
    ti.init(arch=ti.python, log_level=ti.ERROR)
    a, h, g, f = (
        ti.field(ti.i32, (64, 64)),
        ti.field(ti.i32, (64, 8)),
        ti.field(ti.i32, 4096),
        ti.field(ti.f32, (64, 8)),
    )

    @ti.real_func
    def first_of(i: ti.i32) -> ti.i32:
        return h[i, 0]

    @ti.kernel
    def others(case: ti.template()):
        for i in range(64):
            s = 0
            if ti.static(case == "read before"):
                s += h[i, 3]
            for j in range(64):
                if ti.static(case == "used"):
                    g[a[i, j]] = ti.atomic_add(h[i, a[i, j]], 1)
                elif ti.static(case == "another operation"):
                    ti.atomic_max(h[i, a[i, j]], j)
                elif ti.static(case == "one element"):
                    ti.atomic_add(g[i // 2], a[i, j])
                elif ti.static(case == "product"):
                    h[i, a[i, j]] *= a[i, j]
                elif ti.static(case == "stored"):
                    h[i, a[i, j]] = 1
                elif ti.static(case == "twice"):
                    h[i, a[i, j]] = 2 * (h[i, a[i, j]] + 1)
                elif ti.static(case == "least float"):
                    ti.atomic_min(f[i, a[i, j]], 1.0)
                elif ti.static(case == "float"):
                    f[i, a[i, j]] += 1.0
                elif ti.static(case == "read"):
                    s += h[i, j % 8]
                s += a[i, j]
                h[i, a[i, j] & 7] += 1
            if ti.static(case == "read between"):
                s += h[i, 3]
            for j in range(64):
                s += a[i, j]
                if ti.static(case == "read in the next row"):
                    s += h[i, j % 8]
            if ti.static(case == "read behind"):
                s += h[i, 3]
            if ti.static(case == "changed behind"):
                h[i, 3] *= 2
            if ti.static(case == "called"):
                s += first_of(i)
            g[i] = s

    def is_shared(case: str) -> bool:
        return REMARK in others.source(case, arch=ti.cuda)

    assert is_shared("") and is_shared("float") and is_shared("one element")  # of the last, the sum (joined_sums)
    cases = ("used", "another operation", "product", "stored", "twice", "least float", "read")
    for case in (*cases, *(f"read {place}" for place in ("before", "between", "in the next row", "behind"))):
        assert not is_shared(case), case
    assert not is_shared("changed behind") and not is_shared("called")
    ti.init(arch=ti.python, log_level=ti.ERROR, fast_math=False, passes="-joined_sums")
    assert not is_shared("float") and not is_shared("one element")


def test_which_parts_are_rows() -> None:
    """Rows that start 8 elements apart and more; others are read by neighbouring threads together already."""
    ti.init(arch=ti.python, log_level=ti.ERROR)

    @ti.kernel
    def part(case: ti.template(), x: Numbers, y: Numbers, n: ti.i32):
        for b in y:
            s = 0
            if ti.static(case == "moving"):
                for i in range(b, b + 64):
                    s += x[i]
            elif ti.static(case == "near"):
                for i in range(b * 7, b * 7 + 64):
                    s += x[i]
            elif ti.static(case == "short"):
                for i in range(b * 15, (b + 1) * 15):
                    s += x[i]
            elif ti.static(case == "the same for neighbours"):
                for i in range(b // 64 * 64, b // 64 * 64 + 64):
                    s += x[i]
            elif ti.static(case == "to the end"):
                for i in range(b * 64, n):
                    s += x[i]
            elif ti.static(case == "columns"):
                for k in range(64):
                    s += x[k * n + b]
            elif ti.static(case == "16"):
                for i in range(b * 16, (b + 1) * 16):
                    s += x[i]
            elif ti.static(case == "shifted"):
                for i in range((b << 6) + n, (b << 6) + n + 64):
                    s += x[i]
            else:
                for k in range(64):
                    s += x[n + b * 64 + k]
            y[b] = s

    def source(case: str) -> str:
        return part.source(case, *given(Numbers, Numbers), 5, arch=ti.cuda)

    for case in ("moving", "near", "short", "the same for neighbours", "to the end", "columns"):
        assert REMARK not in source(case), case
    assert "offset < 16; offset += 4" in source("16") and "offset += 16" in source("shifted")
    assert "k += 16" in source("flat")
