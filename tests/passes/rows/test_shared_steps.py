"""Pass `shared_steps`: threads of a warp share the states of each step of a serial loop, and wait for each other."""

from __future__ import annotations

import re

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.targets("vulkan", "cuda")  # elsewhere the pass returns at once

REMARK = "threads share these iterations (shared_steps)"
WAITS = "__syncwarp(0xffffffffu);"
ROWS, STEPS, STATES = 5, 7, 45


def field(values: np.ndarray) -> ti.Field:
    made = ti.field(getattr(ti, {"int32": "i32", "float64": "f64"}[values.dtype.name]), values.shape)
    made.from_numpy(values)
    return made


def numbers(*shape: int, least: int = 0, end: int = 30) -> np.ndarray:
    return np.random.default_rng(sum(shape)).integers(least, end, shape).astype(np.int32)


@pytest.mark.all_targets
def test_states_depend_on_neighbours_of_the_step_before(target: str) -> None:
    costs = numbers(ROWS, STEPS, STATES)
    c, path, y = field(costs), ti.field(ti.i32, costs.shape), ti.field(ti.i32, ROWS)

    @ti.kernel
    def rows():
        for i in range(ROWS):
            low = 0
            for j in range(STEPS):
                new = 1 << 20
                for d in range(STATES):
                    v = c[i, j, d]
                    if j > 0:
                        m = ti.min(path[i, j - 1, d], low + 24)
                        if d > 0:
                            m = ti.min(m, path[i, j - 1, d - 1] + 6)
                        if d < STATES - 1:
                            m = ti.min(m, path[i, j - 1, d + 1] + 6)
                        v += m - low
                    path[i, j, d] = v
                    new = ti.min(new, v)
                low = new
            y[i] = low

    rows()
    state = costs[:, 0]
    for j in range(1, STEPS):
        low, padded = state.min(1)[:, None], np.pad(state, ((0, 0), (1, 1)), constant_values=1 << 20)
        neighbours = np.minimum(padded[:, :-2], padded[:, 2:]) + 6
        state = costs[:, j] + np.minimum(np.minimum(state, low + 24), neighbours) - low
    np.testing.assert_array_equal(path.to_numpy()[:, -1], state)
    np.testing.assert_array_equal(y.to_numpy(), state.min(1))
    text = rows.source(arch=ti.cuda)
    assert text.count(REMARK) == text.count(WAITS) == 1 and "new_ = reduce_min(new_);" in text


PLANES = [
    ("k % 2", "(k + 1) % 2", ""),
    ("(k + 2) % 3", "k % 3", ""),
    ("k & 1", "(k & 1) ^ 1", ""),
    ("now", "1 - now", "now = 1 - now"),
    ("now", "then", "now, then = then, now"),
    ("now", "now", ""),  # one plane: iterations depend on each other
    ("0", "k % 2", ""),  # the same plane in each second step
]


def knapsack(load: str, store: str, after: str, folder: object) -> ti.Kernel:
    """Return a kernel whose planes have these numbers, and the fields that it reads and writes."""
    source = f"""
import shadesmith as ti
dp, weight, value = ti.field(ti.i32, ({ROWS}, 3, {STATES})), ti.field(ti.i32, ({ROWS}, 6)), ti.field(ti.i32, ({ROWS}, 6))

@ti.kernel
def run():
    for b in range({ROWS}):
        now, then = 0, 1
        for k in range(6):
            for w in range({STATES}):
                best = dp[b, {load}, w]
                if w >= weight[b, k]:
                    best = ti.max(best, dp[b, {load}, w - weight[b, k]] + value[b, k])
                dp[b, {store}, w] = best
            {after or "pass"}
"""
    path = folder / "planes.py"  # type: ignore[operator]
    path.write_text(source)
    names: dict[str, object] = {}
    exec(compile(source, str(path), "exec"), names)  # noqa: S102
    return names


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("load", "store", "after"), PLANES)
def test_planes_of_two_steps(target: str, load: str, store: str, after: str, tmp_path: object) -> None:
    names = knapsack(load, store, after, tmp_path)
    weights, values, before = numbers(ROWS, 6, least=1, end=9), numbers(ROWS, 6), numbers(ROWS, 3, STATES)
    for name, given in (("weight", weights), ("value", values), ("dp", before)):
        names[name].from_numpy(given)
    names["run"]()
    for b in range(ROWS):
        now, then = 0, 1
        for k in range(6):
            place = {"k": k, "now": now, "then": then}
            old, new = (before[b, eval(text, place)] for text in (load, store))  # noqa: S307
            for w in range(STATES):
                best = old[w]
                if w >= weights[b, k]:
                    best = max(best, old[w - weights[b, k]] + values[b, k])
                new[w] = best
            now, then = (1 - now, then) if "1 -" in after else (then, now) if after else (now, then)
    np.testing.assert_array_equal(names["dp"].to_numpy(), before)
    assert (REMARK in names["run"].source(arch=ti.cuda)) == (load not in (store, "0"))


