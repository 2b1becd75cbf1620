"""Stable fluids after Stam: dye in a fluid that two jets drive. Advection backwards, then a projection by Jacobi."""

from __future__ import annotations

import numpy as np

import shadesmith as ti

N = 256
STEPS, ITERATIONS = 260, 30
DT = 0.6

Velocity = ti.types.ndarray(ti.math.vec2, 2)
Number = ti.types.ndarray(ti.f32, 2)


@ti.func
def sample(x: ti.template(), p):
    """Interpolate between the four cells around p."""
    p = ti.math.clamp(p, 0.5, N - 1.5)
    i, j = int(p.x), int(p.y)
    f = p - ti.math.vec2(i, j)
    return ti.math.mix(ti.math.mix(x[i, j], x[i + 1, j], f.x), ti.math.mix(x[i, j + 1], x[i + 1, j + 1], f.x), f.y)


@ti.kernel
def advect(v: Velocity, dye: Number, new_v: Velocity, new_dye: Number, t: ti.f32):
    for i, j in v:
        from_where = ti.math.vec2(i, j) - DT * v[i, j]
        new_v[i, j] = sample(v, from_where)
        new_dye[i, j] = sample(dye, from_where) * 0.999
        for side in ti.static((-1, 1)):  # the jets
            jet = ti.math.vec2(N / 2 + side * N * 0.33, N / 2 - side * 14)
            near = ti.exp(-(ti.math.vec2(i, j) - jet).norm_sqr() / 40)
            new_v[i, j] += near * ti.math.vec2(-side * 1.6, 0.5 * ti.sin(0.11 * t))
            new_dye[i, j] += near * 0.35


@ti.kernel
def divergence(v: Velocity, d: Number):
    for i, j in d:
        if 0 < i < N - 1 and 0 < j < N - 1:
            d[i, j] = 0.5 * (v[i + 1, j].x - v[i - 1, j].x + v[i, j + 1].y - v[i, j - 1].y)


@ti.kernel
def relax(d: Number, p: Number, new_p: Number):
    for i, j in p:
        left, right, down, up = ti.max(i - 1, 0), ti.min(i + 1, N - 1), ti.max(j - 1, 0), ti.min(j + 1, N - 1)
        new_p[i, j] = 0.25 * (p[left, j] + p[right, j] + p[i, down] + p[i, up] - d[i, j])


@ti.kernel
def project(v: Velocity, p: Number):
    for i, j in v:
        if 0 < i < N - 1 and 0 < j < N - 1:
            v[i, j] -= 0.5 * ti.math.vec2(p[i + 1, j] - p[i - 1, j], p[i, j + 1] - p[i, j - 1])
        else:
            v[i, j] = ti.math.vec2(0.0)


def picture() -> np.ndarray:
    """Return colours, shape (width, height, 3)."""
    v, new_v = (ti.Vector.ndarray(2, ti.f32, (N, N)) for _ in range(2))
    dye, new_dye, p, new_p, d = (ti.ndarray(ti.f32, (N, N)) for _ in range(5))
    for t in range(STEPS):
        advect(v, dye, new_v, new_dye, t)
        v, new_v, dye, new_dye = new_v, v, new_dye, dye
        divergence(v, d)
        for _ in range(ITERATIONS):
            relax(d, p, new_p)
            p, new_p = new_p, p
        project(v, p)
    t = np.clip(dye.to_numpy(), 0, 1)[..., None]
    return t ** np.array([0.6, 1.0, 2.2], np.float32)


if __name__ == "__main__":
    ti.init(arch=ti.gpu)
    ti.tools.imwrite(picture(), "stable_fluids.png")
