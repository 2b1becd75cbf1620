"""The programs that the CPU benchmarks time, written once and run with either module: Taichi or shadesmith.

Each function takes the module, makes its data and kernels, and returns a `Program`. There is no
`from __future__ import annotations` here: kernels read their annotations as objects.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass
class Program:
    """step: launches the kernel once. result: an array to compare between modules, after `steps` steps."""

    step: Callable[[], object]
    result: Callable[[], Any]


def saxpy(ti: Any, n: int = 1 << 24) -> Program:
    """y += a x over n floats: memory bandwidth."""
    x, y = ti.ndarray(ti.f32, n), ti.ndarray(ti.f32, n)
    x.from_numpy(np.arange(n, dtype=np.float32) / n)

    @ti.kernel
    def axpy(a: ti.f32, x: ti.types.ndarray(dtype=ti.f32, ndim=1), y: ti.types.ndarray(dtype=ti.f32, ndim=1)):
        for i in y:
            y[i] = a * x[i] + y[i]

    return Program(lambda: axpy(0.5, x, y), lambda: y.to_numpy()[:: max(1, n // 1000)])


def jacobi(ti: Any, n: int = 2048) -> Program:
    """One relaxation step of a five-point stencil on n x n floats."""
    a, b = ti.ndarray(ti.f32, (n, n)), ti.ndarray(ti.f32, (n, n))
    a.from_numpy(np.random.default_rng(0).random((n, n), dtype=np.float32))

    @ti.kernel
    def relax(a: ti.types.ndarray(dtype=ti.f32, ndim=2), b: ti.types.ndarray(dtype=ti.f32, ndim=2), w: ti.f32):
        for i, j in a:
            if 0 < i < a.shape[0] - 1 and 0 < j < a.shape[1] - 1:
                s = a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]
                b[i, j] = a[i, j] + w * (0.25 * s - a[i, j])

    return Program(lambda: relax(a, b, 0.8), lambda: b.to_numpy()[::31, ::31])


def nbody(ti: Any, n: int = 4096) -> Program:
    """Accelerations of n bodies by all pairs, on vector fields."""
    position, velocity = ti.Vector.field(3, ti.f32, n), ti.Vector.field(3, ti.f32, n)
    position.from_numpy(np.random.default_rng(0).random((n, 3), dtype=np.float32))

    @ti.kernel
    def accelerate(dt: ti.f32):
        for i in position:
            p = position[i]
            force = ti.Vector([0.0, 0.0, 0.0])
            for j in range(n):
                d = position[j] - p
                r2 = d.dot(d) + 1e-4
                force += d / (r2 * ti.sqrt(r2))
            velocity[i] += dt * force

    return Program(lambda: accelerate(1e-6), lambda: velocity.to_numpy()[:: max(1, n // 64)])


def mandelbrot(ti: Any, n: int = 640, limit: int = 200) -> Program:
    """Escape counts in f64 on n x n points."""
    pixels = ti.field(ti.i32, (n, n))

    @ti.kernel
    def paint():
        for i, j in pixels:
            cx = ti.cast(i, ti.f64) * (3.0 / n) - 2.0
            cy = ti.cast(j, ti.f64) * (3.0 / n) - 1.5
            x = ti.cast(0.0, ti.f64)
            y = ti.cast(0.0, ti.f64)
            count = 0
            while x * x + y * y < 4.0 and count < limit:
                x, y = x * x - y * y + cx, 2.0 * x * y + cy
                count += 1
            pixels[i, j] = count

    return Program(paint, lambda: pixels.to_numpy()[::13, ::13])


def julia(ti: Any, n: int = 320) -> Program:
    """The Julia set with a function on complex numbers; 2n x n pixels."""
    pixels = ti.field(float, (n * 2, n))

    @ti.func
    def complex_sqr(z):
        return ti.Vector([z[0] ** 2 - z[1] ** 2, z[1] * z[0] * 2])

    @ti.kernel
    def paint(t: float):
        for i, j in pixels:
            c = ti.Vector([-0.8, ti.cos(t) * 0.2])
            z = ti.Vector([i / n - 1, j / n - 0.5]) * 2
            iterations = 0
            while z.norm() < 20 and iterations < 50:
                z = complex_sqr(z) + c
                iterations += 1
            pixels[i, j] = 1 - iterations * 0.02

    return Program(lambda: paint(0.03), lambda: pixels.to_numpy()[::7, ::7])


def mpm(ti: Any, particles: int = 8192, grid: int = 128) -> Program:
    """One substep of the material point method for a weakly compressible fluid in two dimensions."""
    dx, dt = 1 / grid, 2e-4
    volume = (dx * 0.5) ** 2
    mass, gravity, stiffness, margin = volume * 1.0, 9.8, 400, 3
    x, v = ti.Vector.field(2, float, particles), ti.Vector.field(2, float, particles)
    affine, ratio = ti.Matrix.field(2, 2, float, particles), ti.field(float, particles)
    grid_v, grid_m = ti.Vector.field(2, float, (grid, grid)), ti.field(float, (grid, grid))
    x.from_numpy(np.random.default_rng(0).random((particles, 2), dtype=np.float32) * 0.4 + 0.2)
    ratio.fill(1.0)

    @ti.kernel
    def substep():
        for i, j in grid_m:
            grid_v[i, j] = [0, 0]
            grid_m[i, j] = 0
        for p in x:
            scaled = x[p] / dx
            base = int(scaled - 0.5)
            fx = scaled - base
            w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2]
            stress = -dt * 4 * stiffness * volume * (ratio[p] - 1) / dx**2
            moment = ti.Matrix([[stress, 0], [0, stress]]) + mass * affine[p]
            for i, j in ti.static(ti.ndrange(3, 3)):
                offset = ti.Vector([i, j])
                weight = w[i].x * w[j].y
                grid_v[base + offset] += weight * (mass * v[p] + moment @ ((offset - fx) * dx))
                grid_m[base + offset] += weight * mass
        for i, j in grid_m:
            if grid_m[i, j] > 0:
                grid_v[i, j] /= grid_m[i, j]
            grid_v[i, j].y -= dt * gravity
            if i < margin and grid_v[i, j].x < 0:
                grid_v[i, j].x = 0
            if i > grid - margin and grid_v[i, j].x > 0:
                grid_v[i, j].x = 0
            if j < margin and grid_v[i, j].y < 0:
                grid_v[i, j].y = 0
            if j > grid - margin and grid_v[i, j].y > 0:
                grid_v[i, j].y = 0
        for p in x:
            scaled = x[p] / dx
            base = int(scaled - 0.5)
            fx = scaled - base
            w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2]
            moved = ti.Vector.zero(float, 2)
            spread = ti.Matrix.zero(float, 2, 2)
            for i, j in ti.static(ti.ndrange(3, 3)):
                offset = ti.Vector([i, j])
                weight = w[i].x * w[j].y
                moved += weight * grid_v[base + offset]
                spread += 4 * weight * grid_v[base + offset].outer_product((offset - fx) * dx) / dx**2
            v[p] = moved
            x[p] += dt * v[p]
            ratio[p] *= 1 + dt * spread.trace()
            affine[p] = spread

    return Program(substep, lambda: np.array([x.to_numpy().mean(), grid_m.to_numpy().sum()]))


def svd(ti: Any, n: int = 1 << 17, times: int = 5) -> Program:
    """A kernel of 2,000 statements in final form: five 3x3 decompositions with what simulations do with them."""
    matrix = ti.types.matrix(3, 3, ti.f32)
    deformation, stress = ti.ndarray(matrix, n), ti.ndarray(matrix, n)
    deformation.from_numpy(np.random.default_rng(0).standard_normal((n, 3, 3)).astype(np.float32))

    @ti.kernel
    def relax(deformation: ti.types.ndarray(dtype=matrix, ndim=1), stress: ti.types.ndarray(dtype=matrix, ndim=1)):
        for i in deformation:
            F = deformation[i]
            total = F * 0.0
            for _ in ti.static(range(times)):
                U, S, V = ti.svd(F)
                R = U @ V.transpose()
                J = 1.0
                for d in ti.static(range(3)):
                    clamped = ti.min(ti.max(S[d, d], 0.9), 1.1)
                    J *= clamped
                    S[d, d] = clamped
                total += 2.0 * (F - R) @ F.transpose() + ti.Matrix.identity(ti.f32, 3) * J * (J - 1.0)
                F = U @ S @ V.transpose() + 0.1 * R
            stress[i] = total

    return Program(lambda: relax(deformation, stress), lambda: stress.to_numpy()[:: max(1, n // 1000)])


PROGRAMS: dict[str, Callable[..., Program]] = {
    "saxpy": saxpy,
    "jacobi": jacobi,
    "nbody": nbody,
    "mandelbrot": mandelbrot,
    "julia": julia,
    "mpm": mpm,
    "svd": svd,
}

SMALL: dict[str, dict[str, int]] = {
    "saxpy": {"n": 1000},
    "jacobi": {"n": 32},
    "nbody": {"n": 64},
    "mandelbrot": {"n": 32},
    "julia": {"n": 32},
    "mpm": {"particles": 256},
    "svd": {"n": 64},
}
"""Sizes for cold compile times, where the work itself should not count."""
