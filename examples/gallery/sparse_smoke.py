"""Sparse smoke: a plume rises in a tree of blocks, of which only those with smoke have memory; red lines show them."""

from __future__ import annotations

import numpy as np

import shadesmith as ti
from shadesmith.math import clamp, mix, vec2, vec3

N, BLOCK = 384, 16
STEPS, DT = 240, 1.0


@ti.func
def wind(p, t):
    """A flow without divergence, as the curl of waves, on top of a draught upward that narrows."""
    q = p * (2 * ti.math.pi / N)
    swirl = vec2(ti.cos(3 * q.y - 0.031 * t) * 0.9, ti.sin(4 * q.x + 0.023 * t) * 0.5)
    return swirl + vec2(0.0, 1.5)


@ti.func
def sample(x: ti.template(), p):
    p = clamp(p, 1.0, N - 2.0)
    i, j = int(p.x), int(p.y)
    f = p - vec2(i, j)
    return mix(mix(x[i, j], x[i + 1, j], f.x), mix(x[i, j + 1], x[i + 1, j + 1], f.x), f.y)


@ti.kernel
def spread(x: ti.template(), new: ti.template(), t: ti.f32):
    """Activate the cells that smoke may reach, by storing to them."""
    for i, j in x:
        if x[i, j] > 0.004:
            to = int(vec2(i, j) + DT * wind(vec2(i, j), t))
            for a, b in ti.static(ti.ndrange((-2, 3), (-2, 3))):
                k, l = to.x + a, to.y + b
                if 0 < k < N - 1 and 0 < l < N - 1:
                    new[k, l] = 0.0


@ti.kernel
def source(new: ti.template()):
    for i, j in ti.ndrange((N // 2 - 16, N // 2 + 16), (10, 34)):
        new[i, j] = 0.0


@ti.kernel
def advect(x: ti.template(), new: ti.template(), t: ti.f32):
    for i, j in new:
        p = vec2(i, j)
        new[i, j] = sample(x, p - DT * wind(p, t)) * 0.9965 + ti.exp(-(p - vec2(N / 2, 22.0)).norm_sqr() / 60) * 0.12


@ti.kernel
def paint(x: ti.template(), blocks: ti.template(), image: ti.types.ndarray(vec3, 2)):
    for i, j in image:
        smoke = clamp(x[i, j], 0.0, 1.0)
        image[i, j] = mix(vec3(0.05, 0.06, 0.09), vec3(0.95, 0.93, 0.9), smoke)
        if ti.is_active(blocks, [i // BLOCK, j // BLOCK]) and (i % BLOCK == 0 or j % BLOCK == 0):
            image[i, j] += vec3(0.3, 0.08, 0.06)


def picture() -> np.ndarray:
    """Return colours, shape (width, height, 3)."""
    x, new = ti.field(ti.f32), ti.field(ti.f32)
    nodes = [ti.root.pointer(ti.ij, N // BLOCK) for _ in range(2)]
    for field, node in zip((x, new), nodes):
        node.dense(ti.ij, BLOCK).place(field)
    for t in range(STEPS):
        nodes[1].deactivate_all()
        source(new)
        spread(x, new, t)
        advect(x, new, t)
        x, new, nodes = new, x, nodes[::-1]
    image = ti.Vector.ndarray(3, ti.f32, (N, N))
    paint(x, nodes[0], image)
    return image.to_numpy()


if __name__ == "__main__":
    ti.init(arch=ti.gpu)
    ti.tools.imwrite(picture(), "sparse_smoke.png")