def test_all_threads_run_what_is_between(target: str) -> None:
    """They find the best state, store its number once, and load what others have stored."""
    dist = numbers(ROWS, STATES, STATES, end=1000)
    d, used, tour = field(dist), ti.field(ti.i32, (ROWS, STATES)), ti.field(ti.i32, (ROWS, STATES))
    length, visits = ti.field(ti.i32, ROWS), ti.field(ti.i32, ())

    @ti.kernel
    def tours():
        for b in range(ROWS):
            for j in range(STATES):
                used[b, j] = 0
            at, total = 0, 0
            for k in range(STATES):
                tour[b, k] = at
                used[b, at] = 1
                visits[None] += 1
                best, next_ = 1 << 20, -1
                for j in range(STATES):
                    if used[b, j] == 0 and d[b, at, j] < best:
                        best = d[b, at, j]
                        next_ = j
                if next_ < 0:
                    break
                total += best
                at = next_
            length[b] = total

    tours()
    for b in range(ROWS):
        at, seen, total = 0, [0], 0
        while len(seen) < STATES:
            free = [j for j in range(STATES) if j not in seen]
            best = min(free, key=lambda j: (dist[b, at, j], j))
            total, at = total + dist[b, at, best], best
            seen.append(best)
        np.testing.assert_array_equal(tour.to_numpy()[b], seen)
        assert length[b] == total
    assert visits[None] == ROWS * STATES
    text = tours.source(arch=ti.cuda)
    assert REMARK in text and text.count("if (lane == 0)") >= 2


Plane, Line = ti.types.ndarray(ti.i32, 2), ti.types.ndarray(ti.i32, 1)


@ti.kernel
def diffuse(a: Plane, b: Plane, lengths: Line, steps: ti.i32):
    for i in range(a.shape[0]):
        for _ in range(steps):
            for d in range(1, lengths[i] - 1):
                b[i, d] = a[i, d - 1] + 2 * a[i, d] + a[i, d + 1]
            for d in range(1, lengths[i] - 1):
                a[i, d] = b[i, d] >> 2


@pytest.mark.sampled(5)
@pytest.mark.parametrize("columns", [0, 1, 3, 33, 70])
@pytest.mark.parametrize("overlap", [False, True])
@pytest.mark.parametrize("rows", [0, 1, 9])
def test_ndarrays(target: str, rows: int, columns: int, overlap: bool) -> None:
    a = numbers(rows, columns, end=1000)
    b, lengths = a if overlap else np.zeros_like(a), np.arange(rows, dtype=np.int32) * columns // max(1, rows - 1)
    x, y = a.copy(), b.copy()
    if overlap:
        y = x
    diffuse(a, b, lengths, 4)
    for i in range(rows):
        for _ in range(4):
            for d in range(1, lengths[i] - 1):
                y[i, d] = x[i, d - 1] + 2 * x[i, d] + x[i, d + 1]
            for d in range(1, lengths[i] - 1):
                x[i, d] = y[i, d] >> 2
    np.testing.assert_array_equal(a, x)
    np.testing.assert_array_equal(b, y)
    text = diffuse.source(a, b, lengths, 4, arch=ti.cuda)
    assert "for fewer than 32,768 iterations if a, b and lengths do not overlap" in re.sub(r"\s+(// +)?", " ", text)


