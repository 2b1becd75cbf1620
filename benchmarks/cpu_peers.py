"""The programs of `programs.py` as users of Numba and of Warp write them, for `cpu.py`.

A program here has the same data and result. One that is missing has no loop in parallel that the module offers.
There is no `from __future__ import annotations` here: Warp reads annotations as objects.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from more_programs import sparse_data
from programs import Program, particle_data


def numba_programs() -> dict[str, Callable[[], Program]]:
    """Return the programs for Numba: loops of `prange`, fast math."""
    import numba

    parallel, prange = numba.njit(parallel=True, fastmath=True), numba.prange
    serial = numba.njit(fastmath=True)

    def random(*shape: int) -> Any:
        return np.random.default_rng(0).random(shape, dtype=np.float32)

    def fill() -> Program:
        x = np.zeros(1 << 23, np.float32)

        @parallel
        def fill(x, value):
            for i in prange(x.size):
                x[i] = value

        return Program(lambda: fill(x, np.float32(1.5)), lambda: x[:: x.size // 1000])

    def saxpy() -> Program:
        n = 1 << 24
        x, y = np.arange(n, dtype=np.float32) / n, np.zeros(n, np.float32)
        x = x.astype(np.float32)

        @parallel
        def axpy(a, x, y):
            for i in prange(y.size):
                y[i] = a * x[i] + y[i]

        return Program(lambda: axpy(np.float32(0.5), x, y), lambda: y[:: n // 1000])

    def stencil2d() -> Program:
        n = 2048
        u, w = random(n, n), np.zeros((n, n), np.float32)

        @parallel
        def relax(u, w):
            for i in prange(1, u.shape[0] - 1):
                for j in range(1, u.shape[1] - 1):
                    w[i, j] = np.float32(0.25) * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])

        return Program(lambda: relax(u, w), lambda: w[::31, ::31])

    def jacobi() -> Program:
        n = 2048
        a, b = random(n, n), np.zeros((n, n), np.float32)

        @parallel
        def relax(a, b, w):
            for i in prange(1, a.shape[0] - 1):
                for j in range(1, a.shape[1] - 1):
                    s = a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]
                    b[i, j] = a[i, j] + w * (np.float32(0.25) * s - a[i, j])

        return Program(lambda: relax(a, b, np.float32(0.8)), lambda: b[::31, ::31])

    def stencil3d() -> Program:
        n = 128
        u, w = random(n, n, n), np.zeros((n, n, n), np.float32)

        @parallel
        def laplace(u, w):
            for i in prange(1, u.shape[0] - 1):
                for j in range(1, u.shape[1] - 1):
                    for k in range(1, u.shape[2] - 1):
                        s = u[i - 1, j, k] + u[i + 1, j, k] + u[i, j - 1, k]
                        s += u[i, j + 1, k] + u[i, j, k - 1] + u[i, j, k + 1]
                        w[i, j, k] = s - np.float32(6.0) * u[i, j, k]

        return Program(lambda: laplace(u, w), lambda: w[::7, ::7, ::7])

    def reduce_sum() -> Program:
        x, found = random(1 << 22), [0.0]

        @parallel
        def add(x):
            s = np.float32(0.0)
            for i in prange(x.size):
                s += x[i]
            return s

        def step() -> None:
            found[0] = add(x)

        return Program(step, lambda: np.array(found))

    def reduce_max() -> Program:
        x, found = random(1 << 22), [0.0]

        @parallel
        def find(x):
            s = x[0]
            for i in prange(x.size):
                s = max(s, x[i])
            return s

        def step() -> None:
            found[0] = find(x)

        return Program(step, lambda: np.array(found))

    def histogram() -> Program:
        x = np.random.default_rng(0).integers(0, 256, 1 << 22, dtype=np.int32)
        counts = np.zeros(256, np.int32)

        @parallel
        def count(x, counts, threads):
            copies = np.zeros((threads, 256), np.int32)
            for thread in prange(threads):
                for i in range(x.size * thread // threads, x.size * (thread + 1) // threads):
                    copies[thread, x[i]] += 1
            counts[:] = copies.sum(axis=0)

        return Program(lambda: count(x, counts, numba.get_num_threads()), lambda: counts)

    def mandelbrot() -> Program:
        n, limit = 640, 200
        step = np.float64(np.float32(3.0 / n))  # that of kernels, whose literals are f32
        pixels = np.zeros((n, n), np.int32)

        @parallel
        def paint(pixels):
            for i in prange(n):
                for j in range(n):
                    cx, cy = i * step - 2.0, j * step - 1.5
                    x, y, count = 0.0, 0.0, 0
                    while x * x + y * y < 4.0 and count < limit:
                        x, y = x * x - y * y + cx, 2.0 * x * y + cy
                        count += 1
                    pixels[i, j] = count

        return Program(lambda: paint(pixels), lambda: pixels[::13, ::13])

    def julia() -> Program:
        n = 320
        pixels = np.zeros((2 * n, n), np.float32)

        @parallel
        def paint(pixels, t):
            for i in prange(2 * n):
                for j in range(n):
                    cx, cy = np.float32(-0.8), np.cos(t) * np.float32(0.2)
                    x = (np.float32(i) / np.float32(n) - np.float32(1)) * np.float32(2)
                    y = (np.float32(j) / np.float32(n) - np.float32(0.5)) * np.float32(2)
                    iterations = 0
                    while np.sqrt(x * x + y * y) < np.float32(20) and iterations < 50:
                        x, y = x * x - y * y + cx, y * x * np.float32(2) + cy
                        iterations += 1
                    pixels[i, j] = np.float32(1) - np.float32(iterations) * np.float32(0.02)

        return Program(lambda: paint(pixels, np.float32(0.03)), lambda: pixels[::7, ::7])

    def nbody() -> Program:
        n = 4096
        position, velocity = random(n, 3), np.zeros((n, 3), np.float32)

        @parallel
        def accelerate(position, velocity, dt):
            for i in prange(n):
                fx = fy = fz = np.float32(0)
                for j in range(n):
                    x = position[j, 0] - position[i, 0]
                    y = position[j, 1] - position[i, 1]
                    z = position[j, 2] - position[i, 2]
                    r2 = x * x + y * y + z * z + np.float32(1e-4)
                    r3 = r2 * np.sqrt(r2)
                    fx += x / r3
                    fy += y / r3
                    fz += z / r3
                velocity[i, 0] += dt * fx
                velocity[i, 1] += dt * fy
                velocity[i, 2] += dt * fz

        return Program(lambda: accelerate(position, velocity, np.float32(1e-6)), lambda: velocity[:: n // 64])

    def p2g3d() -> Program:
        particles, n = 1 << 16, 64
        x, v, affine = particle_data(particles)
        ratio = np.full(particles, 0.9, np.float32)
        grid_v, grid_m = np.zeros((n, n, n, 3), np.float32), np.zeros((n, n, n), np.float32)
        dx, one = np.float32(1 / n), np.float32(1)
        volume = np.float32((1 / n * 0.5) ** 3)
        factor, half = np.float32(-1e-4 * 4 * 400.0 * (1 / n * 0.5) ** 3 * n * n), np.float32(0.5)

        @serial
        def scatter(x, v, affine, ratio, grid_v, grid_m):  # Numba has no atomic additions
            grid_v[:] = 0
            grid_m[:] = 0
            w, fx, base = np.empty((3, 3), np.float32), np.empty(3, np.float32), np.empty(3, np.int32)
            for p in range(particles):
                for d in range(3):
                    scaled = x[p, d] / dx
                    base[d] = int(scaled - half)
                    fx[d] = scaled - np.float32(base[d])
                    w[0, d] = half * (np.float32(1.5) - fx[d]) ** 2
                    w[1, d] = np.float32(0.75) - (fx[d] - one) ** 2
                    w[2, d] = half * (fx[d] - half) ** 2
                stress = factor * (ratio[p] - one)
                for i in range(3):
                    for j in range(3):
                        for k in range(3):
                            weight = w[i, 0] * w[j, 1] * w[k, 2]
                            a, b, c = (i - fx[0]) * dx, (j - fx[1]) * dx, (k - fx[2]) * dx
                            for d in range(3):
                                m = volume * (affine[p, d, 0] * a + affine[p, d, 1] * b + affine[p, d, 2] * c)
                                m += volume * v[p, d] + stress * (a if d == 0 else b if d == 1 else c)
                                grid_v[base[0] + i, base[1] + j, base[2] + k, d] += weight * m
                            grid_m[base[0] + i, base[1] + j, base[2] + k] += weight * volume

        return Program(lambda: scatter(x, v, affine, ratio, grid_v, grid_m), lambda: grid_m[::3, ::3, ::3] * 1e6)

    found = (fill, saxpy, stencil2d, jacobi, stencil3d, reduce_sum, reduce_max, histogram, mandelbrot, julia)
    return {**{program.__name__: program for program in (*found, nbody, p2g3d)}, **_more_for_numba(parallel, prange)}


def _more_for_numba(parallel: Any, prange: Any) -> dict[str, Callable[[], Program]]:
    """Return the programs of `more_programs.py`."""

    def copy() -> Program:
        n = 1 << 22
        x, y = np.arange(n, dtype=np.float32), np.zeros(n, np.float32)

        @parallel
        def duplicate(x, y):
            for i in prange(y.size):
                y[i] = x[i]

        return Program(lambda: duplicate(x, y), lambda: y[:: n // 1000])

    def vec3() -> Program:
        n = 1 << 20
        x, v = np.zeros((n, 3), np.float32), np.random.default_rng(0).random((n, 3), dtype=np.float32)

        @parallel
        def advance(x, v, dt):
            for i in prange(n):
                for d in range(3):
                    x[i, d] += dt * v[i, d]

        return Program(lambda: advance(x, v, np.float32(0.5)), lambda: x[:: n // 1000])

    def sgemm() -> Program:
        n = 256
        a, b = np.random.default_rng(0).random((2, n, n), dtype=np.float32)
        c = np.zeros((n, n), np.float32)

        @parallel
        def multiply(a, b, c):
            for i in prange(c.shape[0]):
                for j in range(c.shape[1]):
                    s = np.float32(0)
                    for k in range(a.shape[1]):
                        s += a[i, k] * b[k, j]
                    c[i, j] = s

        return Program(lambda: multiply(a, b, c), lambda: c[::16, ::16])

    def unroll256() -> Program:
        n = 1 << 16
        x, y = np.random.default_rng(0).random(n, dtype=np.float32) + np.float32(1), np.zeros(n, np.float32)

        @parallel
        def iterate(x, y):
            for i in prange(n):
                s = x[i]
                for k in range(256):
                    s = s * np.float32(0.5) + np.float32(1) / (s + np.float32(k))
                y[i] = s

        return Program(lambda: iterate(x, y), lambda: y[:: n // 1000])

    def spmv() -> Program:
        starts, columns, values, x = sparse_data()
        y = np.zeros(x.size, np.float32)

        @parallel
        def multiply(starts, columns, values, x, y):
            for i in prange(y.size):
                s = np.float32(0)
                for k in range(starts[i], starts[i + 1]):
                    s += values[k] * x[columns[k]]
                y[i] = s

        return Program(lambda: multiply(starts, columns, values, x, y), lambda: y[:: y.size // 1000])

    def life() -> Program:
        n = 2000
        cells = np.random.default_rng(0).integers(0, 2, (n, n), dtype=np.int32)
        after = np.zeros_like(cells)

        @parallel
        def step(cells, after):
            for i in prange(n):
                for j in range(n):
                    count = -cells[i, j]
                    for a in range(-1, 2):
                        for b in range(-1, 2):
                            count += cells[(i + a) % n, (j + b) % n]
                    after[i, j] = 1 if count == 3 or (count == 2 and cells[i, j] == 1) else 0

        return Program(lambda: step(cells, after), lambda: after[::31, ::31])

    def blur17() -> Program:
        n = 2048
        u, w = np.random.default_rng(0).random((n, n), dtype=np.float32), np.zeros((n, n), np.float32)

        @parallel
        def blur(u, w):
            for i in prange(n):
                for j in range(n):
                    total = np.float32(0)
                    for k in range(-8, 9):
                        total += u[i, min(max(j + k, 0), n - 1)]
                    w[i, j] = total / np.float32(17)

        return Program(lambda: blur(u, w), lambda: w[::31, ::31])

    return {program.__name__: program for program in (copy, vec3, sgemm, unroll256, spmv, life, blur17)}


WARP_SIZES: dict[str, dict[str, int]] = {
    "fill": {"n": 1 << 23}, "saxpy": {"n": 1 << 24}, "stencil2d": {"n": 2048}, "stencil3d": {"n": 128},
    "reduce_sum": {"n": 1 << 22}, "reduce_max": {"n": 1 << 22}, "histogram": {"n": 1 << 22}, "nbody": {"n": 4096},
    "svd3": {"n": 1 << 16}, "p2g3d": {"particles": 1 << 16, "n": 64}, "copy": {"n": 1 << 22}, "vec3": {"n": 1 << 20},
    "sgemm": {"n": 256}, "spmv": {"n": 32},
}  # fmt: skip
"""Those of the rows on a CPU."""


def warp_programs(
    sizes: Mapping[str, Mapping[str, int]] = WARP_SIZES, device: str = "cpu"
) -> dict[str, Callable[[], Program]]:
    """Return the programs for Warp, whose CPU target uses one core. sizes: of the rows."""
    import warp as wp

    wp.config.quiet = True
    wp.init()
    wp.set_device(device)

    @wp.kernel
    def axpy(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = a * x[i] + y[i]

    @wp.kernel
    def relax(u: wp.array2d(dtype=float), w: wp.array2d(dtype=float)):
        i, j = wp.tid()
        if i > 0 and i < u.shape[0] - 1 and j > 0 and j < u.shape[1] - 1:
            w[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])

    @wp.kernel
    def laplace(u: wp.array3d(dtype=float), w: wp.array3d(dtype=float)):
        i, j, k = wp.tid()
        n = u.shape[0] - 1
        if i > 0 and i < n and j > 0 and j < n and k > 0 and k < n:
            s = u[i - 1, j, k] + u[i + 1, j, k] + u[i, j - 1, k] + u[i, j + 1, k] + u[i, j, k - 1] + u[i, j, k + 1]
            w[i, j, k] = s - 6.0 * u[i, j, k]

    @wp.kernel
    def find(x: wp.array(dtype=float), greatest: wp.array(dtype=float)):
        wp.atomic_max(greatest, 0, x[wp.tid()])

    @wp.kernel
    def count(x: wp.array(dtype=int), counts: wp.array(dtype=int)):
        wp.atomic_add(counts, x[wp.tid()], 1)

    @wp.kernel
    def accelerate(position: wp.array(dtype=wp.vec3), velocity: wp.array(dtype=wp.vec3), n: int, dt: float):
        i = wp.tid()
        p = position[i]
        force = wp.vec3()
        for j in range(n):
            d = position[j] - p
            r2 = wp.dot(d, d) + 1.0e-4
            force += d / (r2 * wp.sqrt(r2))
        velocity[i] = velocity[i] + dt * force

    @wp.kernel
    def decompose(given: wp.array(dtype=wp.mat33), joined: wp.array(dtype=wp.mat33)):
        i = wp.tid()
        U, sigma, V = wp.svd3(given[i])
        joined[i] = U @ wp.diag(sigma) @ wp.transpose(V)

    @wp.kernel
    def scatter(
        x: wp.array(dtype=wp.vec3),
        v: wp.array(dtype=wp.vec3),
        affine: wp.array(dtype=wp.mat33),
        ratio: wp.array(dtype=float),
        grid_v: wp.array3d(dtype=wp.vec3),
        grid_m: wp.array3d(dtype=float),
        dx: float,
        mass: float,
        factor: float,
    ):
        p = wp.tid()
        scaled = x[p] / dx
        a, b, c = int(scaled[0] - 0.5), int(scaled[1] - 0.5), int(scaled[2] - 0.5)
        fx = scaled - wp.vec3(float(a), float(b), float(c))
        one, half = wp.vec3(1.0), wp.vec3(0.5)
        below, above = wp.vec3(1.5) - fx, fx - half
        w = wp.matrix_from_rows(
            0.5 * wp.cw_mul(below, below),
            wp.vec3(0.75) - wp.cw_mul(fx - one, fx - one),
            0.5 * wp.cw_mul(above, above),
        )
        moment = wp.identity(3, dtype=float) * (factor * (ratio[p] - 1.0)) + mass * affine[p]
        for i in range(3):
            for j in range(3):
                for k in range(3):
                    offset = (wp.vec3(float(i), float(j), float(k)) - fx) * dx
                    weight = w[i, 0] * w[j, 1] * w[k, 2]
                    wp.atomic_add(grid_v, a + i, b + j, c + k, weight * (mass * v[p] + moment @ offset))
                    wp.atomic_add(grid_m, a + i, b + j, c + k, weight * mass)

    @wp.kernel
    def duplicate(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = x[i]

    @wp.kernel
    def advance(x: wp.array(dtype=wp.vec3), v: wp.array(dtype=wp.vec3), dt: float):
        i = wp.tid()
        x[i] = x[i] + dt * v[i]

    @wp.kernel
    def multiply(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), c: wp.array2d(dtype=float)):
        i, j = wp.tid()
        s = wp.float32(0.0)
        for k in range(a.shape[1]):
            s += a[i, k] * b[k, j]
        c[i, j] = s

    @wp.kernel
    def multiply_rows(
        starts: wp.array(dtype=int),
        columns: wp.array(dtype=int),
        values: wp.array(dtype=float),
        x: wp.array(dtype=float),
        y: wp.array(dtype=float),
    ):
        i = wp.tid()
        s = wp.float32(0.0)
        for k in range(starts[i], starts[i + 1]):
            s += values[k] * x[columns[k]]
        y[i] = s

    def random(*shape: int) -> Any:
        return np.random.default_rng(0).random(shape, dtype=np.float32)

    def program(kernel: Any, dim: Any, inputs: list[Any], result: Callable[[], Any], cleared: Any = ()) -> Program:
        def step() -> None:
            for array in cleared:
                array.zero_()
            wp.launch(kernel, dim=dim, inputs=inputs)

        return Program(step, result)

    def fill() -> Program:
        x = wp.zeros(sizes["fill"]["n"], dtype=float)
        return Program(lambda: x.fill_(1.5), lambda: x.numpy()[:: x.size // 1000])

    def saxpy() -> Program:
        n = sizes["saxpy"]["n"]
        x, y = wp.array(np.arange(n, dtype=np.float32) / n, dtype=float), wp.zeros(n, dtype=float)
        return program(axpy, n, [0.5, x, y], lambda: y.numpy()[:: n // 1000])

    def stencil2d() -> Program:
        shape = (sizes["stencil2d"]["n"],) * 2
        u, w = wp.array(random(*shape), dtype=float), wp.zeros(shape, dtype=float)
        return program(relax, shape, [u, w], lambda: w.numpy()[::31, ::31])

    def stencil3d() -> Program:
        shape = (sizes["stencil3d"]["n"],) * 3
        u, w = wp.array(random(*shape), dtype=float), wp.zeros(shape, dtype=float)
        return program(laplace, shape, [u, w], lambda: w.numpy()[::7, ::7, ::7])

    def reduce_sum() -> Program:
        x, found = wp.array(random(sizes["reduce_sum"]["n"]), dtype=float), [0.0]

        def step() -> None:
            found[0] = wp.utils.array_sum(x)

        return Program(step, lambda: np.array(found))

    def reduce_max() -> Program:
        x, greatest = wp.array(random(sizes["reduce_max"]["n"]), dtype=float), wp.zeros(1, dtype=float)
        return program(find, x.size, [x, greatest], greatest.numpy)

    def histogram() -> Program:
        n = sizes["histogram"]["n"]
        x = wp.array(np.random.default_rng(0).integers(0, 256, n, dtype=np.int32), dtype=int)
        counts = wp.zeros(256, dtype=int)
        return program(count, x.size, [x, counts], counts.numpy, (counts,))

    def nbody() -> Program:
        n = sizes["nbody"]["n"]
        position, velocity = wp.array(random(n, 3), dtype=wp.vec3), wp.zeros(n, dtype=wp.vec3)
        return program(accelerate, n, [position, velocity, n, 1e-6], lambda: velocity.numpy()[:: n // 64])

    def svd3() -> Program:
        n = sizes["svd3"]["n"]
        values = np.random.default_rng(0).standard_normal((n, 3, 3)).astype(np.float32)
        given, joined = wp.array(values, dtype=wp.mat33), wp.zeros(n, dtype=wp.mat33)
        return program(decompose, n, [given, joined], lambda: joined.numpy()[:: n // 1000])

    def p2g3d() -> Program:
        particles, n = sizes["p2g3d"]["particles"], sizes["p2g3d"]["n"]
        position, velocity, spread = particle_data(particles)
        x, v = wp.array(position, dtype=wp.vec3), wp.array(velocity, dtype=wp.vec3)
        affine, ratio = wp.array(spread, dtype=wp.mat33), wp.full(particles, 0.9, dtype=float)
        grid_v, grid_m = wp.zeros((n, n, n), dtype=wp.vec3), wp.zeros((n, n, n), dtype=float)
        volume = (1 / n * 0.5) ** 3
        inputs = [x, v, affine, ratio, grid_v, grid_m, 1 / n, volume, -1e-4 * 4 * 400.0 * volume * n * n]
        return program(scatter, particles, inputs, lambda: grid_m.numpy()[::3, ::3, ::3] * 1e6, (grid_v, grid_m))

    def copy() -> Program:
        n = sizes["copy"]["n"]
        x, y = wp.array(np.arange(n, dtype=np.float32), dtype=float), wp.zeros(n, dtype=float)
        return program(duplicate, n, [x, y], lambda: y.numpy()[:: n // 1000])

    def vec3() -> Program:
        n = sizes["vec3"]["n"]
        x, v = wp.zeros(n, dtype=wp.vec3), wp.array(random(n, 3), dtype=wp.vec3)
        return program(advance, n, [x, v, 0.5], lambda: x.numpy()[:: n // 1000])

    def sgemm() -> Program:
        n = sizes["sgemm"]["n"]
        a, b = (wp.array(values, dtype=float) for values in random(2, n, n))
        c = wp.zeros((n, n), dtype=float)
        return program(multiply, (n, n), [a, b, c], lambda: c.numpy()[:: max(1, n // 16), :: max(1, n // 16)])

    def spmv() -> Program:
        given = sparse_data(sizes["spmv"]["n"])
        starts, columns = (wp.array(values, dtype=int) for values in given[:2])
        values, x = (wp.array(values, dtype=float) for values in given[2:])
        y = wp.zeros(x.size, dtype=float)
        inputs = [starts, columns, values, x, y]
        return program(multiply_rows, x.size, inputs, lambda: y.numpy()[:: x.size // 1000])

    found = (fill, saxpy, stencil2d, stencil3d, reduce_sum, reduce_max, histogram, nbody, svd3, p2g3d)
    found = (*found, copy, vec3, sgemm, spmv)
    return {made.__name__: made for made in found}
