"""`ti.block_local`: blocks of threads load what they read into shared memory; results are those of plain loops."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

pytestmark = [
    pytest.mark.sampled(3),  # the rest in `make test-all`
    pytest.mark.targets("vulkan", "cuda"),  # elsewhere the pass returns at once
]


def numbers(shape, dtype=np.float32):
    return (np.arange(np.prod(shape)) * 7 % 23).reshape(shape).astype(dtype)


def stencil(shape, dtype=ti.f32, block_dim=None):
    """Return a field, a field of sums of neighbours within the border, and the kernel that computes it."""
    u, w = ti.field(dtype, shape), ti.field(dtype, shape)
    config = {} if block_dim is None else {"block_dim": block_dim}

    @ti.kernel
    def relax():
        ti.block_local(u)
        ti.loop_config(**config)
        for I in ti.grouped(u):
            is_inside = True
            for k in ti.static(range(len(shape))):
                if I[k] == 0 or I[k] == shape[k] - 1:
                    is_inside = False
            if is_inside:
                s = u[I] * 2
                for k in ti.static(range(len(shape))):
                    s += u[I - ti.Vector.unit(len(shape), k)] - 3 * u[I + ti.Vector.unit(len(shape), k)]
                w[I] = s

    u.from_numpy(numbers(shape, u.to_numpy().dtype))
    return u, w, relax


def expected_of(u):
    found, inner = np.zeros_like(u), (slice(1, -1),) * u.ndim
    if min(u.shape) > 2:
        s = u[inner] * 2
        for k in range(u.ndim):
            low, high = list(inner), list(inner)
            low[k], high[k] = slice(0, -2), slice(2, None)
            s = s + (u[tuple(low)] - 3 * u[tuple(high)])
        found[inner] = s
    return found


SHAPES = [(1,), (300,), (1, 1), (3, 5), (8, 32), (9, 33), (40, 65), (3, 3, 3), (5, 9, 20), (4, 8, 16)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_stencils(target, shape):
    u, w, relax = stencil(shape)
    relax()
    assert np.array_equal(w.to_numpy(), expected_of(u.to_numpy()))


@pytest.mark.parametrize(("dtype", "block_dim"), [(ti.i32, 64), (ti.i64, 128), (ti.f64, 512), (ti.i32, 96)])
def test_types_and_blocks(target, dtype, block_dim):
    u, w, relax = stencil((21, 37), dtype, block_dim)
    relax()
    assert np.array_equal(w.to_numpy(), expected_of(u.to_numpy()))


def blur(n, m):
    a, b = ti.Vector.field(2, ti.f32, (n, m)), ti.Vector.field(2, ti.f32, (n, m))

    @ti.kernel
    def sums():
        ti.block_local(a, b)  # b is written, and stays where it is
        for i, j in ti.ndrange((2, n - 2), (3, m)):
            s = ti.Vector([0.0, 0.0])
            for k in range(-2, 3):
                for l in range(3):
                    if a[i - k, j - l].x > 3.0:
                        s += a[i - k, j - l] + a[i, j]
            b[i, j] += s
            b[i, j].y += a[1 + i, j - 3].x

    a.from_numpy(numbers((n, m, 2)))
    return a, b, sums


@pytest.mark.parametrize(("n", "m"), [(5, 4), (37, 70)])
def test_inner_loops(target, n, m):
    a, b, sums = blur(n, m)
    sums()
    u, expected = a.to_numpy(), np.zeros((n, m, 2), np.float32)
    for i in range(2, n - 2):
        for j in range(3, m):
            near = [u[i - k, j - l] + u[i, j] for k in range(-2, 3) for l in range(3) if u[i - k, j - l, 0] > 3]
            expected[i, j] = np.sum(near, axis=0) if near else 0
            expected[i, j, 1] += u[i + 1, j - 3, 0]
    assert np.array_equal(b.to_numpy(), expected)


def test_large_grid_of_a_part(target):
    """More tiles than one, a loop that starts inside, and two arrays of which one is read at one place."""
    n = 700
    x, y, z = ti.field(ti.f32, n), ti.field(ti.f32, n), ti.field(ti.f32, n)

    @ti.kernel
    def add():
        ti.block_local(x, y)
        for i in range(10, 690):
            z[i] = x[i - 10] + x[i + 9] + y[i]

    x.from_numpy(numbers(n))
    y.from_numpy(numbers(n)[::-1].copy())
    add()
    u, v, found = x.to_numpy(), y.to_numpy(), z.to_numpy()
    assert np.array_equal(found[10:690], u[:680] + u[19:699] + v[10:690]) and not found[:10].any()


@pytest.mark.parametrize("arch", ["cuda", "vulkan"])
def test_source(arch):
    ti.init(arch=ti.python, log_level=ti.ERROR)
    _, _, relax = stencil((64, 64))
    text = relax.source(arch=arch)
    assert "the block loads the 10 x 34 elements of u that it reads (block_local)" in text
    assert "u_tile[" in text and "a block is a tile of 8 x 32" in text
    _, _, sums = blur(20, 64)
    assert "a_tile" in sums.source(arch=arch) and "b_tile" not in sums.source(arch=arch)


def test_stays_plain():
    ti.init(arch=ti.python, log_level=ti.ERROR)
    u, w = ti.field(ti.f32, (64, 64)), ti.field(ti.f32, (64, 64))
    index = ti.field(ti.i32, 64)

    @ti.kernel
    def elsewhere():
        ti.block_local(u)
        for i, j in u:
            w[i, j] = u[j, i] + u[index[i], j]

    @ti.kernel
    def in_place():
        ti.block_local(u)
        for i, j in u:
            u[i, j] = u[i, j - 1]

    @ti.kernel
    def of_a_launch(n: ti.i32):
        ti.block_local(u)
        for i, j in ti.ndrange(n, n):
            w[i, j] = u[i, j]

    for kernel, given in ((elsewhere, ()), (in_place, ()), (of_a_launch, (3,))):
        assert "_tile" not in kernel.source(*given, arch=ti.cuda)
    for options in ({"make_block_local": False}, {"passes": "-block_local"}, {"debug": True}):
        ti.init(arch=ti.python, log_level=ti.ERROR, **options)
        assert "_tile" not in stencil((64, 64))[2].source(arch=ti.cuda)
