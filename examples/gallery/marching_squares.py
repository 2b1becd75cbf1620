"""Marching squares: level lines of a sum of blobs. Each cell appends its line; an atomic addition counts them."""

from __future__ import annotations

import numpy as np

import shadesmith as ti
from shadesmith.math import mix, vec2

N = 128
CAPACITY = 1 << 15


@ti.kernel
def blobs(x: ti.types.ndarray(ti.f32, 2), t: ti.f32):
    for i, j in x:
        p, total = vec2(i, j) / N, 0.0
        for k in range(9):
            centre = vec2(0.5 + 0.32 * ti.cos(1.7 * k + t), 0.5 + 0.32 * ti.sin(2.3 * k + 0.7 * t))
            total += 0.0035 / ((p - centre).norm_sqr() + 0.0015)
        x[i, j] = total


@ti.func
def crossing(x: ti.template(), i, j, side, level):
    """Return where the level crosses a side of a cell: 0 left, 1 bottom, 2 right, 3 top."""
    a, b = vec2(i, j), vec2(i, j)
    if side == 0:
        b.y += 1
    elif side == 1:
        b.x += 1
    elif side == 2:
        a.x += 1
        b += 1
    else:
        a.y += 1
        b += 1
    low, high = x[int(a.x), int(a.y)], x[int(b.x), int(b.y)]
    return mix(a, b, (level - low) / (high - low)) / N


@ti.kernel
def march(x: ti.types.ndarray(ti.f32, 2), level: ti.f32, lines: ti.template(), count: ti.template()):
    for i, j in ti.ndrange(N - 1, N - 1):
        inside = ti.Vector([x[i, j] > level, x[i + 1, j] > level, x[i + 1, j + 1] > level, x[i, j + 1] > level])
        crossed = ti.Vector(
            [inside[0] != inside[3], inside[0] != inside[1], inside[1] != inside[2], inside[2] != inside[3]]
        )
        previous, found = vec2(0.0), 0
        for side in ti.static(range(4)):
            if crossed[side]:
                point = crossing(x, i, j, side, level)
                if found % 2 == 1:
                    k = ti.atomic_add(count[None], 1)
                    if k < CAPACITY:
                        lines[k, 0], lines[k, 1] = previous, point
                previous = point
                found += 1


def picture() -> np.ndarray:
    """Return colours, shape (width, height, 3)."""
    x = ti.ndarray(ti.f32, (N, N))
    lines, count = ti.Vector.field(2, ti.f32, (CAPACITY, 2)), ti.field(ti.i32, ())
    blobs(x, 0.4)
    gui = ti.GUI("lines", res=(480, 480), background_color=0x10202C, show_gui=False)
    for k, level in enumerate(np.linspace(0.35, 2.6, 14)):
        count[None] = 0
        march(x, level, lines, count)
        ends = lines.to_numpy()[: count[None]]
        gui.lines(
            ends[:, 0], ends[:, 1], radius=1.2, color=ti.rgb_to_hex((0.25 + 0.05 * k, 0.85 - 0.03 * k, 0.9 - 0.05 * k))
        )
    return gui.get_image()[..., :3]


if __name__ == "__main__":
    ti.init(arch=ti.gpu)
    ti.tools.imwrite(picture(), "marching_squares.png")
