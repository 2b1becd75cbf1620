"""Lattice-Boltzmann, D2Q9: vortices behind a cylinder, after von Karman, at a Reynolds number of 150."""

from __future__ import annotations

import numpy as np

import shadesmith as ti

NX, NY, RADIUS = 360, 108, 10
SPEED, REYNOLDS = 0.1, 150
TAU = 3 * SPEED * 2 * RADIUS / REYNOLDS + 0.5
STEPS = 7000

E = np.array([(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)], np.int32)
W = np.array([4 / 9, *[1 / 9] * 4, *[1 / 36] * 4], np.float32)
OPPOSITE = (0, 3, 4, 1, 2, 7, 8, 5, 6)

Populations = ti.types.ndarray(ti.types.vector(9, ti.f32), 2)


@ti.func
def equilibrium(density, u):
    f = ti.Vector.zero(ti.f32, 9)
    for k in ti.static(range(9)):
        eu = E[k, 0] * u.x + E[k, 1] * u.y
        f[k] = W[k] * density * (1 + 3 * eu + 4.5 * eu * eu - 1.5 * u.dot(u))
    return f


@ti.func
def is_solid(i, j):
    return (ti.math.vec2(i, j) - ti.math.vec2(NX / 5, NY / 2 + 1)).norm() < RADIUS


@ti.func
def velocity(f):
    u = ti.math.vec2(0.0)
    for k in ti.static(range(9)):
        u += f[k] * ti.math.vec2(E[k, 0], E[k, 1])
    return u / f.sum()


@ti.kernel
def start(f: Populations):
    for i, j in f:
        f[i, j] = equilibrium(1.0, ti.math.vec2(SPEED, 0.04 * ti.sin(i / 9)))


@ti.kernel
def step(f: Populations, new: Populations):
    for i, j in f:
        pulled = ti.Vector.zero(ti.f32, 9)
        for k in ti.static(range(9)):  # what flows in; a wall returns what went to it
            x, y = i - E[k, 0], (j - E[k, 1] + NY) % NY
            x = ti.math.clamp(x, 0, NX - 1)
            pulled[k] = f[i, j][OPPOSITE[k]] if is_solid(x, y) else f[x, y][k]
        if i == 0:
            pulled = equilibrium(1.0, ti.math.vec2(SPEED, 0.0))
        new[i, j] = pulled + (equilibrium(pulled.sum(), velocity(pulled)) - pulled) / TAU


@ti.kernel
def paint(f: Populations, image: ti.types.ndarray(ti.math.vec3, 2)):
    for i, j in f:
        left, right, down, up = ti.max(i - 1, 0), ti.min(i + 1, NX - 1), ti.max(j - 1, 0), ti.min(j + 1, NY - 1)
        curl = velocity(f[right, j]).y - velocity(f[left, j]).y - velocity(f[i, up]).x + velocity(f[i, down]).x
        warm, cold = ti.math.vec3(1.0, 0.45, 0.2), ti.math.vec3(0.2, 0.55, 1.0)
        colour = 18 * (ti.max(curl, 0.0) * warm - ti.min(curl, 0.0) * cold)
        image[i, j] = ti.math.vec3(0.7) if is_solid(i, j) else colour


def picture() -> np.ndarray:
    """Return colours, shape (width, height, 3)."""
    f, new = (ti.Vector.ndarray(9, ti.f32, (NX, NY)) for _ in range(2))
    start(f)
    for _ in range(STEPS):
        step(f, new)
        f, new = new, f
    image = ti.Vector.ndarray(3, ti.f32, (NX, NY))
    paint(f, image)
    return image.to_numpy()


if __name__ == "__main__":
    ti.init(arch=ti.gpu)
    ti.tools.imwrite(picture(), "lattice_boltzmann.png")
