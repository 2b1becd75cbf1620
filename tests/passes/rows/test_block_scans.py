"""Pass `block_scans`: serial loops with sums of the iterations before, run by a block of threads; those in rows, too."""

from __future__ import annotations

import re

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.targets("vulkan", "cuda")  # elsewhere the pass returns at once

I1 = ti.types.ndarray(ti.i32, 1)
A2 = ti.types.ndarray(ti.f32, 2)
NOTE = "1,024 iterations at a time, with the sums of those before (block_scans)"


def cuda(kernel, *args):
    return kernel.source(*args, arch=ti.cuda)


@pytest.mark.parametrize("n", [256, 1023, 1024, 1025, 3000])
def test_starts_of_cells(target: str, n: int) -> None:
    """By elements that the iteration before has stored, with a start that one thread stores."""
    count, start, fill = ti.field(ti.i32, n), ti.field(ti.i32, n + 1), ti.field(ti.i32, n)
    counts = np.arange(n) * 7 % 11 - 3
    count.from_numpy(counts.astype(np.int32))

    @ti.kernel
    def scan():
        start[0] = 5
        ti.loop_config(serialize=True)
        for c in range(n):
            start[c + 1] = start[c] + count[c]
            fill[c] = start[c]

    scan()
    expected = 5 + np.concatenate([[0], np.cumsum(counts)])
    assert np.array_equal(start.to_numpy(), expected) and np.array_equal(fill.to_numpy(), expected[:-1])
    assert NOTE in cuda(scan)
    is_one = n == 1024  # an iteration of each thread needs no loop, no sum of all, and no array that is used again
    assert ("c_first" in cuda(scan), cuda(scan).count("__syncthreads")) == (not is_one, 2 if is_one else 3)
    assert "int thread = threadIdx.x;" in cuda(scan)


def test_sums_in_place_in_a_loop_of_one_iteration(target: str) -> None:
    """`for _ in range(1)` makes a loop serial, too, and its additions need not be atomic."""
    start = ti.field(ti.i32, 2501)
    values = (np.arange(2501) * 7 % 11 - 3).astype(np.int32)
    start.from_numpy(values)

    @ti.kernel
    def scan():
        for _ in range(1):
            for b in range(2500):
                start[b + 1] += start[b]

    scan()
    assert np.array_equal(start.to_numpy(), np.cumsum(values))
    assert NOTE in cuda(scan)


@pytest.mark.parametrize("is_in_branch", [False, True])
@pytest.mark.parametrize("is_sum", [False, True])
def test_terms_that_are_the_index(target: str, is_in_branch: bool, is_sum: bool) -> None:
    """What is added is the index of the loop itself, which the loop over groups of iterations has not."""
    values = (np.arange(700) * 7 % 5).astype(np.int32)
    a, last = ti.field(ti.i32, 700), ti.field(ti.i32, 700)
    a.from_numpy(values)

    @ti.kernel
    def scan() -> ti.i32:
        found = 0
        ti.loop_config(serialize=True)
        for k in range(3, 700):
            if ti.static(is_in_branch):
                if a[k] == 0:
                    found = found + k if ti.static(is_sum) else ti.max(found, k)
            else:
                found = found + k if ti.static(is_sum) else ti.max(found, k)
            last[k] = found
        return found

    terms = np.where((values == 0) | (not is_in_branch), np.arange(700), 0)
    terms[:3] = 0
    expected = np.cumsum(terms) if is_sum else np.maximum.accumulate(terms)
    assert scan() == expected[-1] and np.array_equal(last.to_numpy(), expected)
    assert NOTE in cuda(scan)


