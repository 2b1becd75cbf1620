"""Three dimensions of the moving least squares material point method: two cubes of jelly meet above a floor."""

from __future__ import annotations

import numpy as np

import shadesmith as ti
from shadesmith.math import mat3, vec3

N, CELLS = 12000, 40
SPACING = 1.0 / CELLS
STEP, STEPS = 2.5e-4, 900
VOLUME = (SPACING / 2) ** 3
MU, LAMBDA, GRAVITY, WALL = 300.0, 500.0, 9.8, 3

Particle = ti.types.struct(x=vec3, v=vec3, C=mat3, F=mat3)
particles = None
momentum = None
mass = None


@ti.kernel
def start():
    for p in particles:
        corner = vec3(0.2, 0.2, 0.3) if p < N // 2 else vec3(0.48, 0.55, 0.36)
        particles[p].x = corner + 0.28 * vec3(ti.random(), ti.random(), ti.random())
        particles[p].v = vec3(0.0) if p < N // 2 else vec3(-1.2, -3.0, 0.0)
        particles[p].F = ti.math.eye(3)


@ti.func
def weights(offset):
    return [0.5 * (1.5 - offset) ** 2, 0.75 - (offset - 1.0) ** 2, 0.5 * (offset - 0.5) ** 2]


@ti.kernel
def scatter():
    for I in ti.grouped(mass):
        mass[I], momentum[I] = 0.0, vec3(0.0)
    for p in particles:
        base = int(particles[p].x / SPACING - 0.5)
        offset = particles[p].x / SPACING - base
        w, F = weights(offset), particles[p].F
        J = F.determinant()
        stress = MU * (F @ F.transpose() - ti.math.eye(3)) + ti.math.eye(3) * (LAMBDA * ti.log(ti.max(J, 0.1)))
        push = -STEP * VOLUME * 4 / SPACING**2 * stress + VOLUME * particles[p].C
        for i, j, k in ti.static(ti.ndrange(3, 3, 3)):
            node = ti.Vector([i, j, k])
            share = w[i].x * w[j].y * w[k].z
            momentum[base + node] += share * (VOLUME * particles[p].v + push @ ((node - offset) * SPACING))
            mass[base + node] += share * VOLUME


@ti.kernel
def collide():
    for I in ti.grouped(mass):
        if mass[I] > 0:
            v = momentum[I] / mass[I] - vec3(0.0, STEP * GRAVITY, 0.0)
            for d in ti.static(range(3)):
                if (I[d] < WALL and v[d] < 0) or (I[d] > CELLS - WALL and v[d] > 0):
                    v[d] = 0.0
            momentum[I] = v


@ti.kernel
def gather():
    for p in particles:
        base = int(particles[p].x / SPACING - 0.5)
        offset = particles[p].x / SPACING - base
        w, v, C = weights(offset), vec3(0.0), mat3(0.0)
        for i, j, k in ti.static(ti.ndrange(3, 3, 3)):
            node = ti.Vector([i, j, k])
            share = w[i].x * w[j].y * w[k].z
            v += share * momentum[base + node]
            C += 4 * share * momentum[base + node].outer_product(node - offset) / SPACING
        particles[p].v, particles[p].C = v, C
        particles[p].x += STEP * v
        particles[p].F = (ti.math.eye(3) + STEP * C) @ particles[p].F


def picture() -> np.ndarray:
    """Return colours, shape (width, height, 3)."""
    global particles, momentum, mass
    particles = Particle.field(shape=N)
    momentum, mass = ti.Vector.field(3, ti.f32, (CELLS,) * 3), ti.field(ti.f32, (CELLS,) * 3)
    start()
    for _ in range(STEPS):
        scatter()
        collide()
        gather()
    x = particles.x.to_numpy() - 0.5
    depth = 0.6 * x[:, 0] - 0.8 * x[:, 2]
    seen = np.stack([0.8 * x[:, 0] + 0.6 * x[:, 2], 0.9 * x[:, 1] + 0.4 * depth], 1) + 0.5
    shade = np.clip(0.75 - 0.5 * depth + 0.3 * x[:, 1], 0.3, 1)[:, None]
    body = np.where(np.arange(N)[:, None] < N // 2, [0.95, 0.45, 0.35], [0.35, 0.65, 0.95])
    order = np.argsort(-depth)
    gui = ti.GUI("jelly", res=(420, 420), background_color=0xF1EEE6, show_gui=False)
    gui.circles(seen[order], radius=3, color=ti.rgb_to_hex((shade * body)[order].T))
    return gui.get_image()[..., :3]


if __name__ == "__main__":
    ti.init(arch=ti.gpu)
    ti.tools.imwrite(picture(), "mpm3d.png")
