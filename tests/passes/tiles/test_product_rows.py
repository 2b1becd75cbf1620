"""Pass `product_rows`: rows of products of which an iteration needs all, one after another."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.targets("vulkan", "cuda")  # elsewhere the pass returns at once

Grid, Line = ti.types.ndarray(ti.f32, 2), ti.types.ndarray(ti.i32, 1)
NOTE = "(product_rows)"


@pytest.fixture(autouse=True)
def _for_few(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let few iterations be enough; leave out the interpreter, which has no blocks."""
    if "target" in request.fixturenames and request.getfixturevalue("target") == "python":
        pytest.skip("the interpreter has no tiles")
    names = ("parts.register_plan", "register_tiles", "product_rows")
    for module in [sys.modules[f"shadesmith.transpiler.passes.tiles.{name}"] for name in names]:
        for name in ("SHORT", "FEWEST", "THIN", "FEWEST_ROWS"):
            monkeypatch.setattr(module, name, 1, raising=False)


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).integers(-9, 9, shape).astype(np.float32)


def field_of(values: np.ndarray, dtype: Any = ti.f32) -> Any:
    field = ti.field(dtype, values.shape)
    field.from_numpy(values)
    return field


@pytest.mark.parametrize(("rows", "columns", "length"), [(64, 64, 16), (70, 65, 17), (1, 3, 1)])
def test_the_best_column_of_a_row(target: str, rows: int, columns: int, length: int) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    x, y = numbers(rows, length), numbers(length, columns)
    tokens, weights, best = field_of(x), field_of(y), ti.field(ti.i32, rows)

    @ti.kernel
    def route():
        for t in best:
            most = -1e9
            at = 0
            for e in range(columns):
                s = 0.0
                for d in range(length):
                    s += tokens[t, d] * weights[d, e]
                if s > most:
                    most = s
                    at = e
            best[t] = at

    assert NOTE in route.source(arch=ti.cuda)
    route()
    assert np.array_equal(best.to_numpy(), (x @ y).argmax(axis=1))


@pytest.mark.parametrize(("kind", "is_large"), [(ti.f32, False), (ti.i64, True), (ti.f64, True)])
def test_products_that_shared_memory_has_no_room_for(kind: Any, is_large: bool) -> None:
    """64 x 64 numbers of 8 bytes take 32 KB, and four tiles 8 KB each: of 48 KB for a block."""
    ti.init(arch=ti.cpu, log_level=ti.ERROR)
    a, b, p, q, best = (ti.field(kind, (128, 32)) for _ in range(5))

    @ti.kernel
    def search():
        for i in range(128):
            most = ti.cast(0, kind)
            for j in range(128):
                s = ti.cast(0, kind)
                for k in range(32):
                    s += (a[i, k] - b[j, k]) * (p[i, k] - q[j, k])
                most = ti.max(most, s)
            best[i, 0] = most

    assert (NOTE in search.source(arch=ti.cuda)) != is_large


@pytest.mark.parametrize("points", [5, 130])
def test_the_nearest_of_ndarrays(target: str, points: int) -> None:
    """What an iteration loads before its columns is there after them; it stores in a branch."""
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    x, y = numbers(points, 6), numbers(70, 6)

    @ti.kernel
    def nearest(x: Grid, y: Grid, label: Line, last: Line):
        for i in range(x.shape[0]):
            before = label[i]
            least = 1e9
            for j in range(y.shape[0]):
                s = 0.0
                for k in range(x.shape[1]):
                    s += (x[i, k] - y[j, k]) ** 2
                if s < least:
                    least = s
                    label[i] = j
            last[i] = before

    assert NOTE in nearest.source(arch=ti.cuda)
    label, last = np.arange(points, dtype=np.int32), np.zeros(points, np.int32)
    nearest(x, y, label, last)
    distances = ((x[:, None] - y[None]) ** 2).sum(axis=2)
    assert np.array_equal(label, distances.argmin(axis=1)) and np.array_equal(last, np.arange(points))


def test_a_loss_behind_the_nearest(target: str) -> None:
    """What is behind the columns is a task of its own: threads of a block would wait in one with reductions."""
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    x, y = numbers(70, 6), numbers(66, 6)
    points, centres, norms = field_of(x), field_of(y), field_of((y**2).sum(axis=1))
    label, counts = ti.field(ti.i32, 70), ti.field(ti.i32, 66)

    @ti.kernel
    def assign() -> ti.f32:
        loss = 0.0
        for i in range(70):
            least = 1e9
            at = 0
            for j in range(66):
                s = norms[j]
                for k in range(6):
                    s -= 2.0 * points[i, k] * centres[j, k]
                if s < least:
                    least = s
                    at = j
            label[i] = at
            counts[at] += 1
            for k in range(6):
                loss += (points[i, k] - centres[at, k]) ** 2
        return loss

    source = assign.source(arch=ti.cuda)
    assert NOTE in source and "at_of_rows" in source
    loss = assign()
    distances = ((x[:, None] - y[None]) ** 2).sum(axis=2)
    assert loss == distances.min(axis=1).sum() and np.array_equal(label.to_numpy(), distances.argmin(axis=1))
    assert np.array_equal(counts.to_numpy(), np.bincount(distances.argmin(axis=1), minlength=66))


def test_ndarrays_that_overlap(target: str) -> None:
    """A column is stored where the next one loads: a launch starts the task in which a thread has its row alone."""
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    x, y = numbers(4, 3), numbers(5, 3)

    @ti.kernel
    def fill(x: Grid, y: Grid, z: Grid):
        for i in range(x.shape[0]):
            for j in range(y.shape[0]):
                s = 0.0
                for k in range(x.shape[1]):
                    s += x[i, k] * y[j, k]
                z[i, j % 3] += s

    assert NOTE in fill.source(arch=ti.cuda)
    values, shared, other = (ti.ndarray(ti.f32, each.shape) for each in (y, x, x))
    values.from_numpy(y)
    shared.from_numpy(x)
    fill(shared, values, shared)
    expected = x.copy()
    for i in range(4):
        for j in range(5):
            expected[i, j % 3] += expected[i] @ y[j]
    assert np.array_equal(shared.to_numpy(), expected)
    fill(shared, values, other)


def test_what_does_not_fit_runs_as_before() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    x, w, y = ti.field(ti.f32, (64, 64)), ti.field(ti.f32, (64, 64)), ti.field(ti.f32, 64)

    @ti.kernel
    def leaves():
        for i in y:
            for j in range(64):
                s = 0.0
                for k in range(64):
                    s += x[i, k] * w[k, j]
                if s > 5.0:
                    break
                y[i] += s

    @ti.kernel
    def depends():
        for i in y:
            last = 0.0
            for j in range(64):
                s = last
                for k in range(64):
                    s += x[i, k] * w[k, j]
                last = s
            y[i] = last

    @ti.kernel
    def stores_what_it_loads():
        for i in y:
            for j in range(64):
                s = 0.0
                for k in range(64):
                    s += x[i, k] * w[k, j]
                x[i, j] = s

    @ti.kernel
    def triangle():
        for i in y:
            for j in range(i):
                s = 0.0
                for k in range(64):
                    s += x[i, k] * w[k, j]
                y[i] += s

    found = [leaves, depends, stores_what_it_loads, triangle]
    assert [k.__name__ for k in found if NOTE in k.source(arch=ti.cuda)] == []
