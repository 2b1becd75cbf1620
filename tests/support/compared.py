"""Kernels whose texts the tests of `kernel.compare` change, with their arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import shadesmith as ti

SEED = 7


def stencil() -> tuple[Any, tuple[Any, ...]]:
    """Return a step of Jacobi's method on a grid of 67 x 45."""

    @ti.kernel(passes=["-narrow_loops"])  # whose lines are not those of the edits
    def jacobi(a: ti.types.ndarray(ti.f32, 2), b: ti.types.ndarray(ti.f32, 2), w: ti.f32):
        n, m = a.shape[0], a.shape[1]
        for i, j in a:
            if 0 < i < n - 1 and 0 < j < m - 1:
                s = a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]
                b[i, j] = a[i, j] + w * (0.25 * s - a[i, j])

    a, b = (np.random.default_rng(seed).random((67, 45), np.float32) for seed in (SEED, SEED + 1))
    return jacobi, (a, b, 0.5)


def product() -> tuple[Any, tuple[Any, ...]]:
    """Return the product of a 33 x 40 and a 40 x 21 matrix, which was computed before."""

    @ti.kernel(passes=["-lane_loops", "-row_lanes", "-register_tiles"])  # whose lines are not those of the edits
    def multiply(a: ti.types.ndarray(ti.f32, 2), b: ti.types.ndarray(ti.f32, 2), c: ti.types.ndarray(ti.f32, 2)):
        for i, j in c:
            s = 0.0
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            c[i, j] = s

    random = np.random.default_rng(SEED)
    a, b = random.random((33, 40), np.float32), random.random((40, 21), np.float32)
    c = np.zeros((33, 21), np.float32)
    multiply(a, b, c)  # so that the right values are there before
    return multiply, (a, b, c)


def bits() -> tuple[Any, tuple[Any, ...]]:
    """Return integer arithmetic on numbers of both signs."""

    @ti.kernel
    def mix(x: ti.types.ndarray(ti.i32, 1), y: ti.types.ndarray(ti.i32, 1)):
        for i in x:
            y[i] = (x[i] + 3) * 5 >> 2

    x = np.random.default_rng(SEED).integers(-1000, 1000, 1000).astype(np.int32)
    return mix, (x, np.zeros_like(x))


def histogram() -> tuple[Any, tuple[Any, ...]]:
    """Return counts of 200,000 numbers in 4 buckets, 20 times each: so long that threads of the host run at the same time."""
    counts = ti.field(ti.i32, 4)

    @ti.kernel
    def count(a: ti.types.ndarray(ti.f32, 1)):
        for i in a:
            bucket = int(a[i] * 4)
            for k in range(20):
                ti.atomic_add(counts[(bucket + k) % 4], 1)

    return count, (np.random.default_rng(SEED).random(200_000, np.float32),)


def shared_sum() -> tuple[Any, tuple[Any, ...]]:
    """Return sums of 256 numbers each, made by the threads of a block."""

    @ti.kernel
    def block_sums(a: ti.types.ndarray(ti.f32, 1), sums: ti.types.ndarray(ti.f32, 1)):
        ti.loop_config(block_dim=256)
        for i in a:
            tile = ti.simt.block.SharedArray((256,), ti.f32)
            t = ti.simt.block.thread_idx()
            tile[t] = 0.0
            ti.simt.block.sync()
            x = a[i]
            for k in range(t):  # later threads take longer, so that one that does not wait for them is too early
                x = 0.5 * x + 0.25
            tile[t] = x
            ti.simt.block.sync()
            if t == 0:
                s = 0.0
                for k in range(256):
                    s += tile[255 - k]
                sums[i // 256] = s

    a = np.random.default_rng(SEED).random(256 * 400, np.float32)
    return block_sums, (a, np.zeros(400, np.float32))


def particles() -> tuple[Any, tuple[Any, ...]]:
    """Return a step of 300 particles in a tree, whose mass is in it too and not used."""
    x, v, mass = ti.Vector.field(2, ti.f32), ti.Vector.field(2, ti.f32), ti.field(ti.f32)
    ti.root.dense(ti.i, 300).place(mass, x, v)

    @ti.kernel
    def move(dt: ti.f32):
        for i in x:
            v[i].y -= 9.8 * dt
            x[i] += dt * v[i]
            if x[i].y < 0.0:
                x[i].y = 0.0
                v[i].y = -0.5 * v[i].y

    random = np.random.default_rng(SEED)
    x.from_numpy(random.random((300, 2), np.float32))
    v.from_numpy(random.random((300, 2), np.float32) - 0.5)
    mass.fill(1.0)
    return move, (0.1,)


def total() -> tuple[Any, tuple[Any, ...]]:
    """Return a sum that the kernel returns."""

    @ti.kernel
    def add_up(x: ti.types.ndarray(ti.i32, 1)) -> ti.i32:
        s = 0
        for i in x:
            s += x[i]
        return s

    return add_up, (np.arange(5000, dtype=np.int32),)


MAKERS: tuple[Callable[[], tuple[Any, tuple[Any, ...]]], ...] = (
    stencil, product, bits, histogram, shared_sum, particles, total,
)  # fmt: skip
