"""The wave equation: a plane wave passes two slits, and interferes behind them."""

from __future__ import annotations

import numpy as np

import shadesmith as ti

N = 384
STEPS = 620
COURANT = 0.5  # c dt / dx; stable below 1 / sqrt(2)


@ti.func
def is_wall(i, j):
    slit = ti.abs(ti.abs(j - N // 2) - 36) < 7
    return 120 <= i < 126 and not slit


@ti.kernel
def step(
    old: ti.types.ndarray(ti.f32, 2), now: ti.types.ndarray(ti.f32, 2), new: ti.types.ndarray(ti.f32, 2), t: ti.f32
):
    for i, j in now:
        if 0 < i < N - 1 and 0 < j < N - 1 and not is_wall(i, j):
            laplacian = now[i - 1, j] + now[i + 1, j] + now[i, j - 1] + now[i, j + 1] - 4 * now[i, j]
            new[i, j] = 2 * now[i, j] - old[i, j] + COURANT**2 * laplacian
        else:
            new[i, j] = ti.sin(0.28 * t) if i == 0 else 0.0
            if i == N - 1:  # the wave leaves on the right
                new[i, j] = now[i - 1, j] * COURANT + now[i, j] * (1 - COURANT)


@ti.kernel
def paint(u: ti.types.ndarray(ti.f32, 2), image: ti.types.ndarray(ti.math.vec3, 2)):
    for i, j in u:
        warm, cold = ti.math.vec3(1.0, 0.75, 0.35), ti.math.vec3(0.3, 0.6, 1.0)
        image[i, j] = ti.math.vec3(0.4) if is_wall(i, j) else ti.max(u[i, j], 0.0) * warm - ti.min(u[i, j], 0.0) * cold


def picture() -> np.ndarray:
    """Return colours, shape (width, height, 3)."""
    fields = [ti.ndarray(ti.f32, (N, N)) for _ in range(3)]
    for t in range(STEPS):
        old, now, new = fields
        step(old, now, new, t)
        fields = [now, new, old]
    image = ti.Vector.ndarray(3, ti.f32, (N, N))
    paint(fields[1], image)
    return image.to_numpy()


if __name__ == "__main__":
    ti.init(arch=ti.gpu)
    ti.tools.imwrite(picture(), "wave.png")
