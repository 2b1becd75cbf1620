"""The programs that the CPU benchmarks time, written once and run with either module: Taichi or shadesmith.

Each function takes the module, makes its data and kernels, and returns a `Program`. There is no
`from __future__ import annotations` here: kernels read their annotations as objects.
"""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
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


def fill(ti: Any, n: int = 1 << 23) -> Program:
    """x = 1 for n floats: stores only."""
    x = ti.field(ti.f32, n)

    @ti.kernel
    def fill(value: ti.f32):
        for i in x:
            x[i] = value

    return Program(lambda: fill(1.5), lambda: x.to_numpy()[:: max(1, n // 1000)])


def stencil2d(ti: Any, n: int = 2048) -> Program:
    """The mean of four neighbours on n x n floats, within the border."""
    u, w = ti.field(ti.f32, (n, n)), ti.field(ti.f32, (n, n))
    u.from_numpy(np.random.default_rng(0).random((n, n), dtype=np.float32))

    @ti.kernel
    def relax():
        for i, j in u:
            if 0 < i < n - 1 and 0 < j < n - 1:
                w[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])

    return Program(relax, lambda: w.to_numpy()[::31, ::31])


def stencil3d(ti: Any, n: int = 128) -> Program:
    """The Laplacian on n x n x n floats, within the border."""
    u, w = ti.field(ti.f32, (n, n, n)), ti.field(ti.f32, (n, n, n))
    u.from_numpy(np.random.default_rng(0).random((n, n, n), dtype=np.float32))

    @ti.kernel
    def laplace():
        for i, j, k in u:
            if 0 < i < n - 1 and 0 < j < n - 1 and 0 < k < n - 1:
                s = u[i - 1, j, k] + u[i + 1, j, k] + u[i, j - 1, k] + u[i, j + 1, k] + u[i, j, k - 1] + u[i, j, k + 1]
                w[i, j, k] = s - 6.0 * u[i, j, k]

    return Program(laplace, lambda: w.to_numpy()[::7, ::7, ::7])


def reduce_sum(ti: Any, n: int = 1 << 22) -> Program:
    """The sum of n floats."""
    x = ti.field(ti.f32, n)
    x.from_numpy(np.random.default_rng(0).random(n, dtype=np.float32))
    found = [0.0]

    @ti.kernel
    def add() -> ti.f32:
        s = 0.0
        for i in x:
            s += x[i]
        return s

    def step() -> None:
        found[0] = add()

    return Program(step, lambda: np.array(found))


def reduce_max(ti: Any, n: int = 1 << 22) -> Program:
    """The greatest of n floats."""
    x, greatest = ti.field(ti.f32, n), ti.field(ti.f32, ())
    x.from_numpy(np.random.default_rng(0).random(n, dtype=np.float32))

    @ti.kernel
    def find():
        for i in x:
            ti.atomic_max(greatest[None], x[i])

    return Program(find, lambda: greatest.to_numpy().reshape(1))


def histogram(ti: Any, n: int = 1 << 22) -> Program:
    """How often each of 256 numbers is among n."""
    x, counts = ti.field(ti.i32, n), ti.field(ti.i32, 256)
    x.from_numpy(np.random.default_rng(0).integers(0, 256, n, dtype=np.int32))

    @ti.kernel
    def count():
        for i in counts:
            counts[i] = 0
        for i in x:
            counts[x[i]] += 1

    return Program(count, lambda: counts.to_numpy())


def svd3(ti: Any, n: int = 1 << 16) -> Program:
    """The singular values of n 3x3 matrices, and what they are made of joined again."""
    given, joined = ti.Matrix.field(3, 3, ti.f32, n), ti.Matrix.field(3, 3, ti.f32, n)
    given.from_numpy(np.random.default_rng(0).standard_normal((n, 3, 3)).astype(np.float32))

    @ti.kernel
    def decompose():
        for i in given:
            U, S, V = ti.svd(given[i])
            joined[i] = U @ S @ V.transpose()

    return Program(decompose, lambda: joined.to_numpy()[:: max(1, n // 1000)])


def p2g3d(ti: Any, particles: int = 1 << 16, n: int = 64) -> Program:
    """Particles to a grid in three dimensions: 27 nodes for each, four numbers a node."""
    dx, dt, stiffness = 1.0 / n, 1e-4, 400.0
    volume = (dx * 0.5) ** 3
    mass = volume * 1.0
    x, v = ti.Vector.field(3, ti.f32, particles), ti.Vector.field(3, ti.f32, particles)
    affine, ratio = ti.Matrix.field(3, 3, ti.f32, particles), ti.field(ti.f32, particles)
    grid_v, grid_m = ti.Vector.field(3, ti.f32, (n, n, n)), ti.field(ti.f32, (n, n, n))
    position, velocity, spread = particle_data(particles)
    x.from_numpy(position)
    v.from_numpy(velocity)
    affine.from_numpy(spread)
    ratio.fill(0.9)

    @ti.kernel
    def scatter():
        for i, j, k in grid_m:
            grid_v[i, j, k] = [0, 0, 0]
            grid_m[i, j, k] = 0
        for p in x:
            scaled = x[p] / dx
            base = int(scaled - 0.5)
            fx = scaled - base
            w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2]
            stress = -dt * 4 * stiffness * volume * (ratio[p] - 1) / dx**2
            moment = ti.Matrix.identity(ti.f32, 3) * stress + mass * affine[p]
            for i, j, k in ti.static(ti.ndrange(3, 3, 3)):
                offset = ti.Vector([i, j, k])
                weight = w[i].x * w[j].y * w[k].z
                grid_v[base + offset] += weight * (mass * v[p] + moment @ ((offset - fx) * dx))
                grid_m[base + offset] += weight * mass

    return Program(scatter, lambda: grid_m.to_numpy()[::3, ::3, ::3] * 1e6)


def particle_data(particles: int) -> tuple[Any, Any, Any]:
    """Return positions, velocities and affine matrices of particles in three dimensions."""
    random = np.random.default_rng(0)
    position = random.random((particles, 3), dtype=np.float32) * 0.6 + 0.2
    velocity = random.standard_normal((particles, 3)).astype(np.float32)
    return position, velocity, random.standard_normal((particles, 3, 3)).astype(np.float32)


def mpm99(ti: Any, particles: int = 9000, grid: int = 128) -> Program:
    """Water, jelly and snow in two dimensions: one substep with a 2x2 decomposition (tests/handwritten)."""
    source = Path(__file__).parents[1] / "tests/handwritten/programs/mpm99.py"
    text = source.read_text(encoding="utf-8").replace("import shadesmith as ti", f"import {ti.__name__} as ti")
    text = text.replace("n_particles = 9000", f"n_particles = {particles}").replace("n_grid = 128", f"n_grid = {grid}")
    with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as file:  # Taichi reads kernels from a file
        file.write(text)
    names: dict[str, Any] = {"__name__": "mpm99"}
    exec(compile(text, file.name, "exec"), names)
    random = np.random.default_rng(0)
    names["x"].from_numpy(random.uniform(0.3, 0.6, (particles, 2)).astype(np.float32))
    names["v"].from_numpy(random.normal(0, 0.1, (particles, 2)).astype(np.float32))
    names["F"].from_numpy(np.tile(np.eye(2, dtype=np.float32), (particles, 1, 1)))
    names["material"].from_numpy(np.arange(particles, dtype=np.int32) % 3)
    names["Jp"].fill(1.0)
    return Program(names["substep"], lambda: np.array([names["x"].to_numpy().mean(), names["grid_m"].to_numpy().sum()]))


PROGRAMS: dict[str, Callable[..., Program]] = {
    "saxpy": saxpy,
    "jacobi": jacobi,
    "nbody": nbody,
    "mandelbrot": mandelbrot,
    "julia": julia,
    "mpm": mpm,
    "svd": svd,
    "fill": fill,
    "stencil2d": stencil2d,
    "stencil3d": stencil3d,
    "reduce_sum": reduce_sum,
    "reduce_max": reduce_max,
    "histogram": histogram,
    "svd3": svd3,
    "p2g3d": p2g3d,
    "mpm99": mpm99,
}

SMALL: dict[str, dict[str, int]] = {
    "saxpy": {"n": 1000},
    "jacobi": {"n": 32},
    "nbody": {"n": 64},
    "mandelbrot": {"n": 32},
    "julia": {"n": 32},
    "mpm": {"particles": 256},
    "svd": {"n": 64},
    "fill": {"n": 1000},
    "stencil2d": {"n": 32},
    "stencil3d": {"n": 16},
    "reduce_sum": {"n": 1000},
    "reduce_max": {"n": 1000},
    "histogram": {"n": 1000},
    "svd3": {"n": 64},
    "p2g3d": {"particles": 256, "n": 16},
    "mpm99": {"particles": 90, "grid": 32},
}
"""Sizes for cold compile times, where the work itself should not count."""
