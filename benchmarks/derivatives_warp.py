"""The rows of derivatives.py as NVIDIA Warp's programs: the same arrays, sizes and arithmetic, forward and adjoint.

usage: python benchmarks/derivatives_warp.py [--arch cuda] [--small] [--rows wave,streams,mpm88,p2g3d]

Each backward launch is `wp.launch(..., adjoint=True)`, Warp's own call for one adjoint kernel, without a tape.
"""

import argparse
from collections.abc import Callable
from typing import Any

import derivatives
import numpy as np
import warp as wp
from derivatives import ROWS, row


@wp.kernel
def wave_step(p: wp.array3d(dtype=float), t: int):
    i, j = wp.tid()
    if i > 0 and j > 0 and i < p.shape[1] - 1 and j < p.shape[2] - 1:
        laplacian = p[t, i - 1, j] + p[t, i + 1, j] + p[t, i, j - 1] + p[t, i, j + 1] - 4.0 * p[t, i, j]
        p[t + 1, i, j] = 2.0 * p[t, i, j] - p[t - 1, i, j] + 0.2 * laplacian


@wp.kernel
def measured(p: wp.array3d(dtype=float), t: int, loss: wp.array(dtype=float)):
    i, j = wp.tid()
    wp.atomic_add(loss, 0, p[t, i, j] * p[t, i, j])


@wp.kernel
def saxpy(k: float, x: wp.array(dtype=float), y: wp.array(dtype=float), z: wp.array(dtype=float)):
    i = wp.tid()
    z[i] = k * x[i] + y[i]


@wp.kernel
def stencil(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float)):
    i, j = wp.tid()
    if i > 0 and j > 0 and i < a.shape[0] - 1 and j < a.shape[1] - 1:
        b[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])


@wp.func
def weight_of(fx: float, i: int):
    if i == 0:
        return 0.5 * (1.5 - fx) * (1.5 - fx)
    if i == 1:
        return 0.75 - (fx - 1.0) * (fx - 1.0)
    return 0.5 * (fx - 0.5) * (fx - 0.5)


@wp.kernel
def p2g(
    x: wp.array(dtype=wp.vec2),
    v: wp.array(dtype=wp.vec2),
    C: wp.array(dtype=wp.mat22),
    J: wp.array(dtype=float),
    inv_dx: float,
    factor: float,
    volume: float,
    grid_in: wp.array2d(dtype=wp.vec2),
    grid_m: wp.array2d(dtype=float),
):
    p = wp.tid()
    bi = int(x[p][0] * inv_dx - 0.5)
    bj = int(x[p][1] * inv_dx - 0.5)
    fi = x[p][0] * inv_dx - float(bi)
    fj = x[p][1] * inv_dx - float(bj)
    stress = factor * (J[p] - 1.0)
    affine = wp.mat22(stress, 0.0, 0.0, stress) + volume * C[p]
    for i in range(3):
        for j in range(3):
            weight = weight_of(fi, i) * weight_of(fj, j)
            distance = wp.vec2(float(i) - fi, float(j) - fj) / inv_dx
            wp.atomic_add(grid_in, bi + i, bj + j, weight * (volume * v[p] + affine * distance))
            wp.atomic_add(grid_m, bi + i, bj + j, weight * volume)


@wp.kernel
def move(
    grid_in: wp.array2d(dtype=wp.vec2), grid_m: wp.array2d(dtype=float), dt: float, grid_out: wp.array2d(dtype=wp.vec2)
):
    i, j = wp.tid()
    if grid_m[i, j] > 0.0:
        out = grid_in[i, j] / grid_m[i, j]
        vx = out[0]
        vy = out[1] - dt * 9.8
        if i < 3 and vx < 0.0:
            vx = 0.0
        if j < 3 and vy < 0.0:
            vy = 0.0
        grid_out[i, j] = wp.vec2(vx, vy)


@wp.kernel
def g2p(
    grid_out: wp.array2d(dtype=wp.vec2),
    x: wp.array(dtype=wp.vec2),
    J: wp.array(dtype=float),
    inv_dx: float,
    dt: float,
    next_x: wp.array(dtype=wp.vec2),
    next_v: wp.array(dtype=wp.vec2),
    next_C: wp.array(dtype=wp.mat22),
    next_J: wp.array(dtype=float),
):
    p = wp.tid()
    bi = int(x[p][0] * inv_dx - 0.5)
    bj = int(x[p][1] * inv_dx - 0.5)
    fi = x[p][0] * inv_dx - float(bi)
    fj = x[p][1] * inv_dx - float(bj)
    new_v = wp.vec2(0.0, 0.0)
    new_C = wp.mat22(0.0, 0.0, 0.0, 0.0)
    for i in range(3):
        for j in range(3):
            weight = weight_of(fi, i) * weight_of(fj, j)
            g = grid_out[bi + i, bj + j]
            new_v += weight * g
            new_C += 4.0 * weight * inv_dx * wp.outer(g, wp.vec2(float(i) - fi, float(j) - fj))
    next_v[p] = new_v
    next_x[p] = x[p] + dt * new_v
    next_J[p] = J[p] * (1.0 + dt * (new_C[0, 0] + new_C[1, 1]))
    next_C[p] = new_C