def test_elimination(target: str) -> None:
    """Rows behind the pivot's are independent: none of them is the pivot's."""
    n = 24
    given = np.random.default_rng(1).uniform(-1, 1, (ROWS, n, n)) + 4 * np.eye(n)
    m = field(given)

    @ti.kernel
    def factor():
        for b in range(ROWS):
            for k in range(n):
                for i in range(k + 1, n):
                    f = m[b, i, k] / m[b, k, k]
                    m[b, i, k] = f
                    for j in range(k + 1, n):
                        m[b, i, j] -= f * m[b, k, j]

    factor()
    found = m.to_numpy()
    lower, upper = np.tril(found, -1) + np.eye(n), np.triu(found)
    np.testing.assert_allclose(lower @ upper, given, rtol=1e-9, atol=1e-9)
    assert REMARK in factor.source(arch=ti.cuda)


def test_a_loop_that_depends_on_itself_is_for_one_thread(target: str) -> None:
    q, p = field(numbers(ROWS, STATES)), ti.field(ti.i32, (ROWS, 2, STATES))
    expected, planes = q.to_numpy(), np.zeros((ROWS, 2, STATES), np.int32)

    @ti.kernel
    def shift():
        for b in range(ROWS):
            for k in range(4):
                for d in range(STATES - 1):
                    q[b, d] = q[b, d + 1] + 1
                for d in range(STATES):
                    p[b, k % 2, d] = q[b, (d + 7) % STATES] + p[b, (k + 1) % 2, STATES - 1 - d]

    shift()
    for k in range(4):
        expected[:, :-1] = expected[:, 1:] + 1
        planes[:, k % 2] = np.roll(expected, -7, 1) + planes[:, (k + 1) % 2, ::-1]
    np.testing.assert_array_equal(q.to_numpy(), expected)
    np.testing.assert_array_equal(p.to_numpy(), planes)
    text = shift.source(arch=ti.cuda)
    assert REMARK in text and re.search(r"if \(lane == 0\) \{\s+for \(int d = 0; d < STATES - 1", text)


@pytest.mark.all_targets
def test_many_states_have_a_block(target: str) -> None:
    """Its warps join what they have in shared memory."""
    states = 150
    weights, given = numbers(states, states, least=-2, end=3), numbers(ROWS, states)
    w, old, new = field(weights), field(given), ti.field(ti.i32, (ROWS, states))
    sums, least = ti.field(ti.i32, (ROWS, STEPS)), ti.field(ti.i32, ROWS)

    @ti.kernel
    def network():
        for b in range(ROWS):
            for t in range(STEPS):
                total, low = 1, 1 << 20
                for h in range(states):
                    s = 0
                    for k in range(states):
                        s += w[h, k] * old[b, k]
                    new[b, h] = s % 17
                    total += s % 17
                    low = ti.min(low, s)
                sums[b, t] = total
                if total % 2 == 0:
                    total -= low
                for h in range(states):
                    old[b, h] = new[b, h] + total % 3
                least[b] = low

    network()
    found = np.zeros((ROWS, STEPS), np.int64)
    for t in range(STEPS):
        products = given @ weights.T
        found[:, t] = total = 1 + (products % 17).sum(1)
        total = np.where(total % 2 == 0, total - products.min(1), total)
        given = (products % 17 + (total % 3)[:, None]).astype(np.int32)
    np.testing.assert_array_equal(sums.to_numpy(), found)
    np.testing.assert_array_equal(old.to_numpy(), given)
    np.testing.assert_array_equal(least.to_numpy(), products.min(1))
    text = network.source(arch=ti.cuda)
    assert "256 threads, a block, share these iterations (shared_steps)" in text and "__syncwarp" not in text


