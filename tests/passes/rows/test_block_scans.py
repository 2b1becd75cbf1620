"""Pass `block_scans`: serial loops with sums of the iterations before, run by a block of threads."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.targets("vulkan", "cuda")  # elsewhere the pass returns at once

I1 = ti.types.ndarray(ti.i32, 1)
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
