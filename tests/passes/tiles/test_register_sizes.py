"""Pass `register_tiles` where only the launch knows the lengths: which task it starts, and that of whole tiles."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.targets("vulkan", "cuda")  # elsewhere the pass returns at once

Grid = ti.types.ndarray(ti.f32, 2)
MODULES = [
    sys.modules[f"shadesmith.transpiler.passes.tiles.{name}"] for name in ("parts.register_plan", "register_tiles")
]


@pytest.fixture(autouse=True)
def _of_blocks(request: pytest.FixtureRequest) -> None:
    """Leave out the interpreter, which has no blocks, and takes seconds for a product."""
    if "target" in request.fixturenames and request.getfixturevalue("target") == "python":
        pytest.skip("the interpreter has no tiles")


def set_limits(monkeypatch: pytest.MonkeyPatch, **values: int) -> None:
    """Set from how many iterations on a loop has tiles, or large ones."""
    for name, value in values.items():
        modules = [module for module in MODULES if hasattr(module, name)]
        assert modules
        for module in modules:
            monkeypatch.setattr(module, name, value)


def numbers(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    random = np.random.default_rng(3)
    return [random.integers(-9, 9, shape).astype(np.float32) for shape in shapes]


def test_few_and_many_iterations_of_ndarrays(target: str) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)

    @ti.kernel
    def multiply(a: Grid, b: Grid, c: Grid):
        for i, j in c:
            s = 0.0
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            c[i, j] = s

    for n, m, w in [(2000, 3, 3), (1, 7, 3000), (300, 5, 300), (15, 5, 6001), (16, 5, 5625), (299, 2, 301)]:
        x, y = numbers((n, m), (m, w))
        c = np.zeros((n, w), np.float32)
        multiply(x, y, c)
        assert np.array_equal(c, x @ y), (n, m, w)


TASKS = [
    ((39, 40), 35, 0),
    ((40, 40), 35, 1),
    ((7, 2000), 35, 0),
    ((2000, 7), 35, 0),
    ((79, 81), 35, 1),
    ((80, 80), 35, 1),
    ((8, 800), 35, 1),
    ((0, 9), 35, 0),
    ((128, 256), 35, 2),
    ((128, 256), 31, 0),
    ((128, 256), 32, 3),
    ((256, 128), 48, 3),
    ((128, 192), 48, 2),
    ((192, 128), 48, 2),
]
"""Shape, length of the sums, and number of the task that is started."""


def test_a_launch_starts_the_task_for_its_size(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    set_limits(monkeypatch, FEWEST=40 * 40, MANY=80 * 80, THIN=8)
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)

    @ti.kernel
    def multiply(a: Grid, b: Grid, c: Grid):
        for i, j in c:
            s = 0.0
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            c[i, j] = s

    for (n, w), inner, number in TASKS:
        x, y, c = numbers((n, inner), (inner, w), (n, w))
        counts = [task.iterations for task in multiply.launch_plan(x, y, c).tasks]
        if target != "cpu":
            expected = [0, 0, 0, 0] if target == "cuda" else [0, 0, 0]  # Vulkan has no task for whole tiles
            number = min(number, len(expected) - 1)
            extent, threads = [(1, 1), (64, 128 if target == "cuda" else 256), (128, 256), (128, 256)][number]
            expected[number] = -(-n // extent) * -(-w // extent) * threads
            assert counts == expected, (n, w, inner)  # and no block more
        for _ in range(20 if target == "cuda" else 2):  # on CUDA the later ones are graphs
            c[:] = -1
            multiply(x, y, c)
            assert np.array_equal(c, x @ y), (n, w, inner)


WHOLE: dict[str, tuple[Callable[..., Any], Callable[..., Any], tuple[int, int, int]]] = {
    "two tiles": (lambda x: x, lambda y: y, (128, 32, 256)),
    "three tiles, first transposed": (lambda x: x.T, lambda y: y, (256, 48, 128)),
    "seven tiles, second transposed": (lambda x: x, lambda y: y.T, (128, 112, 128)),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("case", WHOLE)
def test_whole_tiles_are_double_buffered(target: str, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    """On CUDA a block loads one tile while it combines another one; the last one is loaded twice."""
    set_limits(monkeypatch, FEWEST=1, MANY=1)
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    of_x, of_y, (n, m, w) = WHOLE[case]
    x, y = numbers((n, m), (m, w))
    is_first, is_second = of_x(x) is x, of_y(y) is y

    @ti.kernel
    def multiply(a: Grid, b: Grid, c: Grid):
        for i, j in c:
            s = 0.0
            for k in range(b.shape[0] if ti.static(is_second) else b.shape[1]):
                left = a[i, k] if ti.static(is_first) else a[k, i]
                right = b[k, j] if ti.static(is_second) else b[j, k]
                s += left * right
            c[i, j] = s

    c = np.full((n, w), -1, np.float32)
    arguments = of_x(x).copy(), of_y(y).copy(), c
    assert "double-buffered" in multiply.source(*arguments, arch=ti.cuda)
    assert "double-buffered" not in multiply.source(*arguments, arch=ti.vulkan)
    multiply(*arguments)
    assert np.array_equal(c, x @ y)


def test_whole_tiles_from_a_later_index(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A first index that is no multiple of a tile has no task for whole tiles."""
    set_limits(monkeypatch, FEWEST=1, MANY=1)
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)

    def product_from(start: int) -> Any:
        @ti.kernel
        def multiply(a: Grid, b: Grid, c: Grid):
            for i, j in c:
                s = 0.0
                for k in range(start, a.shape[1]):
                    s += a[i, k] * b[k, j]
                c[i, j] = s

        return multiply

    x, y, c = numbers((128, 64), (64, 128), (128, 128))
    for start in (0, 8, 16, 33):
        multiply = product_from(start)
        if start in (16, 33):  # compilers take a second for each
            multiply(x, y, c)
            assert np.array_equal(c, x[:, start:] @ y[start:])
        tasks = multiply.source(x, y, c, arch=ti.cuda).count("extern")
        assert tasks == (4 if start % 16 == 0 else 3)