def test_a_search_from_the_end(target: str) -> None:
    """Of equal elements it finds the one with the greatest index: threads of a warp would find the first."""
    q, at = ti.field(ti.i32, (ROWS, STATES)), ti.field(ti.i32, (ROWS, 3))

    @ti.kernel
    def search():
        for b in range(ROWS):
            for t in range(3):
                for d in range(STATES):
                    q[b, d] = (d + t) % 7
                best, place = -1, -1
                for d in range(STATES - 1, -1, -1):
                    if q[b, d] > best:
                        best, place = q[b, d], d
                at[b, t] = place

    search()
    assert at.to_numpy()[0].tolist() == [max(d for d in range(STATES) if (d + t) % 7 == 6) for t in range(3)]


@pytest.mark.all_targets
def test_stores_to_arrays_that_nobody_loads_are_in_order(target: str) -> None:
    states, later = 128, numbers(ROWS, 128)
    p, q, r = (ti.field(ti.i32, shape) for shape in ((ROWS, STEPS, states), (ROWS, states), (ROWS, states)))
    p.from_numpy(np.repeat(later[:, None], STEPS, 1))

    @ti.kernel
    def steps():
        for b in range(ROWS):
            for t in range(1, STEPS):
                for d in range(states):
                    p[b, t, d] = p[b, t - 1, (d + 1) % states] + 1
                    q[b, d] = p[b, t, d]
                q[b, 40 + t] = -1
                for d in range(states):
                    r[b, states - 1 - d] = d
                r[b, t] = -2

    steps()
    last = np.roll(later, 1 - STEPS, axis=1) + STEPS - 1
    last[:, 40 + STEPS - 1] = -1
    backwards = np.tile(np.arange(states)[::-1], (ROWS, 1))
    backwards[:, STEPS - 1] = -2
    np.testing.assert_array_equal(q.to_numpy(), last)
    np.testing.assert_array_equal(r.to_numpy(), backwards)
    assert steps.source(arch=ti.cuda).count("__syncthreads();") == 2


LEFT = {
    "p[b, d] = p[b, d] + p[(b + 1) % 5, d]": "of another iteration",
    "p[d, b] = p[d, b] + 1": "neighbours of a column",
    "p[b, 0] = d": "one element",
    "p[b, d // 2] = d": "one element for two",
    "k = ti.atomic_add(n[None], 1)\n            p[b, d] = k": "a result of an atomic operation",
}


@pytest.mark.one_target
@pytest.mark.parametrize("change", LEFT, ids=LEFT.values())
def test_loops_that_stay(target: str, change: str, tmp_path: object) -> None:
    source = f"""
import shadesmith as ti
p, n = ti.field(ti.i32, (50, 50)), ti.field(ti.i32, ())

@ti.kernel
def run():
    for b in range(50):
        for t in range(9):
          for d in range(50):
            {change}
"""
    path = tmp_path / "left.py"  # type: ignore[operator]
    path.write_text(source)
    names: dict[str, object] = {}
    exec(compile(source, str(path), "exec"), names)  # noqa: S102
    assert "(shared_steps)" not in names["run"].source(arch=ti.cuda)


@pytest.mark.all_targets
def test_elements_that_several_threads_store(target: str) -> None:
    """Nobody loads them here, but the last store counts: runs of a column's colours over its background."""
    n, steps = 300, 40
    ends, start = numbers(ROWS, steps, least=0, end=n), numbers(ROWS, least=0, end=9)
    end, first = field(ends), field(start)
    colours = ti.field(ti.i32, (ROWS, n))

    @ti.kernel
    def paint():
        for b in range(ROWS):
            for j in range(n):
                colours[b, j] = -1
            at = first[b]
            for t in range(steps):
                for j in range(at, end[b, t]):
                    colours[b, j] = t
                at = ti.max(at - 7, end[b, t] - 30, 0)

    paint()
    painted = np.full((ROWS, n), -1)
    for b in range(ROWS):
        at = start[b]
        for t in range(steps):
            painted[b, at : ends[b, t]] = t
            at = max(at - 7, ends[b, t] - 30, 0)
    np.testing.assert_array_equal(colours.to_numpy(), painted)
    assert "share these iterations (shared_steps)" in paint.source(arch=ti.cuda)
