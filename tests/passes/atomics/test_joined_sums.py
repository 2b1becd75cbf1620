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
@pytest.mark.sampled(3)
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
