"""Pass `few_threads`: loops of few long iterations have small blocks, and in CUDA registers."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.targets("vulkan", "cuda")  # elsewhere the pass returns at once

SMALL = "#define BLOCK 32  // 4,096 iterations, for more multiprocessors (few_threads)\n"
BOUNDS = "__launch_bounds__(BLOCK, 256 / BLOCK)"
I1, I2 = ti.types.ndarray(ti.i32, 1), ti.types.ndarray(ti.i32, 2)
NOTE = "(few_threads)"
WHY = "// 256 threads on an SM, with up to 255 registers for loads in flight (few_threads)\n"


def walkers(n: int, length: int = 24, block_dim: int = 0):
    x, y = ti.field(ti.i32, (length, n)), ti.field(ti.i32, n)
    x.from_numpy((np.arange(length * n, dtype=np.int32).reshape(length, n) * 7) % 11 - 5)

    @ti.kernel
    def walk():
        if ti.static(block_dim > 0):
            ti.loop_config(block_dim=block_dim)
        for i in range(n):
            at = 3
            for k in range(length):
                at = ti.max(at + x[k, i], -20) % 17
            y[i] = at

    return walk, x.to_numpy(), y


@pytest.mark.parametrize("n", [1, 33, 4096])
def test_results_stay(target: str, n: int) -> None:
    walk, x, y = walkers(n)
    walk()
    at = np.full(n, 3)
    for row in x:
        at = np.maximum(at + row, -20) % 17
    assert np.array_equal(y.to_numpy(), at)


def summed(n: int, length: int = 24):
    x, y, total, most = ti.field(ti.i32, (length, n)), ti.field(ti.i32, n), ti.field(ti.i32, ()), ti.field(ti.i32, ())
    x.from_numpy((np.arange(length * n, dtype=np.int32).reshape(length, n) * 7) % 11 - 5)

    @ti.kernel
    def walk() -> ti.i32:
        returned = 0
        total[None] = 0
        most[None] = -1000
        for i in range(n):
            at = 3
            for k in range(length):
                at = ti.max(at + x[k, i], -20) % 17
            y[i] = at
            total[None] += at
            ti.atomic_max(most[None], at + x[0, i])
            returned += at * at
        return returned

    return walk, x.to_numpy(), y, total, most


@pytest.mark.sampled(2)
@pytest.mark.parametrize("n", [1, 256, 257, 1331, 4096])
def test_sums_of_few_long_iterations(target: str, n: int) -> None:
    walk, x, y, total, most = summed(n)
    at = np.full(n, 3)
    for row in x:
        at = np.maximum(at + row, -20) % 17
    for _ in range(2):
        assert walk() == (at * at).sum()
        assert np.array_equal(y.to_numpy(), at) and total[None] == at.sum() and most[None] == (at + x[0]).max()


def test_sums_have_blocks_of_a_warp() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    source = summed(4096)[0].source(arch=ti.cuda)
    assert NOTE in source and "BLOCK 32" in source and "(reduce_atomics)" in source

    @ti.kernel
    def rows(x: I2) -> ti.i32:
        total = 0
        for i in range(x.shape[0]):
            at = 3
            for k in range(x.shape[1]):
                at = (at + x[i, k]) % 17
            total += at
        return total

    assert NOTE not in rows.source(ti.ndarray(ti.i32, (8, 8)), arch=ti.cuda)  # `BLOCK` is in the code of sums


def test_blocks_of_a_warp_and_registers() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    source = walkers(4096)[0].source(arch=ti.cuda)
    assert SMALL in source and BOUNDS in source and WHY in source
    ti.init(arch=ti.python, log_level=ti.ERROR, why_comments=False)
    source = walkers(4096)[0].source(arch=ti.cuda)
    assert "#define BLOCK 32\n" in source and NOTE not in source


def test_what_stays() -> None:
    """Many iterations, very few, and short ones."""
    ti.init(arch=ti.python, log_level=ti.ERROR)
    sizes = ((1 << 16, 24, 0), (4096, 3, 0), (255, 24, 0), (1 << 16, 24, 64), (255, 24, 128))
    for n, length, block_dim in sizes:
        source = walkers(n, length, block_dim)[0].source(arch=ti.cuda)
        assert NOTE not in source and "BLOCK 32" not in source, (n, length, block_dim)
    ti.init(arch=ti.python, log_level=ti.ERROR, passes="-few_threads")
    assert NOTE not in walkers(4096)[0].source(arch=ti.cuda)
    ti.init(arch=ti.python, log_level=ti.ERROR, max_block_dim=64)
    assert "#define BLOCK 64\n" in walkers(4096)[0].source(arch=ti.cuda)


@pytest.mark.parametrize("block_dim", [64, 128, 512])
def test_blocks_of_the_program_have_registers(block_dim: int) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    source = walkers(4096, 24, block_dim)[0].source(arch=ti.cuda)
    threads = max(256, block_dim)
    assert f"#define BLOCK {block_dim}\n" in source and f"__launch_bounds__(BLOCK, {threads} / BLOCK)" in source
    assert f"{threads} threads on an SM" in source and NOTE in source


def test_tasks_with_blocks_of_their_own() -> None:
    """One task of a kernel has small blocks, the other one keeps its own."""
    ti.init(arch=ti.python, log_level=ti.ERROR)
    x, y = ti.field(ti.f32, 4096), ti.field(ti.f32, 1 << 20)

    @ti.kernel
    def both():
        for i in x:
            s = 0.0
            for k in range(4096):
                if k != i:
                    s += 1 / (ti.cast(k - i, ti.f32) + x[k] % 7)
            x[i] = s
        for i in y:
            y[i] = i * 0.5

    source = both.source(arch=ti.cuda)
    assert "#define BLOCK 32  // 4,096 iterations" in source and "BLOCK, 256 / BLOCK" in source


def test_blocks_that_the_launch_chooses(target: str) -> None:
    """Over ndarrays CUDA C reads the size of a block, also in a grid-stride loop."""

    @ti.kernel
    def walk(x: I2, y: I1):
        for i in range(y.shape[0]):
            at = 3
            for k in range(x.shape[0]):
                at = ti.max(at + x[k, i], -20) % 17
            y[i] = at

    @ti.kernel
    def walk_in_strides(x: I2, y: I1):
        ti.loop_config(grid_stride=True)
        for i in range(y.shape[0]):
            at = 3
            for k in range(x.shape[0]):
                at = ti.max(at + x[k, i], -20) % 17
            y[i] = at

    for n in (1, 33, 300) if target == "python" else (1, 33, 32768, 32769):
        values = (np.arange(18 * n, dtype=np.int32).reshape(18, n) * 7) % 11 - 5
        at = np.full(n, 3)
        for row in values:
            at = np.maximum(at + row, -20) % 17
        for kernel in (walk, walk_in_strides):
            x, y = ti.ndarray(ti.i32, (18, n)), ti.ndarray(ti.i32, n)
            x.from_numpy(values)
            kernel(x, y)
            assert np.array_equal(y.to_numpy(), at)
    source = walk.source(x, y, arch=ti.cuda)
    assert "blockIdx.x * blockDim.x + threadIdx.x" in source and "__launch_bounds__(BLOCK)" in source
    assert "// a launch of up to 32,768 iterations has blocks of 32 threads (few_threads)\n" in source
    assert "index += gridDim.x * blockDim.x" in walk_in_strides.source(x, y, arch=ti.cuda)
    assert "blockDim" not in walk.source(x, y, arch=ti.vulkan)


def test_nested_loops_take_long() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    x = ti.field(ti.f32, 4096)

    @ti.func
    def inner(a):
        for _ in range(5):
            a = ti.sin(a) + 1
        return a

    @ti.kernel
    def nested():
        for i in x:
            for _ in range(4):
                x[i] = inner(x[i])

    assert NOTE in nested.source(arch=ti.cuda)
