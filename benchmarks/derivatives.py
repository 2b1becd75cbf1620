"""Times of gradients: the wave equation backward, and backward against forward of four kernels; also with Taichi.

usage: python benchmarks/derivatives.py [--arch cuda,vulkan] [--small] [--engine taichi] [--rows streams,p2g3d]

Each row: milliseconds forward, backward, and their ratio; medians of 5 rounds. The wave equation has 30 steps on
512 x 512 elements: the gradients of all steps, launched one by one, and as one graph (`ti.graph.compile_tape`).
--engine: which package runs the same programs; a graph of a tape is ours alone. --without: a pass to leave out.
NVIDIA Warp's programs of the same rows are in derivatives_warp.py.
"""

import argparse
import importlib
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

ti: Any = importlib.import_module(sys.argv[sys.argv.index("--engine") + 1] if "--engine" in sys.argv else "shadesmith")

ROUNDS = 5


def seconds(run: Callable[[], Any], launches: int = 20, wait: Callable[[], None] | None = None) -> float:
    """Return the time of one of many runs in a row; `wait` is what waits for them, by default `ti.sync`."""
    wait = wait or ti.sync
    for _ in range(2):
        run()
    wait()
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(launches):
            run()
        wait()
        times.append((time.perf_counter() - start) / launches)
    return statistics.median(times)


def row(arch: str, name: str, forward: float, backward: float) -> None:
    print(f"{arch:7} {name:22} {forward * 1e3:9.4f} {backward * 1e3:9.4f} {backward / forward:6.2f}", flush=True)


def wave(arch: str, n: int, steps: int) -> None:
    p = ti.field(float, (steps + 2, n, n), needs_grad=True)
    loss = ti.field(float, (), needs_grad=True)

    @ti.kernel
    def step(t: int):
        for i, j in ti.ndrange((1, n - 1), (1, n - 1)):
            laplacian = p[t, i - 1, j] + p[t, i + 1, j] + p[t, i, j - 1] + p[t, i, j + 1] - 4 * p[t, i, j]
            p[t + 1, i, j] = 2 * p[t, i, j] - p[t - 1, i, j] + 0.2 * laplacian

    @ti.kernel
    def measure():
        for i, j in ti.ndrange(n, n):
            loss[None] += p[steps + 1, i, j] ** 2

    p.from_numpy(np.random.default_rng(0).random((steps + 2, n, n), np.float32))

    def forward() -> None:
        for t in range(1, steps + 1):
            step(t)
        measure()

    def backward() -> None:
        measure.grad()
        for t in range(steps, 0, -1):
            step.grad(t)

    with ti.ad.Tape(loss) as tape:
        forward()
    row(arch, "wave, launches", seconds(forward), seconds(backward))
    if ti.__name__ != "shadesmith":
        return
    graph = ti.graph.compile_tape(tape)
    row(arch, "wave, graph", seconds(lambda: graph.forward.run({})), seconds(lambda: graph.backward.run({})))
    builder = ti.graph.GraphBuilder()
    for t in range(steps, 0, -1):
        builder.dispatch(step.grad, t)
    steps_alone = builder.compile()
    row(arch, "wave, 30 steps alone", seconds(lambda: graph.forward.run({})), seconds(lambda: steps_alone.run({})))


def streams(arch: str, n: int) -> None:
    x, y, z = (ti.field(float, n, needs_grad=True) for _ in range(3))
    m = int(n**0.5)
    a, b = (ti.field(float, (m, m), needs_grad=True) for _ in range(2))

    @ti.kernel
    def saxpy(k: float):
        for i in x:
            z[i] = k * x[i] + y[i]

    @ti.kernel
    def stencil():
        for i, j in a:
            if 0 < i < m - 1 and 0 < j < m - 1:
                b[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])

    row(arch, f"saxpy, {n}", seconds(lambda: saxpy(2.0)), seconds(lambda: saxpy.grad(2.0)))
    row(arch, f"stencil, {m}^2", seconds(stencil), seconds(stencil.grad))


