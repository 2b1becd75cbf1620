"""Pass `joined_sums`: several additions to one element become one; results are those of single ones on every target."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

NOTE = "one atomic addition for all (joined_sums)"
N, M = 300, 40


def make(kind):
    """Return a kernel that adds to elements at loaded indices, and its fields."""
    t, h = ti.Vector.field(4, ti.i32, N), ti.field(kind, N)
    rng = np.random.default_rng(5)
    t.from_numpy(rng.integers(0, M, (N, 4)).astype(np.int32))
    h.from_numpy(rng.integers(-9, 9, N).astype(h.to_numpy().dtype))
    f, s, p = ti.Vector.field(3, kind, M), ti.field(kind, M), ti.field(kind, M)

    @ti.kernel
    def add(rows: ti.i32):
        for e in t:
            for k in ti.static(range(3)):
                f[t[e][k]] += (k + 1) * h[e]
                f[t[e][3]] -= (k + 1) * h[e]
            for a in range(2):
                for b in range(1, 3):
                    s[t[e][0]] += a * b
                    s[t[e][1]] -= h[e] * a
            s[t[e][0]] += 1
            s[t[e][0]] -= h[e]
            s[t[e][0]] -= e
            for k in range(rows):
                p[t[e][k]] += 1
                p[t[e][2]] += k

    return add, (f, s, p)


@pytest.mark.all_targets
@pytest.mark.sampled(4)
@pytest.mark.parametrize("rows", [0, 1, 3])
@pytest.mark.parametrize("kind", ["f32", "i32", "f64", "i64"])
def test_values(target: str, kind: str, rows: int) -> None:
    if target == "vulkan" and kind in ("f64", "i64"):
        pytest.skip("lavapipe has no atomic operations on 64 bits")
    results = []
    for arch in (target, "python"):
        ti.init(arch=getattr(ti, arch), log_level=ti.ERROR)
        add, fields = make(getattr(ti, kind))
        add(rows)
        results.append([field.to_numpy() for field in fields])
    for own, expected in zip(*results, strict=True):
        assert np.array_equal(own, expected)


@pytest.mark.targets("cuda")
def test_sources() -> None:
    for options, count in (({}, 3), ({"fast_math": False}, 0), ({"passes": "-joined_sums"}, 0)):
        ti.init(arch=ti.python, log_level=ti.ERROR, **options)
        assert make(ti.f32)[0].source(1, arch=ti.cuda).count(NOTE) == count
    ti.init(arch=ti.python, log_level=ti.ERROR, fast_math=False)
    text = make(ti.i32)[0].source(1, arch=ti.cuda)
    assert "ivec3 f_sum = {0, 0, 0};" in text and text.count(NOTE) == 3


@pytest.mark.targets("cuda")
def test_what_stays() -> None:
    """An element that is read in between, a loop that some leave or skip, results that are used, what may be a name of it."""
    ti.init(arch=ti.python, log_level=ti.ERROR)
    at, s, x = ti.field(ti.i32, N), ti.field(ti.i32, M), ti.field(ti.i32, N)

    @ti.kernel
    def read():
        for e in at:
            for k in range(3):
                s[at[e]] += k
                x[e] += s[k]

    @ti.kernel
    def left():
        for e in at:
            for k in range(3):
                if x[e] == k:
                    break
                s[at[e]] += k

    @ti.kernel
    def skipped(n: ti.i32):
        for e in at:
            for k in range(n):
                s[at[e]] += k

    @ti.kernel
    def used():
        for e in at:
            for _ in range(3):
                x[e] += ti.atomic_add(s[at[e]], 1)

    @ti.kernel
    def branch():
        for e in at:
            for k in range(3):
                if x[e] > k:
                    s[at[e]] += k

    @ti.kernel
    def named(a: ti.types.ndarray(ti.i32, 1), b: ti.types.ndarray(ti.i32, 1)):
        for e in at:
            a[at[e]] += 1
            x[e] = b[e]
            a[at[e]] += 1

    numbers = np.zeros(M, np.int32)
    for kernel, arguments in (
        (read, ()), (left, ()), (skipped, (3,)), (used, ()), (branch, ()), (named, (numbers, numbers))
    ):  # fmt: skip
        assert NOTE not in kernel.source(*arguments, arch=ti.cuda), kernel.__name__


def make_arrays(kind, rows):
    """Return a kernel that adds in long loops at indices of short ones, and its fields. rows: of a loop, None: loaded."""
    x, lab = ti.field(kind, N), ti.field(ti.i32, N)
    x.from_numpy(np.arange(N).astype(x.to_numpy().dtype) % 7)
    lab.from_numpy(np.arange(N, dtype=np.int32) % 5)
    a, g, v = ti.field(kind, (9, 8)), ti.field(kind, (5, 3)), ti.Vector.field(2, kind, 4)

    @ti.kernel
    def add(b: ti.types.ndarray(ndim=2)):
        for s in x:
            for t in range(lab[s] if ti.static(rows is None) else rows):
                for i in range(1, 3):
                    for j in range(1, 8):
                        a[0, j] += x[s] * (i + j)
                for i, j in ti.ndrange(3, (1, 3)):
                    g[lab[s], j] -= x[s] * t
                    b[i + 1, j] += x[s] + i
                for i in range(4):
                    v[i] += ti.Vector([x[s] * i, x[s] + t])
                    v[i][1] -= 1

    return add, (a, g, v)


@pytest.mark.targets("cuda", "vulkan")
@pytest.mark.sampled(2)
@pytest.mark.parametrize("rows", [0, 5, None])
@pytest.mark.parametrize("kind", ["f32", "i32"])
def test_local_arrays(target: str, kind: str, rows: int | None) -> None:
    results = []
    for arch in (target, "python"):
        ti.init(arch=getattr(ti, arch), log_level=ti.ERROR)
        add, fields = make_arrays(getattr(ti, kind), rows)
        b = np.ones((4, 3), kind.replace("f", "float").replace("i", "int"))
        add(b)
        results.append([b, *(field.to_numpy() for field in fields)])
    for own, expected in zip(*results, strict=True):
        assert np.array_equal(own, expected)


@pytest.mark.targets("cuda")
def test_sources_of_local_arrays() -> None:
    b = np.ones((4, 3), np.float32)
    for rows, options, found in (
        (5, {}, ["float b_sum[3][2] = {};", "float a_sum[7] = {};", "g_sum[j - 1]"]),
        (None, {}, ["if (0 < lab_s) {", "reduce_add(lanes, a_sum[j - 1])"]),
        (3, {}, []),  # few iterations
        (5, {"deterministic": True}, []),
        (5, {"fast_math": False}, []),
    ):
        ti.init(arch=ti.python, log_level=ti.ERROR, **options)
        text = make_arrays(ti.f32, rows)[0].source(b, arch=ti.cuda)
        assert all(words in text for words in found), text
        assert bool(found) == ("b_sum[" in text)


@pytest.mark.targets("cuda")
def test_no_local_arrays() -> None:
    """Indices of the long loop, an array that is read, too many numbers, a branch, a short loop whose length is loaded."""
    ti.init(arch=ti.python, log_level=ti.ERROR)
    x, a, b = ti.field(ti.i32, N), ti.field(ti.i32, (20, 8)), ti.field(ti.i32, (9, 9))

    def kernel_of(kind):
        @ti.kernel
        def add():
            for s in x:
                for t in range(10):
                    for i in range(9 if ti.static(kind == "large") else x[s] if ti.static(kind == "loaded") else 4):
                        for j in range(9 if ti.static(kind == "large") else 4):
                            if ti.static(kind == "moves"):
                                a[i + t, j] += x[s]
                            elif ti.static(kind == "read"):
                                a[i, j] += a[s % 4, j]
                            elif ti.static(kind == "large"):
                                b[i, j] += t
                            elif x[s] > 0 or ti.static(kind != "branch"):
                                a[i, j] += t

        return add

    for kind in ("moves", "read", "large", "branch", "loaded"):
        assert "_sum[" not in kernel_of(kind).source(arch=ti.cuda), kind
    assert "a_sum[4][4]" in kernel_of("").source(arch=ti.cuda)