@wp.kernel
def scatter(
    x: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    inv_dx: float,
    grid: wp.array3d(dtype=wp.vec3),
    mass: wp.array3d(dtype=float),
):
    p = wp.tid()
    bi = int(x[p][0] * inv_dx - 0.5)
    bj = int(x[p][1] * inv_dx - 0.5)
    bk = int(x[p][2] * inv_dx - 0.5)
    fi = x[p][0] * inv_dx - float(bi)
    fj = x[p][1] * inv_dx - float(bj)
    fk = x[p][2] * inv_dx - float(bk)
    for i in range(3):
        for j in range(3):
            for k in range(3):
                weight = weight_of(fi, i) * weight_of(fj, j) * weight_of(fk, k)
                wp.atomic_add(grid, bi + i, bj + j, bk + k, weight * v[p])
                wp.atomic_add(mass, bi + i, bj + j, bk + k, weight)


def pair(
    kernel: Any, shape: Any, inputs: list[Any], outputs: list[Any]
) -> tuple[Callable[[], None], Callable[[], None]]:
    """Return the launch of a kernel and that of its adjoint."""

    def adjoint(values: list[Any]) -> list[Any]:
        return [value.grad if isinstance(value, wp.array) else value for value in values]

    def backward() -> None:
        wp.launch(
            kernel,
            shape,
            inputs,
            outputs,
            adj_inputs=adjoint(inputs),
            adj_outputs=adjoint(outputs),
            adjoint=True,
        )

    return lambda: wp.launch(kernel, shape, inputs, outputs), backward


def seconds(run: Callable[[], None], launches: int = 20) -> float:
    return derivatives.seconds(run, launches, wp.synchronize)


def zeros(shape: Any, dtype: Any = float) -> Any:
    return wp.zeros(shape, dtype=dtype, requires_grad=True)


def wave(arch: str, n: int, steps: int) -> None:
    start = np.random.default_rng(0).random((steps + 2, n, n), np.float32)
    p, loss = wp.array(start, dtype=float, requires_grad=True), zeros(1)
    launches = [pair(wave_step, (n, n), [p, t], []) for t in range(1, steps + 1)]
    last, last_adjoint = pair(measured, (n, n), [p, steps + 1], [loss])
    loss.grad.fill_(1.0)

    def forward() -> None:
        for step, _ in launches:
            step()
        last()

    def backward() -> None:
        last_adjoint()
        for _, adjoint in reversed(launches):
            adjoint()

    row(arch, "wave, launches", seconds(forward), seconds(backward))
    if arch != "cuda":
        return
    graphs = []
    for run in (forward, backward):
        with wp.ScopedCapture() as capture:
            run()
        graphs.append(capture.graph)
    row(arch, "wave, graph", *(seconds(lambda graph=graph: wp.capture_launch(graph)) for graph in graphs))


def streams(arch: str, n: int) -> None:
    m = int(n**0.5)
    x, y, z = (zeros(n) for _ in range(3))
    a, b = zeros((m, m)), zeros((m, m))
    for name, launches in (
        (f"saxpy, {n}", pair(saxpy, n, [2.0, x, y], [z])),
        (f"stencil, {m}^2", pair(stencil, (m, m), [a], [b])),
    ):
        row(arch, name, *map(seconds, launches))


def mpm88(arch: str, n: int, particles: int) -> None:
    dt, E = 2e-4, 400.0
    inv_dx, volume = float(n), (0.5 / n) ** 2
    start = (0.2 + 0.4 * np.random.default_rng(0).random((particles, 2))).astype(np.float32)
    x = wp.array(start, dtype=wp.vec2, requires_grad=True)
    J = wp.array(np.ones(particles, np.float32), dtype=float, requires_grad=True)
    v, next_x, next_v = (zeros(particles, wp.vec2) for _ in range(3))
    C, next_C = (zeros(particles, wp.mat22) for _ in range(2))
    next_J, grid_m = zeros(particles), zeros((n, n))
    grid_in, grid_out = zeros((n, n), wp.vec2), zeros((n, n), wp.vec2)
    factor = -dt * 4 * E * volume * inv_dx * inv_dx
    launches = [
        pair(p2g, particles, [x, v, C, J, inv_dx, factor, volume], [grid_in, grid_m]),
        pair(move, (n, n), [grid_in, grid_m, dt], [grid_out]),
        pair(g2p, particles, [grid_out, x, J, inv_dx, dt], [next_x, next_v, next_C, next_J]),
    ]

    def forward() -> None:
        for launch, _ in launches:
            launch()

    def backward() -> None:
        for _, adjoint in reversed(launches):
            adjoint()

    row(arch, f"mpm88, {particles}", seconds(forward), seconds(backward))


def p2g3d(arch: str, n: int, particles: int) -> None:
    positions = (0.1 + 0.8 * np.random.default_rng(0).random((particles, 3))).astype(np.float32)
    cells = (positions * n).astype(np.int64)
    positions = positions[np.lexsort((cells[:, 2], cells[:, 1], cells[:, 0]))]  # as a simulation sorts them
    x, v = wp.array(positions, dtype=wp.vec3, requires_grad=True), zeros(particles, wp.vec3)
    launches = pair(scatter, particles, [x, v, float(n)], [zeros((n, n, n), wp.vec3), zeros((n, n, n))])
    row(arch, f"p2g3d, {particles}", *(seconds(launch, 10) for launch in launches))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--arch", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--rows", default=",".join(ROWS))
    parser.add_argument("--small", action="store_true", help="sizes for a processor")
    options = parser.parse_args()
    wp.config.quiet = True
    wp.set_device("cuda:0" if options.arch == "cuda" else "cpu")
    print(f"{'warp':30} {'forward':>9} {'backward':>9} {'ratio':>6}")
    for name in options.rows.split(","):
        _, sizes, small = ROWS[name]
        globals()[name](options.arch, *(small if options.small else sizes))


if __name__ == "__main__":
    main()
