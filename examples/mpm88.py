"""A block of jelly falls: the moving least squares material point method in 2-D on a background grid."""

from __future__ import annotations

import argparse

import shadesmith as ti

PARTICLES = 4096
CELLS = 64
SPACING = 1.0 / CELLS
STEP = 2e-4
VOLUME = (SPACING * 0.5) ** 2
STIFFNESS = 400.0
GRAVITY = 9.8
WALL = 3

position = None
velocity = None
affine = None
stretch = None
momentum = None
mass = None


def allocate() -> None:
    """Make the fields in the current session."""
    global position, velocity, affine, stretch, momentum, mass
    position = ti.Vector.field(2, ti.f32, PARTICLES)
    velocity = ti.Vector.field(2, ti.f32, PARTICLES)
    affine = ti.Matrix.field(2, 2, ti.f32, PARTICLES)
    stretch = ti.field(ti.f32, PARTICLES)
    momentum = ti.Vector.field(2, ti.f32, (CELLS, CELLS))
    mass = ti.field(ti.f32, (CELLS, CELLS))


@ti.func
def weights(offset):
    """Quadratic B-spline weights of the three nodes around a particle; offset is in (0.5, 1.5)."""
    return [0.5 * (1.5 - offset) ** 2, 0.75 - (offset - 1.0) ** 2, 0.5 * (offset - 0.5) ** 2]


@ti.kernel
def start():
    for p in position:
        position[p] = ti.Vector([ti.random() * 0.4 + 0.2, ti.random() * 0.4 + 0.2])
        velocity[p] = ti.Vector([0.0, -1.0])
        affine[p] = ti.Matrix.zero(ti.f32, 2, 2)
        stretch[p] = 1.0


@ti.kernel
def substep():
    for i, j in mass:
        momentum[i, j] = ti.Vector([0.0, 0.0])
        mass[i, j] = 0.0
    for p in position:
        base = ti.cast(position[p] / SPACING - 0.5, ti.i32)
        offset = position[p] / SPACING - base
        w = weights(offset)
        pressure = -STEP * 4 * STIFFNESS * VOLUME * (stretch[p] - 1) / SPACING**2
        push = ti.Matrix([[pressure, 0.0], [0.0, pressure]]) + VOLUME * affine[p]
        for i, j in ti.static(ti.ndrange(3, 3)):
            node = ti.Vector([i, j])
            share = w[i].x * w[j].y
            momentum[base + node] += share * (VOLUME * velocity[p] + push @ ((node - offset) * SPACING))
            mass[base + node] += share * VOLUME
    for i, j in mass:
        if mass[i, j] > 0:
            v = momentum[i, j] / mass[i, j]
            v.y -= STEP * GRAVITY
            if (i < WALL and v.x < 0) or (i > CELLS - WALL and v.x > 0):
                v.x = 0.0
            if (j < WALL and v.y < 0) or (j > CELLS - WALL and v.y > 0):
                v.y = 0.0
            momentum[i, j] = v
    for p in position:
        base = ti.cast(position[p] / SPACING - 0.5, ti.i32)
        offset = position[p] / SPACING - base
        w = weights(offset)
        v = ti.Vector.zero(ti.f32, 2)
        gradient = ti.Matrix.zero(ti.f32, 2, 2)
        for i, j in ti.static(ti.ndrange(3, 3)):
            node = ti.Vector([i, j])
            share = w[i].x * w[j].y
            v += share * momentum[base + node]
            gradient += 4 * share * momentum[base + node].outer_product(node - offset) / SPACING
        velocity[p] = v
        position[p] += STEP * v
        stretch[p] *= 1 + STEP * gradient.trace()
        affine[p] = gradient


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arch", default="gpu")
    parser.add_argument("--substeps", type=int, default=50, help="a frame")
    arguments = parser.parse_args()
    ti.init(arch=getattr(ti, arguments.arch))
    allocate()
    start()
    gui = ti.GUI("MPM88", background_color=0x112F41)
    while gui.running and not gui.get_event(gui.ESCAPE):
        for _ in range(arguments.substeps):
            substep()
        gui.circles(position.to_numpy(), radius=1.5, color=0x068587)
        gui.show()


if __name__ == "__main__":
    main()
