"""Pass `block_tiles`: what all threads of a block read in the same order is staged; results are those of plain loops."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.sampled(3)  # the rest in `make test-all`

Array = ti.types.ndarray(ti.f32, 1)


@ti.kernel
def pairs(x: Array, w: Array, out: Array, first: ti.i32):
    for i in out:
        s, least = 0.0, 1e9
        for j in range(first, x.shape[0]):
            if x[j] == 2.0:
                continue
            s += w[j] * (x[j] - i)
            if x[j] * i < least:
                least = x[j] * i + j
        out[i] = s + least


def expected(x, w, n, first):
    out = np.zeros(n)
    for i in range(n):
        s, least = 0.0, 1e9
        for j in range(first, len(x)):
            if x[j] == 2.0:
                continue
            s += w[j] * (x[j] - i)
            if x[j] * i < least:
                least = x[j] * i + j
        out[i] = s + least
    return out


@pytest.mark.parametrize(
    ("n", "m", "first"), [(1, 1, 0), (37, 129, 0), (30, 257, 5), (3, 0, 0), (5, 128, 200), (0, 9, 0)]
)
def test_results(target: str, n: int, m: int, first: int) -> None:
    x, w = (np.arange(m) * 7 % 5).astype(np.float32), (np.arange(m) % 3).astype(np.float32)
    out = np.zeros(n, np.float32)
    pairs(x, w, out, first)
    ti.sync()
    assert np.array_equal(out, expected(x, w, n, first))


def fields(arch, **options):
    """Return a kernel on fields of whole blocks, with a vector and a second loop, and the sums."""
    ti.init(arch=arch, log_level=ti.ERROR, **options)
    n = 128
    v, c, out = ti.Vector.field(2, ti.f32, n), ti.field(ti.i32, n), ti.field(ti.f32, 64)

    @ti.kernel
    def add():
        for i in v:
            v[i] = [i % 3, i % 5]
            c[i] = i % 4
        ti.loop_config(block_dim=32)
        for i in out:
            s = 0.0
            for j in range(n):
                s += v[j].dot(v[i]) + v[j].x
            for j in range(n):
                s += c[j] * j
            out[i] = s

    return add, out


def test_fields_of_whole_blocks(target: str) -> None:
    add, out = fields(getattr(ti, target))
    add()
    v = np.array([[i % 3, i % 5] for i in range(128)], float)
    sums = v @ v.sum(0) + v[:, 0].sum() + sum(j % 4 * j for j in range(128))
    assert np.array_equal(out.to_numpy(), sums[:64])


def test_sources() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    x = np.zeros(3, np.float32)
    cuda = pairs.source(x, x, x, 0, arch=ti.cuda)
    assert "__shared__ float x_tile[BLOCK];" in cuda and "#pragma unroll 16" in cuda and "(block_tiles)" in cuda
    assert "shared float w_tile[BLOCK];" in pairs.source(x, x, x, 0, arch=ti.vulkan)
    assert "_tile[" not in pairs.source(x, x, x, 0, arch=ti.x64)
    assert "_tile[" not in fields(ti.python, passes="-block_tiles")[0].source(arch=ti.cuda)
    assert "_tile[" not in fields(ti.python, make_block_local=False)[0].source(arch=ti.cuda)
    assert fields(ti.python)[0].source(arch=ti.cuda).count("_tile[BLOCK_32]") == 2


def test_loops_that_stay() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    n = 1024
    a, b, out = ti.field(ti.f32, n), ti.field(ti.f32, (n, n)), ti.field(ti.f32, n)

    @ti.kernel
    def others(k: ti.i32):
        for i in out:
            if i > k:  # some threads only
                for j in range(n):
                    out[i] += a[j]
            for j in range(i):  # bounds of the thread
                out[i] += a[j]
            for j in range(n):  # another array at its index
                out[i] += a[j] * b[i, j]
            for j in range(n):  # some threads leave
                if a[j] > i:
                    break
                out[i] += a[j]
            for j in range(k):
                out[i] += a[j + 1]
            for j in range(100):  # short
                out[i] += a[j]

    @ti.kernel
    def written(k: ti.i32):
        for i in a:
            s = 0.0
            for j in range(n):
                s += a[j]
            a[i] = s

    @ti.kernel
    def left(k: ti.i32):
        for i in out:
            if i == k:
                continue
            for j in range(n):
                out[i] += a[j]

    for kernel in (others, written, left):
        assert "_tile[" not in kernel.source(3, arch=ti.cuda)


def test_a_store_before_the_loop_is_seen_through_another_name(target: str) -> None:
    """One thread, so that nothing races: the tile has what it stored."""
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)

    @ti.kernel
    def add(x: Array, y: Array, out: Array):
        for i in range(1):
            y[i] = 5.0
            s = 0.0
            for j in range(x.shape[0]):
                s += x[j]
            out[i] = s

    x, out = ti.ndarray(ti.f32, 3), ti.ndarray(ti.f32, 1)
    x.fill(1.0)
    add(x, x, out)
    assert out.to_numpy().tolist() == [7.0]


def test_loops_of_a_task_share_tiles(target: str) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    a, b, out = ti.field(ti.f32, 300), ti.field(ti.f32, 300), ti.field(ti.f32, 20)

    @ti.kernel
    def add(n: ti.i32):
        for i in out:
            s = 0.0
            for j in range(n):
                s += a[j] * i
            for j in range(1, n):
                s += a[j] + b[j]
            out[i] = s

    a.fill(2.0)
    b.fill(3.0)
    add(300)
    assert np.array_equal(out.to_numpy(), 600 * np.arange(20) + 5 * 299)
    assert add.source(1, arch=ti.cuda).count("__shared__ float") == 2


def test_arrays_of_one_name_are_counted_separately(target: str) -> None:
    """Two shared arrays of a function that is called twice: 8 KB each."""
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)

    @ti.func
    def swapped(x):
        tile = ti.simt.block.SharedArray(2048, ti.f32)
        t = ti.simt.block.thread_idx()
        tile[t] = x
        ti.simt.block.sync()
        return tile[31 - t]

    @ti.kernel
    def run(out: ti.types.ndarray(ti.f32, 1)):
        ti.loop_config(block_dim=32)
        for i in range(32):
            out[i] = swapped(i * 1.0) + swapped(i * 2.0)

    out = np.zeros(32, np.float32)
    run(out)
    ti.sync()
    assert np.array_equal(out, 3.0 * np.arange(31, -1, -1))