def mpm88(arch: str, n: int, particles: int) -> None:
    steps, dt, E = 2, 2e-4, 400.0
    dx, inv_dx, volume = 1 / n, float(n), (0.5 / n) ** 2
    x, v = (ti.Vector.field(2, float, (steps, particles), needs_grad=True) for _ in range(2))
    C = ti.Matrix.field(2, 2, float, (steps, particles), needs_grad=True)
    J = ti.field(float, (steps, particles), needs_grad=True)
    grid_in, grid_out = (ti.Vector.field(2, float, (n, n), needs_grad=True) for _ in range(2))
    grid_m = ti.field(float, (n, n), needs_grad=True)

    @ti.kernel
    def p2g(f: int):
        for p in range(particles):
            base = (x[f, p] * inv_dx - 0.5).cast(int)
            fx = x[f, p] * inv_dx - base.cast(float)
            w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2]
            stress = -dt * 4 * E * volume * (J[f, p] - 1) * inv_dx * inv_dx
            affine = ti.Matrix([[stress, 0.0], [0.0, stress]]) + volume * C[f, p]
            for i, j in ti.static(ti.ndrange(3, 3)):
                offset = ti.Vector([i, j])
                weight = w[i][0] * w[j][1]
                grid_in[base + offset] += weight * (volume * v[f, p] + affine @ ((offset.cast(float) - fx) * dx))
                grid_m[base + offset] += weight * volume

    @ti.kernel
    def move():
        for i, j in grid_m:
            if grid_m[i, j] > 0:
                out = grid_in[i, j] / grid_m[i, j]
                out[1] -= dt * 9.8
                if i < 3 and out[0] < 0:
                    out[0] = 0.0
                if j < 3 and out[1] < 0:
                    out[1] = 0.0
                grid_out[i, j] = out

    @ti.kernel
    def g2p(f: int):
        for p in range(particles):
            base = (x[f, p] * inv_dx - 0.5).cast(int)
            fx = x[f, p] * inv_dx - base.cast(float)
            w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2]
            new_v, new_C = ti.Vector.zero(float, 2), ti.Matrix.zero(float, 2, 2)
            for i, j in ti.static(ti.ndrange(3, 3)):
                offset = ti.Vector([i, j])
                weight = w[i][0] * w[j][1]
                g = grid_out[base + offset]
                new_v += weight * g
                new_C += 4 * weight * g.outer_product((offset.cast(float) - fx) * dx) * inv_dx * inv_dx
            v[f + 1, p] = new_v
            x[f + 1, p] = x[f, p] + dt * new_v
            J[f + 1, p] = J[f, p] * (1 + dt * new_C.trace())
            C[f + 1, p] = new_C

    x.from_numpy((0.2 + 0.4 * np.random.default_rng(0).random((steps, particles, 2))).astype(np.float32))
    J.fill(1.0)

    def forward() -> None:
        p2g(0)
        move()
        g2p(0)

    def backward() -> None:
        g2p.grad(0)
        move.grad()
        p2g.grad(0)

    row(arch, f"mpm88, {particles}", seconds(forward), seconds(backward))


def p2g3d(arch: str, n: int, particles: int) -> None:
    inv_dx = float(n)
    x, v = (ti.Vector.field(3, float, particles, needs_grad=True) for _ in range(2))
    grid = ti.Vector.field(3, float, (n, n, n), needs_grad=True)
    mass = ti.field(float, (n, n, n), needs_grad=True)

    @ti.kernel
    def scatter():
        for p in x:
            base = (x[p] * inv_dx - 0.5).cast(int)
            fx = x[p] * inv_dx - base.cast(float)
            w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2]
            for i, j, k in ti.static(ti.ndrange(3, 3, 3)):
                offset = ti.Vector([i, j, k])
                weight = w[i][0] * w[j][1] * w[k][2]
                grid[base + offset] += weight * v[p]
                mass[base + offset] += weight

    positions = (0.1 + 0.8 * np.random.default_rng(0).random((particles, 3))).astype(np.float32)
    cells = (positions * n).astype(np.int64)
    order = np.lexsort((cells[:, 2], cells[:, 1], cells[:, 0]))  # as a simulation sorts them
    x.from_numpy(positions[order])
    row(arch, f"p2g3d, {particles}", seconds(scatter, 10), seconds(scatter.grad, 10))


ROWS: dict[str, tuple[Callable[..., None], tuple[int, ...], tuple[int, ...]]] = {
    "wave": (wave, (512, 30), (64, 30)),
    "streams": (streams, (1 << 26,), (1 << 12,)),
    "mpm88": (mpm88, (256, 1 << 18), (32, 256)),
    "p2g3d": (p2g3d, (128, 1 << 20), (16, 256)),
}
"""By name: what measures it, its sizes on a GPU, and on a processor."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--arch", default="cuda,vulkan")
    parser.add_argument("--engine", default="shadesmith")
    parser.add_argument("--rows", default=",".join(ROWS))
    parser.add_argument("--without", default="", help="a pass to leave out")
    parser.add_argument("--small", action="store_true", help="sizes for a processor")
    options = parser.parse_args()
    print(f"{options.engine:30} {'forward':>9} {'backward':>9} {'ratio':>6}")
    choices = {"passes": f"-{options.without}"} if options.without else {}
    for arch in options.arch.split(","):
        for name in options.rows.split(","):
            measure, sizes, small = ROWS[name]
            ti.init(arch=getattr(ti, arch), log_level=ti.ERROR, **choices)
            measure(arch, *(small if options.small else sizes))


if __name__ == "__main__":
    main()
