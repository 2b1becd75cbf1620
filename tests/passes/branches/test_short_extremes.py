"""Pass `short_extremes`: few numbers are compared without branches in C, within loops that gcc makes no vectors of."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.targets("cpu")  # elsewhere the pass returns at once

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


NOTE = "without a branch (short_extremes)"


def _of_rows(length: int, kind, place: str, is_function: bool = False):
    """Return a kernel that finds the greatest and least of each row, and its arrays. place: of a row."""
    n = 77
    a, x = ti.field(kind, (n, length)), ti.field(kind, n)
    rows, most, least = ti.field(ti.i32, n), ti.field(ti.i32, n), ti.field(ti.i32, n)

    @ti.real_func
    def greatest(row: ti.i32, by: kind) -> ti.i32:
        best, at = ti.cast(-5.0, kind), -1
        for j in range(length):
            v = a[row, j] * by
            if v > best:
                best = v
                at = j
        return at

    @ti.kernel
    def find():
        for i in x:
            row = i
            if ti.static(place == "loaded"):
                row = rows[i]
            if ti.static(place == "same"):
                row = 3
            if ti.static(is_function):
                most[i] = greatest(row, x[i])
            else:
                best, at = ti.cast(-5.0, kind), -1
                for j in range(length):
                    v = a[row, j] * x[i]
                    if v > best:
                        best = v
                        at = j
                most[i] = at
                low, where = ti.cast(5.0, kind), -1
                for j in ti.static(range(length)):
                    v = a[row, j] + x[i]
                    if low > v:
                        low = v
                        where = j
                least[i] = where

    return find, a, x, rows, most, least


@pytest.mark.sampled(6)
@pytest.mark.parametrize("length", [1, 3, 10, 16])
@pytest.mark.parametrize("place", ["loaded", "own", "same"])
@pytest.mark.parametrize("kind", [ti.f32, ti.f64])
def test_extremes_of_rows_with_edges(length, place, kind):
    results = []
    rng = np.random.default_rng(length)
    table = rng.integers(-3, 4, (77, length)).astype(np.float64)
    for value in (np.nan, -0.0, np.inf, -np.inf, 1e-42):
        table[rng.random(table.shape) < 0.06] = value
    signs, places = rng.choice([1.0, -1.0, 0.0], 77), rng.integers(0, 77, 77).astype(np.int32)
    for arch, passes in ((ti.cpu, ""), (ti.cpu, "-short_extremes"), (ti.python, "")):
        ti.init(arch=arch, log_level=ti.ERROR, passes=passes, fast_math=False)
        for is_function in (False, True):
            find, a, x, rows, most, least = _of_rows(length, kind, place, is_function)
            numpy_kind = np.float32 if kind is ti.f32 else np.float64
            a.from_numpy(table.astype(numpy_kind))
            x.from_numpy(signs.astype(numpy_kind))
            rows.from_numpy(places)
            find()
            results.append(np.stack([most.to_numpy(), least.to_numpy() * (not is_function)]))
    for numbers in (0, 1):
        assert all(np.array_equal(found, results[numbers]) for found in results[numbers::2])


@pytest.mark.parametrize(
    ("length", "place", "is_function", "selects"),
    [
        (10, "own", False, True),  # a class of each row
        (12, "own", True, True),
        (16, "loaded", False, True),  # the farthest point of a polygon
        (16, "loaded", True, True),
        (8, "own", False, False),  # gcc makes vectors of it
        (3, "own", False, False),
        (10, "same", False, False),
        (24, "loaded", False, False),  # mostly guessed rightly
    ],
)
def test_loops_that_stay_scalar_select(length, place, is_function, selects):
    ti.init(arch=ti.cpu, log_level=ti.ERROR)
    source = _of_rows(length, ti.f32, place, is_function)[0].source()
    assert (NOTE in source) == selects


vec2 = ti.types.vector(2, ti.f32)


def test_vectors_and_floats_that_belong_to_an_extreme(target: str) -> None:
    @ti.func
    def farthest(a, i, d):
        best, at, weight, place = -1e9, vec2(0.0, 0.0), 0.0, -1
        for k in range(6):
            p = a[i, k]
            w = p.x * 2.0
            if p.dot(d) > best:
                best = p.dot(d)
                at = p
                weight = w
                place = k
        return vec2(at.x + weight, at.y + place)

    @ti.kernel
    def walk(a: ti.types.ndarray(vec2, 2), out: ti.types.ndarray(vec2, 1)):
        for i in out:
            d = vec2(1.0, 0.5)
            done, turn = 0, 0
            while done == 0 and turn < 4:
                p = farthest(a, i, d)
                if p.x < 0.5:
                    done = 1
                d = vec2(-p.y, p.x)
                turn += 1
            out[i] = d

    n = 30
    points = np.random.default_rng(3).normal(size=(n, 6, 2)).astype(np.float32)
    points[4, 2], points[5] = np.nan, np.nan
    a, out = ti.ndarray(vec2, (n, 6)), ti.ndarray(vec2, n)
    a.from_numpy(points)
    walk(a, out)
    expected = np.zeros((n, 2), np.float32)
    for i in range(n):
        d = np.array([1.0, 0.5], np.float32)
        for _ in range(4):
            products = np.where(np.isnan(points[i, :, 0]), -2e9, points[i] @ d)
            k = int(products.argmax())
            found = (*(points[i, k] + [points[i, k, 0] * 2, k]),) if products[k] > -1e9 else (0.0, -1.0)
            d = np.array([-found[1], found[0]], np.float32)
            if found[0] < 0.5:
                break
        expected[i] = d
    np.testing.assert_allclose(out.to_numpy(), expected, rtol=1e-5, atol=1e-5)
    source = walk.source(a, out, arch=ti.cpu)
    assert "bool is_new = " in source and "at = (vec2){is_new ? p.x : at.x, is_new ? p.y : at.y};" in source
    assert "weight = is_new ? w : weight;" in source and "best = is_new ?" in source
    assert "is_new" not in walk.source(a, out, arch=ti.cuda)


def test_vectors_stay_in_branches_where_iterations_may_be_lanes() -> None:
    """gcc makes vectors of the loop around, branches or not."""

    @ti.kernel
    def nearest_point(x: ti.template(), y: ti.template(), out: ti.template()):
        for i in x:
            least, at = 1e30, 0.0
            for k in range(6):
                d = abs(x[i] - y[k])
                if d < least:
                    least = d
                    at = y[k]
            out[i] = at

    ti.init(arch=ti.python, log_level=ti.ERROR)
    x, y, out = ti.field(ti.f32, 64), ti.field(ti.f32, 6), ti.field(ti.f32, 64)
    assert "if (d < least) {" in nearest_point.source(x, y, out, arch=ti.cpu)
