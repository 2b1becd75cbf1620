"""Smoothed particles, weakly compressible: a dam breaks. Neighbours are found in a grid of cells."""

from __future__ import annotations

import numpy as np

import shadesmith as ti
from shadesmith.math import vec2

N = 3600
H = 0.022  # radius of the kernel
CELLS, CAPACITY = 46, 40
SPACING, MASS = 0.0095, 0.0095**2  # of a density of 1
STEP, STEPS = 2.5e-4, 2200
SOUND, VISCOSITY, GRAVITY = 14.0, 0.12, 9.8

Points = ti.types.ndarray(vec2, 1)
Numbers = ti.types.ndarray(ti.f32, 1)


@ti.func
def weight(r):
    """The poly-6 kernel in two dimensions."""
    return 4 / (ti.math.pi * H**8) * ti.max(H * H - r * r, 0.0) ** 3


@ti.func
def slope(r):
    """The derivative of the spiky kernel."""
    return -30 / (ti.math.pi * H**5) * ti.max(H - r, 0.0) ** 2


@ti.kernel
def start(x: Points):
    for i in x:
        x[i] = vec2(0.02 + (i % 45) * SPACING, 0.02 + (i // 45) * SPACING) + 1e-4 * ti.random()


@ti.kernel
def bin(x: Points, count: ti.template(), cell: ti.template()):
    for I in ti.grouped(count):
        count[I] = 0
    for i in x:
        c = ti.math.clamp(int(x[i] * CELLS), 0, CELLS - 1)
        k = ti.atomic_add(count[c], 1)
        if k < CAPACITY:
            cell[c, k] = i


@ti.kernel
def densities(x: Points, density: Numbers, count: ti.template(), cell: ti.template()):
    for i in x:
        total, c = 0.0, int(x[i] * CELLS)
        for a, b in ti.ndrange(
            (ti.max(c.x - 1, 0), ti.min(c.x + 2, CELLS)), (ti.max(c.y - 1, 0), ti.min(c.y + 2, CELLS))
        ):
            for k in range(ti.min(count[a, b], CAPACITY)):
                total += MASS * weight((x[i] - x[cell[a, b, k]]).norm())
        density[i] = ti.max(total, 1.0)


@ti.kernel
def move(x: Points, v: Points, new: Points, density: Numbers, count: ti.template(), cell: ti.template()):
    for i in x:
        force, c = vec2(0.0, -GRAVITY), int(x[i] * CELLS)
        for a, b in ti.ndrange(
            (ti.max(c.x - 1, 0), ti.min(c.x + 2, CELLS)), (ti.max(c.y - 1, 0), ti.min(c.y + 2, CELLS))
        ):
            for k in range(ti.min(count[a, b], CAPACITY)):
                j = cell[a, b, k]
                to = x[i] - x[j]
                r = to.norm()
                if j != i and 1e-6 < r < H:
                    pressure = SOUND**2 * ((density[i] - 1) / density[i] ** 2 + (density[j] - 1) / density[j] ** 2)
                    force -= MASS * pressure * slope(r) * to / r
                    force += VISCOSITY * MASS * (v[j] - v[i]) / density[j] * -slope(r) / r
        new[i] = v[i] + STEP * force


@ti.kernel
def advance(x: Points, v: Points, new: Points):
    for i in x:
        v[i] = new[i]
        x[i] += STEP * v[i]
        for k in ti.static(range(2)):
            if x[i][k] < 0.01 or x[i][k] > 0.99:
                x[i][k] = ti.math.clamp(x[i][k], 0.01, 0.99)
                v[i][k] *= -0.3


def picture() -> np.ndarray:
    """Return colours, shape (width, height, 3)."""
    x, v, new = (ti.Vector.ndarray(2, ti.f32, N) for _ in range(3))
    density = ti.ndarray(ti.f32, N)
    count, cell = ti.field(ti.i32, (CELLS, CELLS)), ti.field(ti.i32, (CELLS, CELLS, CAPACITY))
    start(x)
    for _ in range(STEPS):
        bin(x, count, cell)
        densities(x, density, count, cell)
        move(x, v, new, density, count, cell)
        advance(x, v, new)
    speed = np.clip(np.linalg.norm(v.to_numpy(), axis=1) / 3, 0, 1)
    gui = ti.GUI("dam", res=(420, 420), background_color=0x0B1B2B, show_gui=False)
    gui.circles(
        x.to_numpy(),
        radius=2.6,
        palette=[0x1B5FA8, 0x3F9BE0, 0x8FD0F5, 0xF2FBFF],
        palette_indices=(speed * 3).astype(int),
    )
    return gui.get_image()[..., :3]


if __name__ == "__main__":
    ti.init(arch=ti.gpu)
    ti.tools.imwrite(picture(), "sph.png")