def test_a_function_reads_what_one_thread_stores() -> None:
    """All threads have called it before the first one stores."""
    ti.init(arch=ti.cpu, log_level=ti.ERROR)
    a, b, c = ti.field(ti.i32, 64), ti.field(ti.i32, 300), ti.field(ti.i32, 300)

    @ti.real_func
    def first() -> ti.i32:
        s = 0
        for j in range(64):
            s += a[j] * j
        return s

    @ti.kernel
    def scan():
        s = first()
        a[3] = s
        ti.loop_config(serialize=True)
        for i in range(300):
            c[i] = s
            s += b[i]

    source = cuda(scan)
    assert NOTE in source
    assert re.search(r"first\(args\);.*?__syncthreads\(\);\s+if \(thread == 0\) \{\s+a\(3\)", source, re.DOTALL)


@pytest.mark.parametrize("n", [0, 1, 255, 1024, 2500])
def test_what_is_left_over(target: str, n: int) -> None:
    """Elements that meet a condition, in order; the launch knows how many there are, and a second sum."""
    size = 2500
    x, out, total = ti.field(ti.f32, size), ti.field(ti.i32, size), ti.field(ti.i64, ())
    values = (np.arange(size) * 13 % 17 - 8).astype(np.float32)
    x.from_numpy(values)

    @ti.kernel
    def compact(n: ti.i32) -> ti.i32:
        m, s = 0, ti.i64(1)
        ti.loop_config(serialize=True)
        for i in range(n):
            if x[i] > 0:
                out[m] = i
                m += 1
            s += ti.cast(x[i], ti.i64)
        total[None] = s
        return m

    where = np.flatnonzero(values[:n] > 0)
    assert compact(n) == len(where) and total[None] == 1 + int(values[:n].sum())
    assert np.array_equal(out.to_numpy()[: len(where)], where)
    source = cuda(compact, n)
    assert NOTE in source and "m_sums" in source and "s_sums" in source


def test_greatest_so_far_and_rows(target: str) -> None:
    """Maxima; an iteration may store a row of its own, in a loop; the sum is used before and after it changes."""
    n = 700
    x, high, rows = ti.field(ti.i32, n), ti.field(ti.i32, n), ti.field(ti.i32, (n, 3))
    values = (np.arange(n) * 37 % 101).astype(np.int32)
    x.from_numpy(values)

    @ti.kernel
    def scan():
        s, top = 0, -1
        ti.loop_config(serialize=True)
        for i in range(n):
            top = ti.max(top, x[i])
            high[i] = top
            old = s
            s = x[i] + s
            for k in range(3):
                rows[i, k] = s * k - old

    scan()
    sums = np.cumsum(values)
    assert np.array_equal(high.to_numpy(), np.maximum.accumulate(values))
    assert np.array_equal(rows.to_numpy(), sums[:, None] * np.arange(3) - (sums - values)[:, None])
    assert NOTE in cuda(scan)


def test_ndarrays(target: str) -> None:
    """Of one that is stored, whose length the launch knows; of two that may be one, the loop stays."""
    one = ti.field(ti.i32, 2000)
    one.fill(3)

    @ti.kernel
    def scan(out: I1):
        s = 0
        ti.loop_config(serialize=True)
        for i in range(out.shape[0]):
            out[i] = s
            s += one[i]

    @ti.kernel
    def scan_of_two(a: I1, out: I1):
        s = 0
        ti.loop_config(serialize=True)
        for i in range(out.shape[0]):
            out[i] = s
            s += a[i]

    for n in (0, 1, 1500):
        out = ti.ndarray(ti.i32, max(n, 1))
        scan(out)
        assert np.array_equal(out.to_numpy(), np.arange(max(n, 1)) * 3)
    out.fill(1)
    scan_of_two(out, out)
    assert np.array_equal(out.to_numpy()[:4], [0, 0, 0, 0])
    assert NOTE in cuda(scan, out) and NOTE not in cuda(scan_of_two, out, out)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", ["i32", "f32", "i64"])
