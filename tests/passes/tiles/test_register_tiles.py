"""Pass `register_tiles`: products of matrices by tiles; results have the bits of single iterations, at edges too."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.targets("vulkan", "cuda")  # elsewhere the pass returns at once

Grid = ti.types.ndarray(ti.f32, 2)
MODULE = sys.modules["shadesmith.transpiler.passes.tiles.parts.register_plan"]
TILES = sys.modules["shadesmith.transpiler.passes.tiles.register_tiles"]
NOTE = "(register_tiles)"


@pytest.fixture(autouse=True)
def _of_blocks(request: pytest.FixtureRequest) -> None:
    """Leave out the interpreter, which has no blocks, and takes seconds for a product."""
    if "target" in request.fixturenames and request.getfixturevalue("target") == "python":
        pytest.skip("the interpreter has no tiles")


@pytest.fixture
def for_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let few iterations be enough."""
    monkeypatch.setattr(MODULE, "SHORT", 1)
    for name in ("FEWEST", "THIN"):
        for module in (MODULE, TILES):
            monkeypatch.setattr(module, name, 1)


@pytest.fixture
def for_many(for_few: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let few iterations be enough for blocks of 128 x 128."""
    monkeypatch.setattr(MODULE, "WORTH", 0)
    for module in (MODULE, TILES):
        monkeypatch.setattr(module, "MANY", 1)


def numbers(*shapes: tuple[int, ...], dtype: type = np.float32) -> list[np.ndarray]:
    random = np.random.default_rng(3)
    return [random.integers(-9, 9, shape).astype(dtype) for shape in shapes]


def fields(dtype: Any, *values: np.ndarray) -> list[Any]:
    found = [ti.field(dtype, value.shape) for value in values]
    for field, value in zip(found, values, strict=True):
        field.from_numpy(value)
    return found


def product(n: int, m: int, w: int, start: float = 0.0) -> tuple[Any, Any, np.ndarray]:
    x, y, z = numbers((n, m), (m, w), (n, w))
    a, b, c = fields(ti.f32, x, y, z)

    @ti.kernel
    def multiply():
        for i, j in c:
            s = start
            for k in range(m):
                s += a[i, k] * b[k, j]
            c[i, j] = s

    return multiply, c, x @ y + start


SIZES = [(64, 16, 64), (128, 48, 64), (65, 17, 63), (1, 1, 1), (130, 33, 7), (3, 100, 129), (64, 1, 65)]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("n", "m", "w"), SIZES)
def test_a_product(target: str, for_few: None, n: int, m: int, w: int) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    multiply, c, expected = product(n, m, w)
    assert NOTE in multiply.source(arch=ti.cuda) and NOTE in multiply.source(arch=ti.vulkan)
    multiply()
    assert np.array_equal(c.to_numpy(), expected)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("n", "m", "w"), [(128, 16, 256), (128, 80, 128), (129, 23, 300), (5, 9, 130)])
def test_blocks_of_128_x_128(target: str, for_many: None, n: int, m: int, w: int) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    multiply, c, expected = product(n, m, w, 0.25)
    source = multiply.source(arch=ti.cuda)
    assert "128 x 128 elements" in source and ("double-buffered" in source) == (n % 128 == 0)
    multiply()
    assert np.array_equal(c.to_numpy(), expected)


def test_each_sum_has_the_order_of_the_source(target: str, for_few: None) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR, fast_math=False)
    n, m = 70, 50
    random = np.random.default_rng(0)
    x, y = random.random((n, m), np.float32), random.random((m, n), np.float32)
    a, b, c = fields(ti.f32, x, y, np.zeros((n, n), np.float32))

    @ti.kernel
    def add():
        for i, j in c:
            s = 0.0
            for k in range(m):
                s += a[i, k] + b[k, j]  # no product, whose sum may be rounded once
            c[i, j] = s

    add()
    total = np.zeros((n, n), np.float32)
    for k in range(m):
        total += x[:, k, None] + y[None, k]
    assert np.array_equal(c.to_numpy(), total)


LAYOUTS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "ik,kj": (lambda x: x, lambda y: y),
    "ik,jk": (lambda x: x, lambda y: y.T),
    "ki,kj": (lambda x: x.T, lambda y: y),
    "ki,jk": (lambda x: x.T, lambda y: y.T),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_transposed_factors(target: str, for_few: None, layout: str) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    n, m, w = 67, 21, 130
    x, y = numbers((n, m), (m, w))
    of_x, of_y = LAYOUTS[layout]
    a, b, c = fields(ti.f32, of_x(x), of_y(y), np.zeros((n, w), np.float32))
    is_first, is_second = layout[0] == "i", layout[3] == "k"

    @ti.kernel
    def multiply():
        for i, j in c:
            s = 0.0
            for k in range(m):
                left = a[i, k] if ti.static(is_first) else a[k, i]
                right = b[k, j] if ti.static(is_second) else b[j, k]
                s += left * right
            c[i, j] = s

    assert NOTE in multiply.source(arch=ti.cuda)
    multiply()
    assert np.array_equal(c.to_numpy(), x @ y)


@pytest.mark.parametrize("sizes", ["any", "for_few", "for_many"])
def test_ndarrays(target: str, sizes: str, request: pytest.FixtureRequest) -> None:
    """In the task of each size: as they are, these are few iterations. All run one kernel, which takes long to compile."""
    if sizes != "any":
        request.getfixturevalue(sizes)
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)

    @ti.kernel
    def multiply(a: Grid, b: Grid, c: Grid):
        for i, j in c:
            s = 1.0
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            c[i, j] = s

    assert NOTE in multiply.source(arch=ti.cuda)
    for n, m, w in [(64, 64, 64), (70, 31, 1), (1, 5, 200), (0, 4, 4), (4, 0, 4), (129, 16, 66)]:
        x, y = numbers((n, m), (m, w))
        c = np.full((n, w), -1, np.float32)
        multiply(x, y, c)
        assert np.array_equal(c, x @ y + 1), (n, m, w)


def test_the_same_ndarray_twice(target: str) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    (x,) = numbers((70, 40))

    @ti.kernel
    def gram(a: Grid, c: Grid):
        for i, j in c:
            s = 0.0
            for k in range(a.shape[1]):
                s += a[i, k] * a[j, k]
            c[i, j] = s

    assert NOTE in gram.source(arch=ti.cuda)
    c = np.zeros((70, 70), np.float32)
    gram(x, c)
    assert np.array_equal(c, x @ x.T)


def test_distances_with_what_surrounds_them(target: str, for_few: None) -> None:
    """A body that is no sum of products: iterations beyond the end would change it."""
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    n, m, w = 66, 19, 70
    x, y, z = numbers((n, m), (w, m), (n, w))
    a, b, c = fields(ti.f32, x, y, z)
    nearest = ti.field(ti.i32, (n, w))

    @ti.kernel
    def compare(scale: ti.f32):
        for i, j in c:
            largest, where = -1.0, -1
            for k in range(m):
                d = abs(a[i, k] - b[j, k]) + 0.5
                if_larger = d > largest
                where = ti.select(if_larger, k, where)
                largest = max(largest, d)
            if i != j:
                c[i, j] += scale * largest
            nearest[i, j] = where

    assert NOTE in compare.source(arch=ti.cuda)
    compare(2.0)
    d = np.abs(x[:, None] - y[None]) + 0.5
    expected = z + 2 * d.max(axis=2)
    expected[np.arange(n), np.arange(n)] = z[np.arange(n), np.arange(n)]
    assert np.array_equal(c.to_numpy(), expected) and np.array_equal(nearest.to_numpy(), d.argmax(axis=2))


def test_a_start_of_its_own_and_shifts(target: str, for_few: None) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    n, m, w = 80, 40, 75
    x, y, z, bias = numbers((n, m), (m, w), (n, w), (w,))
    a, b, c, d = fields(ti.f32, x, y, z, bias)

    @ti.kernel
    def multiply():
        for i, j in ti.ndrange((3, n - 2), (1, w)):
            s = d[j] * 2.0
            t = c[i, j]
            for k in range(2, m - 1):
                s += a[i + 1, k - 2] * b[k + 1, j - 1]
                t -= a[i + 1, k - 2]
            c[i, j] = s + t

    assert NOTE in multiply.source(arch=ti.cuda)
    multiply()
    expected = z.copy()
    left, right = x[4 : n - 1, 0 : m - 3], y[3:m, 0 : w - 1]
    expected[3 : n - 2, 1:] += left @ right + 2 * bias[1:] - left.sum(axis=1)[:, None]
    assert np.array_equal(c.to_numpy(), expected)


@pytest.mark.parametrize("n", [4, 66])
def test_a_batch(target: str, for_few: None, n: int) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    x, y = numbers((5, n, 18), (3, 18, 65))
    a, b, c = fields(ti.f32, x, y, np.zeros((5, n, 65), np.float32))

    @ti.kernel
    def multiply():
        for batch, i, j in c:
            s = 0.0
            for k in range(18):
                s += a[batch, i, k] * b[batch % 3, k, j]
            c[batch, i, j] = s

    assert NOTE in multiply.source(arch=ti.cuda)
    multiply()
    assert np.array_equal(c.to_numpy(), np.stack([x[p] @ y[p % 3] for p in range(5)]))


TYPES = {"i32": (ti.i32, np.int32), "u32": (ti.u32, np.uint32), "f64": (ti.f64, np.float64), "i64": (ti.i64, np.int64)}

SMALL_TYPES = {
    "f16": (ti.f16, np.float16, ti.f32, np.float32),
    "i8": (ti.i8, np.int8, ti.i32, np.int32),
    "u16": (ti.u16, np.uint16, ti.i64, np.int64),
}
"""Types of elements and of their sum."""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", TYPES)
def test_other_types(target: str, for_many: None, name: str) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    dtype, of_numpy = TYPES[name]
    random = np.random.default_rng(1)
    x, y = (random.integers(0, 1 << 20, shape).astype(of_numpy) for shape in ((66, 33), (33, 70)))
    a, b, c = fields(dtype, x, y, np.zeros((66, 70), of_numpy))

    @ti.kernel
    def multiply():
        for i, j in c:
            s = ti.cast(0, dtype)
            for k in range(33):
                s += a[i, k] * b[k, j]
            c[i, j] = s

    assert NOTE in multiply.source(arch=ti.cuda)
    multiply()
    assert np.array_equal(c.to_numpy(), x @ y)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("is_converted", [True, False])
@pytest.mark.parametrize("name", ["f16", "i8", "u16"])
def test_small_numbers(target: str, for_few: None, name: str, is_converted: bool) -> None:
    """Tiles have what the program converts them to; else a product has the type of its factors, and may wrap."""
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    dtype, of_numpy, wide, of_wide = SMALL_TYPES[name]
    x, y = numbers((66, 33), (70, 33))
    x, y = x.astype(of_numpy), (y * 50).astype(of_numpy)
    a, b, c = fields(dtype, x, y)[:2] + fields(wide, np.zeros((66, 70), of_wide))

    @ti.kernel
    def multiply():
        for i, j in c:
            s = ti.cast(0, wide)
            for k in range(33):
                if ti.static(is_converted):
                    s += ti.cast(a[i, k], wide) * ti.cast(b[j, k], wide)
                else:
                    s += a[i, k] * b[j, k]
            c[i, j] = s

    assert NOTE in multiply.source(arch=ti.cuda)
    multiply()
    if is_converted:
        expected = x.astype(of_wide) @ y.astype(of_wide).T
    else:
        expected = (x[:, None] * y[None]).astype(of_wide).sum(axis=2)
    assert np.array_equal(c.to_numpy(), expected)


@pytest.mark.all_targets
def test_zeros_with_a_sign(target: str, for_few: None) -> None:
    """A tile that ends after the loop adds no 0.0 to what started as -0.0."""
    if target == "vulkan":
        pytest.skip("drivers need not keep the sign of a zero")
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR, fast_math=False)
    zeros = np.full((65, 17), -0.0, np.float32)
    a, b, c = fields(ti.f32, zeros, np.ones((17, 65), np.float32), np.zeros((65, 65), np.float32))

    @ti.kernel
    def multiply():
        for i, j in c:
            s = -0.0
            for k in range(17):
                s += a[i, k] * b[k, j]
            c[i, j] = s

    multiply()
    assert np.signbit(c.to_numpy()).all()


def test_names_of_the_pass_in_the_program(target: str, for_few: None) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    x, y = numbers((66, 20), (20, 66))
    a, b, c = fields(ti.f32, x, y, np.zeros((66, 66), np.float32))

    @ti.kernel
    def multiply():
        for row, column in c:
            thread = 0.0
            load = 1.0
            for element in range(20):
                k_next = a[row, element]
                thread += k_next * b[element, column]
                load += 1.0
            row_in_tile = thread + load
            c[row, column] = row_in_tile

    assert NOTE in multiply.source(arch=ti.cuda)
    multiply()
    assert np.array_equal(c.to_numpy(), x @ y + 21)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("first", [-5, 3])
@pytest.mark.parametrize("end", [-2, 0, 37, 310])
def test_starts_and_ends_that_the_launch_chooses(target: str, first: int, end: int) -> None:
    """Two tasks share the iterations, and each runs in one of them, also before index 0."""
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    x, y = numbers((320, 9), (310, 9))

    @ti.kernel
    def add(a: Grid, b: Grid, c: Grid, last: ti.i32):
        for i, j in ti.ndrange((first, last), 310):
            s = 0.0
            for k in range(a.shape[1]):
                s += a[i + 5, k] * b[j, k]
            c[i + 5, j] += s

    source = add.source(arch=ti.cuda)
    assert source.count(NOTE) == 2
    c = np.ones((320, 310), np.float32)
    add(x, y, c, end)
    expected = np.ones((320, 310), np.float32)
    if end > first:
        expected[first + 5 : end + 5] += x[first + 5 : end + 5] @ y.T
    assert np.array_equal(c, expected)


def unsuitable() -> dict[str, Any]:
    """Return kernels that run as before."""
    n = 400
    a, b, c = (ti.field(ti.f32, (n, n)) for _ in range(3))
    weights = ti.field(ti.f32, n)

    @ti.kernel
    def in_place():
        for i, j in c:
            s = 0.0
            for k in range(n):
                s += c[i, k] * b[k, j]
            c[i, j] = s

    @ti.kernel
    def leaves():
        for i, j in c:
            s = 0.0
            for k in range(n):
                s += a[i, k] * b[k, j]
                if s > 5.0:
                    break
            c[i, j] = s

    @ti.kernel
    def counted_down():
        for i, j in c:
            s = 0.0
            p = n
            for k in range(n):
                p -= 1
                s += a[i, k] * b[k, j] * weights[p]
            c[i, j] = s

    @ti.kernel
    def blur():
        for i, j in ti.ndrange(n - 32, n - 32):
            s = 0.0
            for k in range(32):
                s += a[i + k, j] * b[k, j]
            c[i, j] = s

    @ti.kernel
    def rows_only():
        for i, j in c:
            s = 0.0
            for k in range(n):
                s += a[i, k]
            c[i, j] = s

    @ti.kernel
    def own_block():
        ti.loop_config(block_dim=64)
        for i, j in c:
            s = 0.0
            for k in range(n):
                s += a[i, k] * b[k, j]
            c[i, j] = s

    kernels = (in_place, leaves, counted_down, blur, rows_only, own_block)
    return {kernel.__name__: kernel for kernel in kernels}


@pytest.mark.parametrize("arch", ["cuda", "vulkan"])
def test_what_does_not_fit_runs_as_before(arch: str) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    sources = {name: kernel.source(arch=getattr(ti, arch)) for name, kernel in unsuitable().items()}
    assert [name for name, source in sources.items() if NOTE in source] == []


def test_short_loops_run_as_before() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    found = {sizes: NOTE in product(*sizes)[0].source(arch=ti.cuda) for sizes in itertools.product((15, 400), repeat=3)}
    assert [sizes for sizes, has_tiles in found.items() if has_tiles] == [(400, 400, 400)]


def test_it_can_be_switched_off() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR, passes="-register_tiles")
    assert NOTE not in product(512, 512, 512)[0].source(arch=ti.cuda)


def test_a_static_loop_after_the_serial_loop(target: str, for_few: None) -> None:
    """The copies of an iteration have loops of their own, whose indices they use."""
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)

    @ti.kernel
    def multiply(a: Grid, b: Grid, c: Grid):
        for i, j in c:
            s = 0.0
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            for z in ti.static(range(3)):
                c[i, j] += s * b[z, j]

    assert NOTE in multiply.source(arch=ti.cuda)
    x, y, c = numbers((70, 20), (20, 66), (70, 66))
    expected = c + (x @ y) * y[:3].sum(axis=0)
    multiply(x, y, c)
    assert np.array_equal(c, expected)
