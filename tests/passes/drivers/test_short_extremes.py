"""Pass `short_extremes`: few numbers are compared without branches in C, within loops that gcc makes no vectors of."""

from __future__ import annotations

import numpy as np

import shadesmith as ti

Q, T = 6, 20


@ti.kernel
def paths(a: ti.template(), seen: ti.template(), back: ti.template(), found: ti.template()):
    for s in found:
        v = ti.Vector.zero(ti.f32, Q)
        for t in range(T):
            new = ti.Vector.zero(ti.f32, Q)
            for q in ti.static(range(Q)):
                best, at = -1e30, 0
                for p in ti.static(range(Q)):
                    c = v[p] + a[p, q] + seen[t, s]
                    if c > best:
                        best = c
                        at = p
                new[q] = best
                back[t, q, s] = at
            v = new
        found[s] = v.max()


@ti.kernel
def nearest(x: ti.template(), y: ti.template(), found: ti.template()):
    for i in x:
        least, at = 1e30, -1
        for k in range(Q):
            d = ti.abs(x[i] - y[k])
            if d < least:
                least = d
                at = k
        found[i] = at


def test_paths(target: str) -> None:
    n = 30
    rng = np.random.default_rng(0)
    numbers, values = rng.normal(size=(Q, Q)).astype(np.float32), rng.normal(size=(T, n)).astype(np.float32)
    values[7, 3], values[9, 4] = np.nan, -np.inf  # nothing is greater than -1e30
    a, seen = ti.field(ti.f32, (Q, Q)), ti.field(ti.f32, (T, n))
    back, found = ti.field(ti.i32, (T, Q, n)), ti.field(ti.f32, n)
    a.from_numpy(numbers)
    seen.from_numpy(values)
    paths(a, seen, back, found)
    v = np.zeros((Q, n), np.float32)
    for t in range(T):
        sums = v[:, None] + numbers[..., None] + values[t]
        best, at = np.full((Q, n), -1e30, np.float32), np.zeros((Q, n), np.int32)
        for p in range(Q):
            at = np.where(sums[p] > best, p, at)
            best = np.where(sums[p] > best, sums[p], best)
        assert back.to_numpy()[t].tolist() == at.tolist()
        v = best
    assert np.allclose(found.to_numpy(), v.max(0))


def test_sources() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    a, seen = ti.field(ti.f32, (Q, Q)), ti.field(ti.f32, (T, 30))
    back, found = ti.field(ti.i32, (T, Q, 30)), ti.field(ti.f32, 30)
    source = paths.source(a, seen, back, found, arch=ti.cpu)
    assert "at += (p - at) * (int)(c > best);  // without a branch (short_extremes)" in source
    assert "best = c > best ? c : best;" in source
    assert "(short_extremes)" not in paths.source(a, seen, back, found, arch=ti.cuda)


def test_iterations_of_parallel_loops_stay() -> None:
    """gcc makes vectors of them, branches or not."""
    ti.init(arch=ti.python, log_level=ti.ERROR)
    x, y, found = ti.field(ti.f32, 64), ti.field(ti.f32, Q), ti.field(ti.i32, 64)
    assert "if (d < least) {" in nearest.source(x, y, found, arch=ti.cpu)


def test_a_variable_that_changes_between_comparison_and_branch(target: str) -> None:
    @ti.kernel
    def find(v: ti.types.ndarray(ti.f32, 1), out: ti.types.ndarray(ti.f32, 1)):
        for _ in range(1):
            best = 4.0
            place = -1
            for i in range(v.shape[0]):
                for p in range(8):
                    c = v[i] + p
                    is_more = c > best
                    best = best * 0.5
                    if is_more:
                        best = c
                        place = p
            out[0] = best
            out[1] = place

    v = np.array([3, -20, 7, 0.5], np.float32)
    found = np.zeros(2, np.float32)
    find(v, found)
    best, place = 4.0, -1
    for x in v:
        for p in range(8):
            is_more = x + p > best
            best *= 0.5
            if is_more:
                best, place = x + p, p
    assert found.tolist() == [best, place]