@pytest.mark.parametrize("of_each", [27, 31])
def test_batches_of_small_products(target: str, monkeypatch: pytest.MonkeyPatch, of_each: int) -> None:
    """Pairs of the vectors of a sample, as of a recommender: a tile of 32 x 32 for each sample."""
    set_limits(monkeypatch, FEWEST=1)
    monkeypatch.setattr(MODULES[0], "BUSY", 1)
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    (x,) = numbers((5, of_each, 32))
    e, z = ti.field(ti.f32, x.shape), ti.field(ti.f32, (5, of_each, of_each))
    e.from_numpy(x)

    @ti.kernel
    def interact():
        for b, i, j in z:
            if j < i:
                s = 0.0
                for d in range(32):
                    s += e[b, i, d] * e[b, j, d]
                z[b, i, j] = s

    assert "a block computes 32 x 32 elements" in interact.source(arch=ti.cuda)
    interact()
    assert np.allclose(z.to_numpy(), np.tril(x @ x.transpose(0, 2, 1), -1), rtol=1e-4, atol=1e-4)


def test_the_text_of_the_ir_says_which_task_is_for_whole_tiles() -> None:
    """Two tasks are for as many iterations."""
    ti.init(arch=ti.cpu, log_level=ti.ERROR)

    @ti.kernel
    def multiply(a: Grid, b: Grid, c: Grid):
        for i, j in c:
            s = 0.0
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            c[i, j] = s

    x, y, c = numbers((8, 8), (8, 8), (8, 8))
    text = multiply.ir("final", x, y, c, arch=ti.cuda)
    heads = [line.split(" for ")[1] for line in text.splitlines() if line.startswith("  task ")]
    assert heads == [
        "fewer than 90,000 iterations, or 32 along an axis or inside {",
        "90,000 to 4,194,303 iterations, or 128 along an axis {",
        "4,194,304 iterations and more, if a tile is not whole {",
        "4,194,304 iterations and more, by whole tiles {",
    ]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("inner", [5, 31, 32, 40])
@pytest.mark.parametrize("of_fields", [False, True])
def test_short_inner_loops_of_a_launch_run_as_before(target: str, inner: int, of_fields: bool) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    x, y, z = numbers((300, inner), (inner, 310), (300, 310))

    @ti.kernel
    def multiply(a: Grid, b: Grid, c: Grid):
        for i, j in c:
            s = 0.0
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            c[i, j] = s

    if of_fields:
        a, b, c = (ti.field(ti.f32, value.shape) for value in (x, y, z))
        a.from_numpy(x)
        b.from_numpy(y)

        @ti.kernel
        def multiply_fields(end: ti.i32):
            for i, j in c:
                s = 0.0
                for k in range(2, end):
                    s += a[i, k] * b[k, j]
                c[i, j] = s

        plan = multiply_fields.launch_plan(inner)
        multiply_fields(inner)
        got, wanted, is_short = c.to_numpy(), x[:, 2:] @ y[2:], inner < 34
    else:
        plan = multiply.launch_plan(x, y, z)
        multiply(x, y, z)
        got, wanted, is_short = z, x @ y, inner < 32
    assert np.array_equal(got, wanted)
    if target != "cpu":
        assert len(plan.tasks) == (2 if of_fields else 4 if target == "cuda" else 3)
        assert bool(plan.tasks[0].iterations) == is_short


def test_two_products_are_two_launches(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A launch that starts one of several tasks is prepared in another way than one of several loops."""
    set_limits(monkeypatch, FEWEST=1, THIN=1, SHORT=1)
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)

    @ti.kernel
    def multiply_twice(a: Grid, b: Grid, c: Grid, d: Grid):
        for i, j in c:
            s = 0.0
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            c[i, j] = s
        for i, j in d:
            s = 0.0
            for k in range(a.shape[1]):
                s += c[i, k] * b[k, j]
            d[i, j] = s

    x, y, c, d = numbers((70, 70), (70, 70), (70, 70), (70, 70))
    for _ in range(20):
        c[:], d[:] = 0, 0
        multiply_twice(x, y, c, d)
        assert np.array_equal(c, x @ y)
        assert np.array_equal(d, (x @ y) @ y)
