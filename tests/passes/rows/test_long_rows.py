"""Pass `shared_rows`: a few long rows have a block each; rows whose length is read, and sums of vectors."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.targets("vulkan", "cuda")  # elsewhere the pass returns at once

Table = ti.types.ndarray(ti.f32, 2)
BLOCK = "threads, a block, share a row"
SHARED = "share a row and read neighbours together (shared_rows)"


@pytest.mark.sampled(4)
@pytest.mark.parametrize("number", ["i32", "f32", "u32", "i64", "f64"])
@pytest.mark.parametrize(("rows", "length"), [(1, 4099), (3, 4200), (5, 9001)])
def test_a_block_a_row(target: str, number: str, rows: int, length: int) -> None:
    """Several loops, of which one stores elements that the next one reads, and values that one thread stores."""
    dtype = getattr(ti, number)
    a, b, found = ti.field(dtype, (rows, length)), ti.field(dtype, (rows, length)), ti.field(dtype, (rows, 4))
    values = np.random.default_rng(length).integers(0, 7, (rows, length))
    a.from_numpy(values.astype(a.to_numpy().dtype))

    @ti.kernel
    def reduce():
        for i in range(rows):
            total, greatest, least = ti.cast(5, dtype), ti.cast(0, dtype), ti.cast(9, dtype)
            for k in range(length):
                total += a[i, k]
                greatest = ti.max(greatest, a[i, k] * ti.cast(k % 5, dtype))
            found[i, 0] = total
            for k in range(3, length):
                b[i, k] = a[i, k] + total
                least = ti.min(least, a[i, k])
            count = ti.cast(0, dtype)
            for k in range(3, length):
                count += b[i, k] - a[i, k] - total + ti.cast(1, dtype)
            found[i, 1] = greatest
            found[i, 2] = least
            found[i, 3] = count

    reduce()
    totals = 5 + values.sum(1)
    expected = np.stack(
        [totals, (values * (np.arange(length) % 5)).max(1), values[:, 3:].min(1), [length - 3] * rows], 1
    )
    assert np.array_equal(found.to_numpy(), expected)
    assert np.array_equal(b.to_numpy()[:, 3:], (values + totals[:, None])[:, 3:])
    assert BLOCK in reduce.source(arch=ti.cuda)


def test_which_rows_have_a_block() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    long, short = ti.field(ti.f32, (1024, 32768)), ti.field(ti.f32, (1024, 1000))
    many, one = ti.field(ti.f32, (8192, 4096)), ti.field(ti.f32, (1, 1 << 20))
    y, total, best = ti.field(ti.f32, 8192), ti.field(ti.f32, ()), ti.field(ti.i32, 8192)

    @ti.kernel
    def sums(x: ti.template()):
        for i in range(x.shape[0]):
            s = 0.0
            for k in range(x.shape[1]):
                s += x[i, k]
            y[i] = s

    @ti.kernel
    def losses():
        for i in range(512):
            s = 0.0
            for k in range(32768):
                s += long[i, k]
            total[None] += s * s

    @ti.kernel
    def places():
        for i in range(512):
            greatest, at = -1.0, 0
            for k in range(32768):
                if long[i, k] > greatest:
                    greatest = long[i, k]
                    at = k
            best[i] = at

    @ti.kernel
    def chosen():
        ti.loop_config(block_dim=64)
        for i in range(512):
            s = 0.0
            for k in range(32768):
                s += long[i, k]
            y[i] = s

    blocks = [sums.source(x, arch=ti.cuda) for x in (long, one)]
    assert all(BLOCK in source for source in blocks) and "BLOCK 512" in blocks[0] and "BLOCK 1024" in blocks[1]
    for source in (sums.source(short, arch=ti.cuda), sums.source(many, arch=ti.cuda)):
        assert BLOCK not in source and SHARED in source
    of_total = losses.source(arch=ti.cuda)
    assert BLOCK in of_total and "s_of_rows" in of_total  # what a task behind adds up
    for kernel in (places, chosen):
        assert BLOCK not in kernel.source(arch=ti.cuda) and SHARED in kernel.source(arch=ti.cuda)


@pytest.mark.parametrize("width", [16, 37, 256])
def test_rows_whose_length_is_read(target: str, width: int) -> None:
    n = 41
    a, b = ti.field(ti.i32, (n, width)), ti.field(ti.i32, (n, width))
    length, found = ti.field(ti.i32, n), ti.field(ti.i32, (n, 2))
    random = np.random.default_rng(width)
    values, lengths = random.integers(-9, 9, (n, width)), random.integers(0, width + 1, n)
    lengths[:3] = 0, width, -2
    a.from_numpy(values.astype(np.int32))
    length.from_numpy(lengths.astype(np.int32))

    @ti.kernel
    def rows():
        for i in range(n):
            greatest, total = -100, i
            for k in range(length[i]):
                greatest = ti.max(greatest, a[i, k])
            for k in range(length[i]):
                total += a[i, k] * greatest
                b[i, k] = a[i, k] - greatest
            found[i, 0] = greatest
            found[i, 1] = total

    rows()
    for i in range(n):
        row = values[i, : max(lengths[i], 0)]
        greatest = max([-100, *row])
        assert found[i, 0] == greatest and found[i, 1] == i + (row * greatest).sum()
        assert np.array_equal(b.to_numpy()[i, : len(row)], row - greatest) and not b.to_numpy()[i, len(row) :].any()
    assert (SHARED in rows.source(arch=ti.cuda)) == (width > 31)


@pytest.mark.parametrize("rows", [1, 33])
def test_sums_of_vectors(target: str, rows: int) -> None:
    """The product of a sparse matrix of 3 x 3 blocks with a vector, added to other numbers."""
    random = np.random.default_rng(rows)
    starts = np.concatenate([[0], np.cumsum(random.integers(0, 9, rows))]).astype(np.int32)
    entries = max(int(starts[-1]), 1)
    blocks, x = random.integers(-5, 5, (entries, 3, 3)), random.integers(-5, 5, (rows, 3))
    columns = random.integers(0, rows, entries).astype(np.int32)
    first, column = ti.field(ti.i32, rows + 1), ti.field(ti.i32, entries)
    a, v = ti.Matrix.field(3, 3, ti.f32, entries), ti.Vector.field(3, ti.f32, rows)
    y = ti.Vector.field(3, ti.f32, rows)
    for field, numbers in ((first, starts), (column, columns), (a, blocks), (v, x)):
        field.from_numpy(numbers.astype(field.to_numpy().dtype))

    @ti.kernel
    def product():
        for i in y:
            s = ti.Vector([1.0, 2.0, 3.0])
            for k in range(first[i], first[i + 1]):
                s += a[k] @ v[column[k]]
            y[i] = s

    product()
    for i in range(rows):
        found = [blocks[k] @ x[columns[k]] for k in range(starts[i], starts[i + 1])]
        assert np.array_equal(y[i].to_numpy(), np.sum([[1, 2, 3], *found], 0))
    source = product.source(arch=ti.cuda)
    assert SHARED in source and "s.z += __shfl_xor_sync(" in source


def test_means_of_neighbours_have_a_thread_each() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    first, near = ti.field(ti.i32, 65), ti.field(ti.i32, 400)
    x, y = ti.Vector.field(3, ti.f32, 64), ti.Vector.field(3, ti.f32, 64)

    @ti.kernel
    def smooth():
        for i in y:
            s = ti.Vector([0.0, 0.0, 0.0])
            for k in range(first[i], first[i + 1]):
                s += x[near[k]]
            y[i] = s

    assert "(shared_rows)" not in smooth.source(arch=ti.cuda)


@pytest.mark.parametrize(("rows", "length"), [(0, 5000), (1, 4096), (2, 4095), (3, 5001), (5, 130), (9, 7)])
def test_rows_whose_length_a_launch_knows(target: str, rows: int, length: int) -> None:
    """Three tasks: a block, a warp or a few threads for a row; overlapping arrays have a thread a row."""

    @ti.kernel
    def normalize(x: Table, y: Table):
        for i in range(x.shape[0]):
            total, greatest = 0.0, -1.0
            for k in range(x.shape[1]):
                total += x[i, k]
                greatest = ti.max(greatest, x[i, k])
            for k in range(x.shape[1]):
                y[i, k] = x[i, k] * greatest - total

    values = np.random.default_rng(rows).integers(0, 4, (rows, length)).astype(np.float32)
    x, y = ti.ndarray(ti.f32, (rows, length)), ti.ndarray(ti.f32, (rows, length))
    x.from_numpy(values)
    expected = values * values.max(1, initial=-1.0, keepdims=True) - values.sum(1, keepdims=True)
    normalize(x, y)
    assert np.array_equal(y.to_numpy(), expected)
    normalize(x, x)
    assert np.array_equal(x.to_numpy(), expected)
    source = normalize.source(x, y, arch=ti.cuda)
    assert BLOCK in source and "for up to 8,191 rows of 4,096 and more if y and x do not overlap" in source
    assert "for other rows of 128 and more if y and x do not overlap" in source


def test_what_one_thread_does_better() -> None:
    """Much that follows the sums, and elements far apart for the threads of a row that are one for those of a warp."""
    ti.init(arch=ti.python, log_level=ti.ERROR)
    a, w, few = ti.field(ti.f32, (64, 128)), ti.field(ti.f32, (128, 64)), ti.field(ti.f32, (128, 8))
    y, best = ti.field(ti.f32, 64), ti.field(ti.i32, 64)

    @ti.func
    def root(s, steps: ti.template()):
        x = s
        for _ in range(steps):
            x -= (x * x * x - s) / (3.0 * x * x + 1.0)
        return x

    @ti.kernel
    def roots(steps: ti.template()):
        for i in y:
            s = 0.0
            for k in range(128):
                s += a[i, k]
            y[i] = root(s, steps)

    @ti.kernel
    def experts(w: ti.template()):
        for i in best:
            most, at = -1e9, 0
            for e in range(w.shape[1]):
                s = 0.0
                for k in range(128):
                    s += a[i, k] * w[k, e]
                if s > most:
                    most = s
                    at = e
            best[i] = at

    assert SHARED in roots.source(3, arch=ti.cuda) and SHARED not in roots.source(60, arch=ti.cuda)
    assert SHARED in experts.source(few, arch=ti.cuda) and SHARED not in experts.source(w, arch=ti.cuda)


@pytest.mark.targets("cuda", "vulkan")
def test_as_many_rows_as_an_array_has(target: str) -> None:
    """The number of rows is an argument; that of the array says that they are few."""
    n, most = 5000, 9
    v, w, result = ti.field(ti.f32, (most, n)), ti.field(ti.f32, n), ti.field(ti.f32, most)

    @ti.kernel
    def project(first: ti.i32, end: ti.i32):
        for j in range(first, end):
            s = 0.0
            for i in range(n):
                s += w[i] * v[j, i]
            result[j] = s

    random = np.random.default_rng(1)
    v.from_numpy(random.random((most, n), dtype=np.float32))
    w.from_numpy(random.random(n, dtype=np.float32))
    for first, end in ((0, 0), (3, 2), (2, 3), (0, 9), (1, 8)):
        result.fill(-1)
        project(first, end)
        true = v.to_numpy().astype(np.float64) @ w.to_numpy()
        expected = np.where((np.arange(most) >= first) & (np.arange(most) < end), true, -1)
        np.testing.assert_allclose(result.to_numpy(), expected, rtol=1e-5)
    assert "a block, share a row" in project.source(0, 9, arch=ti.cuda)