@pytest.mark.parametrize("n", [1, 256, 1025, 2500])
def test_sums_in_place(target: str, n: int, dtype: str) -> None:
    """Each iteration loads what it stores: inclusive, from behind, exclusive, and carried through a variable."""
    values = np.arange(n) * 7 % 11 - 3
    expected = np.cumsum(values)

    @ti.kernel
    def scan(n: ti.i32, a: ti.template(), b: ti.template(), c: ti.template(), d: ti.template(), e: ti.template()):
        ti.loop_config(serialize=True)
        for i in range(1, n):
            a[i] += a[i - 1]
        ti.loop_config(serialize=True)
        for i in range(n - 1):
            b[n - 2 - i] += b[n - 1 - i]
        s = ti.cast(0, a.dtype)
        ti.loop_config(serialize=True)
        for i in range(n):
            t = c[i]
            c[i] = s
            s += t
        z = ti.cast(0, a.dtype)
        ti.loop_config(serialize=True)
        for i in range(n):
            d[i] = d[i] + z
            z = d[i]
        e[0] = s - z

    fields = [ti.field(getattr(ti, dtype), n) for _ in range(5)]
    for field in fields:
        field.from_numpy(values.astype(field.to_numpy().dtype))
    scan(n, *fields)
    a, b, c, d, e = (field.to_numpy() for field in fields)
    assert np.array_equal(a, expected) and np.array_equal(d, expected) and e[0] == 0
    assert np.array_equal(b, np.cumsum(values[::-1])[::-1]) and np.array_equal(c, expected - values)
    assert cuda(scan, n, *fields).count(NOTE) == 4


def test_a_short_loop_before_a_long_one(target: str) -> None:
    """Thread 0 alone stores what is short, so that no other one knows the sum behind it."""
    x, out = ti.field(ti.i32, 2000), ti.field(ti.i32, 2000)
    x.fill(2)

    @ti.kernel
    def scan():
        s = 1
        ti.loop_config(serialize=True)
        for i in range(100):
            s += x[i]
            out[i] = s
        ti.loop_config(serialize=True)
        for i in range(100, 2000):
            s += x[i]
            out[i] = s

    scan()
    assert np.array_equal(out.to_numpy(), 3 + 2 * np.arange(2000)) and NOTE not in cuda(scan)


