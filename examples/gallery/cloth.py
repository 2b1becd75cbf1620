"""A cloth of masses and springs falls on a ball and folds over it."""

from __future__ import annotations

import numpy as np

import shadesmith as ti
from shadesmith.math import dot, normalize, vec2, vec3

N = 96
SPACING = 2.0 / N
STEP, STEPS = 5e-4, 3600
STIFFNESS, DAMPING, GRAVITY = 3e4, 1e3, 9.8
BALL = 0.55
WIDTH = 420

Points = ti.types.ndarray(vec3, 2)


@ti.kernel
def start(x: Points, v: Points):
    for i, j in x:
        x[i, j] = vec3(i * SPACING - 1 + 0.05 * ti.random(), 0.75, j * SPACING - 1)
        v[i, j] = vec3(0.0)


@ti.kernel
def push(x: Points, v: Points):
    for i, j in x:
        force = vec3(0.0, -GRAVITY, 0.0)
        for di, dj in ti.static(ti.ndrange((-2, 3), (-2, 3))):
            if ti.static(0 < di * di + dj * dj <= 4):
                k, l = i + di, j + dj
                if 0 <= k < N and 0 <= l < N:
                    to = x[k, l] - x[i, j]
                    rest, along = SPACING * (di * di + dj * dj) ** 0.5, normalize(to)
                    force += STIFFNESS * (to.norm() / rest - 1) * SPACING * along
                    force += DAMPING * SPACING * dot(v[k, l] - v[i, j], along) * along
        v[i, j] = (v[i, j] + STEP * force) * ti.exp(-0.8 * STEP)


@ti.kernel
def move(x: Points, v: Points):
    for i, j in x:
        distance = x[i, j].norm()
        if distance < BALL + 0.02:
            normal = x[i, j] / distance
            v[i, j] -= ti.min(dot(v[i, j], normal), 0.0) * normal
            v[i, j] *= 0.995
            x[i, j] = normal * (BALL + 0.02)
        x[i, j] += STEP * v[i, j]


@ti.kernel
def draw(x: Points, depth: ti.template(), image: ti.types.ndarray(vec3, 2)):
    for i, j in image:
        depth[i, j] = -1e9
        image[i, j] = vec3(0.93, 0.93, 0.9)
    for pass_ in ti.static(range(2)):  # depths first, then colours of what is nearest
        for i, j in ti.ndrange((N - 1) * 8, (N - 1) * 8):
            k, l, f = i // 8, j // 8, vec2(i % 8, j % 8) / 8
            across, along = x[k + 1, l] - x[k, l], x[k, l + 1] - x[k, l]
            p = x[k, l] + f.x * across + f.y * along
            view = vec3(
                p.x * 0.8 + p.z * 0.6,
                p.y * 0.85 + (p.x * 0.6 - p.z * 0.8) * 0.5,
                p.y * 0.5 - (p.x * 0.6 - p.z * 0.8) * 0.85,
            )
            a, b = int((view.x / 2.5 + 0.5) * WIDTH), int((view.y / 2.5 + 0.62) * WIDTH)
            if 0 <= a < WIDTH and 0 <= b < WIDTH:
                if ti.static(pass_ == 0):
                    ti.atomic_max(depth[a, b], view.z)
                elif view.z > depth[a, b] - 0.01:
                    normal = normalize(along.cross(across))
                    light = 0.35 + 0.65 * ti.abs(dot(normal, normalize(vec3(0.4, 0.8, 0.3))))
                    stripe = (k // 8 + l // 8) % 2
                    image[a, b] = light * (vec3(0.85, 0.3, 0.25) if stripe else vec3(0.95, 0.85, 0.7))


def picture() -> np.ndarray:
    """Return colours, shape (width, height, 3)."""
    x, v = (ti.Vector.ndarray(3, ti.f32, (N, N)) for _ in range(2))
    start(x, v)
    for _ in range(STEPS):
        push(x, v)
        move(x, v)
    image = ti.Vector.ndarray(3, ti.f32, (WIDTH, WIDTH))
    draw(x, ti.field(ti.f32, (WIDTH, WIDTH)), image)
    return image.to_numpy()


if __name__ == "__main__":
    ti.init(arch=ti.gpu)
    ti.tools.imwrite(picture(), "cloth.png")
