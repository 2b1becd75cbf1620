"""Reaction and diffusion after Gray and Scott: two chemicals grow corals."""

from __future__ import annotations

import numpy as np

import shadesmith as ti

N = 256
STEPS = 6000
FEED, KILL = 0.055, 0.062


@ti.kernel
def seed(c: ti.types.ndarray(ti.math.vec2, 2)):
    for i, j in c:
        near = (i // 32 * 7 + j // 32 * 5) % 11 == 0 and i % 32 < 8 and j % 32 < 8
        c[i, j] = ti.math.vec2(0.5, 0.25) if near else ti.math.vec2(1.0, 0.0)


@ti.kernel
def react(c: ti.types.ndarray(ti.math.vec2, 2), new: ti.types.ndarray(ti.math.vec2, 2)):
    for i, j in c:
        left, right, down, up = (i + N - 1) % N, (i + 1) % N, (j + N - 1) % N, (j + 1) % N
        sides = c[left, j] + c[right, j] + c[i, down] + c[i, up]
        corners = c[left, down] + c[left, up] + c[right, down] + c[right, up]
        spread = 0.2 * sides + 0.05 * corners - c[i, j]
        u, v = c[i, j]
        reaction = u * v * v
        new[i, j] = ti.math.vec2(
            u + spread.x - reaction + FEED * (1 - u), v + 0.5 * spread.y + reaction - (FEED + KILL) * v
        )


@ti.kernel
def paint(c: ti.types.ndarray(ti.math.vec2, 2), image: ti.types.ndarray(ti.math.vec3, 2)):
    for i, j in c:
        t = ti.math.clamp(c[i, j].y * 3, 0.0, 1.0)
        image[i, j] = ti.math.mix(ti.math.vec3(0.02, 0.05, 0.16), ti.math.vec3(1.0, 0.8, 0.55), t)


def picture() -> np.ndarray:
    """Return colours, shape (width, height, 3)."""
    c, new = (ti.Vector.ndarray(2, ti.f32, (N, N)) for _ in range(2))
    seed(c)
    for _ in range(STEPS):
        react(c, new)
        c, new = new, c
    image = ti.Vector.ndarray(3, ti.f32, (N, N))
    paint(c, image)
    return image.to_numpy()


if __name__ == "__main__":
    ti.init(arch=ti.gpu)
    ti.tools.imwrite(picture(), "reaction_diffusion.png")