def test_what_stays() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)

    def has_scan(case: str = "", n: int = 1024, dtype=ti.i32, **options) -> bool:
        ti.init(arch=ti.python, log_level=ti.ERROR, **options)
        x, a, k = ti.field(dtype, n), ti.field(dtype, n + 1), ti.field(ti.i32, n)

        @ti.kernel
        def scan():
            s = ti.cast(0, dtype)
            ti.loop_config(serialize=True)
            for i in range(n):
                if ti.static(case == "what the next one stores"):
                    s += a[i + 1]
                elif ti.static(case == "stored before"):
                    a[i] = s
                    if k[i] > 2:
                        a[i] = 0
                    s += a[i]
                elif ti.static(case == "a product"):
                    s = s * x[i]
                elif ti.static(case == "itself"):
                    s += s % 3
                else:
                    s += x[i]
                if ti.static(case == "left"):
                    if k[i] == 5:
                        break
                if ti.static(case == "scattered"):
                    a[k[i]] = s
                elif ti.static(case == "half"):
                    a[i // 2] = s
                elif ti.static(case == "twice"):
                    a[i] = s
                    a[i + 1] = s
                elif ti.static(case == "printed"):
                    print(s)
                else:
                    a[i] = s

        return NOTE in cuda(scan)

    assert has_scan() and has_scan(dtype=ti.f32) and not has_scan(n=200)
    cases = (
        "what the next one stores",
        "stored before",
        "a product",
        "itself",
        "left",
        "scattered",
        "half",
        "twice",
        "printed",
    )
    assert [case for case in cases if has_scan(case)] == []
    assert not has_scan(dtype=ti.f32, fast_math=False)
    for options in ({"deterministic": True}, {"passes": "-block_scans"}):
        assert not has_scan(**options), options


# --- rows -------------------------------------------------------------------------------------------------------------


def iterations(kernel, *args) -> list[str]:
    """Return how many iterations blocks have at a time in rows."""
    return re.findall(r"// ([0-9,]+) iterations at a time, with the sums of those before", cuda(kernel, *args))


@pytest.mark.parametrize("n", [128, 255, 1030])
def test_rows_in_place(target: str, n: int) -> None:
    """Counts of digits: exclusive, with the sum of each row behind it, which the loop behind it adds up."""
    count, total = ti.field(ti.i32, (16, n)), ti.field(ti.i32, 16)
    values = (np.arange(16 * n).reshape(16, n) * 7 % 11).astype(np.int32)
    count.from_numpy(values)

    @ti.kernel
    def scan():
        for d in range(16):
            s = d
            for c in range(n):
                v = count[d, c]
                count[d, c] = s
                s += v
            total[d] = s
            count[d, 0] -= 1

    scan()
    starts = np.arange(16)[:, None]
    expected = starts + np.cumsum(values, 1) - values
    expected[:, 0] -= 1
    assert np.array_equal(count.to_numpy(), expected)
    assert np.array_equal(total.to_numpy(), values.sum(1) + np.arange(16))
    assert iterations(scan) == [{128: "128", 255: "256", 1030: "1,024"}[n]]


@pytest.mark.parametrize("shape", [(3, 128), (2, 1025), (3, 5), (0, 300)])
def test_rows_of_ndarrays(target: str, shape: tuple[int, int]) -> None:
    """A launch knows how long they are, and whether they overlap."""

    @ti.kernel
    def scan(a: A2, out: A2):
        for r in range(a.shape[0]):
            s = 0.0
            for k in range(1, a.shape[1]):
                s += a[r, k - 1]
                out[r, k] = s

    a = (np.arange(shape[0] * shape[1]) % 7).reshape(shape).astype(np.float32)
    out = np.zeros_like(a)
    if a.size:
        scan(a, out)
    assert np.array_equal(out[:, 1:], np.cumsum(a, 1)[:, :-1])
    source = cuda(scan, a, out)
    assert "for rows of 129 and more if out and a do not overlap" in source and iterations(scan, a, out) == ["256"]
    both = np.ones((2, 300), np.float32)
    scan(both, both)  # what an iteration stores the next one loads
    assert both[0, 4] == 8


def test_rows_of_one_array_and_few_columns(target: str) -> None:
    """Rows are parts of a long array; columns are shared if there are few."""
    n = 1100
    flat, column = ti.field(ti.i64, 5 * n), ti.field(ti.i32, (n, 5))
    values = np.arange(5 * n) % 13 - 4
    flat.from_numpy(values)
    column.from_numpy(values.reshape(5, n).T.astype(np.int32))

    @ti.kernel
    def scan():
        for i in range(5):
            s = ti.i64(i)
            for k in range(n):
                t = flat[i * n + k]
                flat[i * n + k] = s
                s += t
        for i in range(5):
            for k in range(1, n):
                column[k, i] += column[k - 1, i]

    scan()
    expected = np.cumsum(values.reshape(5, n), 1)
    before = expected - values.reshape(5, n) + np.arange(5)[:, None]
    assert np.array_equal(flat.to_numpy().reshape(5, n), before) and np.array_equal(column.to_numpy().T, expected)
    assert iterations(scan) == ["1,024", "1,024"]


@pytest.mark.parametrize(("rows", "n"), [(3, 256), (64, 300), (5000, 128)])
def test_rows_with_other_loops(target: str, rows: int, n: int) -> None:
    """Sums before it, and elements that are changed behind it: each thread has some."""
    count, table, least = ti.field(ti.i32, (rows, n)), ti.field(ti.i32, (rows, n)), ti.field(ti.i32, rows)
    values = (np.arange(rows * n).reshape(rows, n) * 13 % 31).astype(np.int32)
    count.from_numpy(values)

    @ti.kernel
    def tables(clip: ti.i32):
        for p in range(rows):
            low, extra = count[p, 0], 5
            for k in range(n):
                extra += ti.max(count[p, k] - clip, 0)
                low = ti.min(low, count[p, k])
            s = 0
            for k in range(n):
                s += ti.min(count[p, k], clip)
                table[p, k] = s
            for k in range(1, n):
                table[p, k] = table[p, k] * 2 + extra - count[p, 0]
            least[p] = low + table[p, n - 1]

    tables(20)
    expected = np.cumsum(np.minimum(values, 20), 1)
    extra = 5 + np.maximum(values - 20, 0).sum(1)[:, None]
    expected[:, 1:] = expected[:, 1:] * 2 + extra - values[:, :1]
    assert np.array_equal(table.to_numpy(), expected)
    assert np.array_equal(least.to_numpy(), values.min(1) + expected[:, -1])
    assert cuda(tables, 20).count("th iteration (block_scans)") == 2


@pytest.mark.parametrize(
    ("rows", "columns", "threads"),
    [(16, 8192, "1,024"), (64, 256, "256"), (2048, 2048, "128"), (1 << 16, 4096, "32"), (16, 100, None)],
)
def test_threads_of_rows(rows: int, columns: int, threads: str | None) -> None:
    """As many as a GPU runs at a time."""
    ti.init(arch=ti.python, log_level=ti.ERROR)

    @ti.kernel
    def scan(a: ti.template()):
        for i in range(rows):
            s = 0
            for k in range(columns):
                s += a[i, k]
                a[i, k] = s

    assert iterations(scan, ti.field(ti.i32, (rows, columns))) == ([threads] if threads else [])


def test_the_last_sum_of_what_a_variable_was(target: str) -> None:
    values = np.random.default_rng(2).integers(1, 9, (3, 1030)).astype(np.int32)
    x, z, y = (ti.field(ti.i32, shape) for shape in (values.shape, values.shape, 3))
    x.from_numpy(values)

    @ti.kernel
    def last():
        for i in range(3):
            s = 2
            if x[i, 7] > 4:
                s = 3
            first = s
            for k in range(1030):
                s = first + x[i, k]
                z[i, k] = s
            y[i] = s

    last()
    expected = values + np.where(values[:, 7:8] > 4, 3, 2)
    assert np.array_equal(z.to_numpy(), expected) and np.array_equal(y.to_numpy(), expected[:, -1])


def test_rows_that_stay() -> None:
    """Columns, unless they are few; rows with sums alone; rows with other long loops; blocks of the program."""
    ti.init(arch=ti.python, log_level=ti.ERROR)

    def has_scan(case: str = "", **options) -> bool:
        ti.init(arch=ti.python, log_level=ti.ERROR, **options)
        a, b = ti.field(ti.i32, (512, 512)), ti.field(ti.i32, (512, 512))

        @ti.kernel
        def scan():
            if ti.static(case == "a block"):
                ti.loop_config(block_dim=64)
            for i in range(512):
                s = 0
                for k in range(512):
                    s += a[k, i] if ti.static(case == "columns") else a[i, k]
                    if ti.static(case == "a sum"):
                        b[i, k] = a[i, k]
                    elif ti.static(case == "one element"):
                        b[i, 0] = s
                    elif ti.static(case == "neighbours"):
                        a[i, k + 1] = s
                    else:
                        b[i, k] = s
                    if ti.static(case == "an end"):
                        if s > 100:
                            break
                if ti.static(case == "another loop"):
                    while s > 3:
                        s //= 2
                    b[i, 0] = s

        return bool(iterations(scan))

    assert has_scan()
    cases = ("columns", "a sum", "one element", "neighbours", "an end", "another loop", "a block")
    assert [case for case in cases if has_scan(case)] == []
    for options in ({"deterministic": True}, {"passes": "-block_scans"}, {"default_gpu_block_dim": 64}):
        assert not has_scan(**options), options
