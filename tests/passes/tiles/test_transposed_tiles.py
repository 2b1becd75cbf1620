"""Pass `transposed_tiles`: loops of GPUs over arrays along two axes run in tiles; each iteration runs once, at edges too."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.transpiler.passes.tiles import transposed_tiles as tiles

pytestmark = pytest.mark.targets("vulkan", "cuda")  # elsewhere the pass returns at once

SHAPES = [(256, 256), (257, 263), (300, 219), (65536, 1), (31, 2115), (2115, 31)]


def transposed(arch, n, m, **options):
    ti.init(arch=arch, log_level=ti.ERROR, **options)
    x, y, count = ti.field(ti.i32, (n, m)), ti.field(ti.i32, (m, n)), ti.field(ti.i32, (n, m))

    @ti.kernel
    def transpose():
        for i, j in x:
            y[j, i] = x[i, j]
            count[i, j] += 1

    return transpose, x, y, count


@pytest.mark.parametrize(("n", "m"), SHAPES)
def test_each_iteration_runs_once(target: str, n: int, m: int) -> None:
    transpose, x, y, count = transposed(getattr(ti, target), n, m)
    numbers = np.arange(n * m, dtype=np.int32).reshape(n, m)
    x.from_numpy(numbers)
    transpose()
    assert np.array_equal(y.to_numpy(), numbers.T) and (count.to_numpy() == 1).all()


@pytest.mark.parametrize("first", [0, 1, -3])
def test_bounds_of_their_own(target: str, first: int) -> None:
    if target == "python":
        pytest.skip("the interpreter has no tiles, and takes seconds for 80,000 iterations")
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    n, m = 261, 307
    a = ti.field(ti.f32, (n + 8, m + 8))
    b = ti.field(ti.f32, (m + 8, n + 8))

    @ti.kernel
    def add(k: ti.f32):
        for i, j in ti.ndrange((first, n - 2), (2, m)):
            b[j + 1, i + 4] += k * a[i + 3, j]

    numbers = np.random.default_rng(0).random((n + 8, m + 8), dtype=np.float32)
    a.from_numpy(numbers)
    add(2.0)
    expected = np.zeros((m + 8, n + 8), np.float32)
    expected[3 : m + 1, first + 4 : n + 2] = 2 * numbers[first + 3 : n + 1, 2:m].T
    assert np.array_equal(b.to_numpy(), expected)


@pytest.mark.parametrize("back", [True, False])
def test_a_rotation(target: str, back: bool) -> None:
    """An index may be subtracted from a number, and numbers that the kernel is given may be added."""
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    n, m = (26, 30) if target == "python" else (260, 300)
    a, b = ti.field(ti.i32, (n, m)), ti.field(ti.i32, (m, n + 4))

    @ti.kernel
    def rotate(by: ti.i32):
        for i, j in a:
            if ti.static(back):
                b[j, n - 1 - i + by] = a[i, j]
            else:
                b[m - 1 - j, by + (i + 1)] = a[i, j]

    values = np.arange(n * m, dtype=np.int32).reshape(n, m)
    a.from_numpy(values)
    assert target == "python" or "tiles of 32 x 8" in rotate.source(3, arch=ti.cuda)
    rotate(3)
    first = 3 if back else 4
    expected = np.rot90(values, -1 if back else 1)
    assert np.array_equal(b.to_numpy()[:, first : first + n], expected[:, : n + 4 - first])


def test_three_axes(target: str) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    a, b, c = (ti.field(ti.i32, shape) for shape in ((9, 130, 70), (70, 9, 130), (130, 9, 70)))

    @ti.kernel
    def permute():
        for i, j, k in a:
            b[k, i, j] = a[i, j, k]
            c[j, i, k] = a[i, j, k]

    numbers = np.arange(9 * 130 * 70, dtype=np.int32).reshape(9, 130, 70)
    a.from_numpy(numbers)
    permute()
    assert np.array_equal(b.to_numpy(), numbers.transpose(2, 0, 1))
    assert np.array_equal(c.to_numpy(), numbers.transpose(1, 0, 2))


def test_sources() -> None:
    transpose, *_ = transposed(ti.python, 256, 256)
    for arch, number in ((ti.cuda, "index / 8192 * 32 + index / 8 % 32, j = index / 256 % 32 * 8 + index % 8"),):
        source = transpose.source(arch=arch)
        assert number in source and "tiles of 32 x 8: arrays are accessed along i and j (transposed_tiles)" in source
    assert "(transposed_tiles)" in transpose.source(arch=ti.vulkan)
    assert "(transposed_tiles)" not in transpose.source(arch=ti.x64)
    for shape, options in (((256, 256), {"passes": "-transposed_tiles"}), ((64, 64), {})):
        assert "tiles of" not in transposed(ti.python, *shape, **options)[0].source(arch=ti.cuda)


def test_threads_follow_memory_where_all_arrays_are_transposed() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    image = ti.field(ti.f32, (512, 640))

    @ti.kernel
    def paint():
        for i, j in ti.ndrange(640, 512):
            image[j, i] = i + j

    assert "i = index / 16384 * 32 + index % 32, j = index / 256 % 64 * 8 + index / 32 % 8" in paint.source(
        arch=ti.cuda
    )


def test_which_loops_stay_in_rows() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    size = 512
    x, y, v = ti.field(ti.f32, (size, size)), ti.field(ti.f32, (size, size)), ti.field(ti.f32, size)
    assert size * size >= tiles.FEWEST

    @ti.kernel
    def plain():
        for i, j in x:
            y[i, j] = x[i, j] + v[i]

    @ti.kernel
    def product():
        for i, j in x:
            for k in range(size):
                y[i, j] += x[i, k] * x[j, k]

    @ti.kernel
    def total() -> ti.f32:
        s = 0.0
        for i, j in x:
            s += x[j, i]
        return s

    for kernel in (plain, product, total):
        assert "(transposed_tiles)" not in kernel.source(arch=ti.cuda)


@pytest.mark.parametrize("staged", [False, True])
def test_whole_tiles_never_make_a_loop_too_long(staged: bool) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    size = 46340  # whose square is the largest below 2^31
    x, y = ti.field(ti.f32, (4, size)), ti.field(ti.f32, (8, 8))

    @ti.kernel
    def touch():
        if ti.static(staged):
            ti.block_local(y)
        for i, j in ti.ndrange(size, size):
            x[j % 4, i] = y[i, j]
            x[i % 4, j] = 1.0

    source = touch.source(arch=ti.cuda)
    assert "index < size * size" in source and "tiles of" not in source and "y_tile" not in source
