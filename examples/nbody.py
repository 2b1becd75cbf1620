"""Gravity between all pairs of bodies, with softening, leapfrog steps."""

from __future__ import annotations

import argparse

import numpy as np

import shadesmith as ti

SOFTENING = 1e-3


@ti.kernel
def kick(position: ti.template(), velocity: ti.template(), mass: ti.f32, step: ti.f32):
    for i in position:
        here = position[i]
        force = ti.Vector([0.0, 0.0, 0.0])
        for j in range(position.shape[0]):
            to = position[j] - here
            inverse = ti.rsqrt(to.dot(to) + SOFTENING)
            force += to * (mass * inverse * inverse * inverse)
        velocity[i] += force * step


@ti.kernel
def drift(position: ti.template(), velocity: ti.template(), step: ti.f32):
    for i in position:
        position[i] += velocity[i] * step


def run(start: np.ndarray, steps: int, step: float = 1e-3) -> np.ndarray:
    """Return positions, shape (n, 3), after some steps from rest; the masses sum to 1."""
    position = ti.Vector.field(3, ti.f32, len(start))
    velocity = ti.Vector.field(3, ti.f32, len(start))
    position.from_numpy(start.astype(np.float32))
    for _ in range(steps):
        kick(position, velocity, 1.0 / len(start), step)
        drift(position, velocity, step)
    return position.to_numpy()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arch", default="gpu")
    parser.add_argument("--bodies", type=int, default=1024)
    arguments = parser.parse_args()
    ti.init(arch=getattr(ti, arguments.arch))
    start = np.random.default_rng(1).normal(0.5, 0.15, (arguments.bodies, 3))
    gui = ti.GUI("N-body")
    while gui.running:
        start = run(start, 10, 2e-3)
        gui.circles(start[:, :2], radius=1.5, color=0xFFCC66)
        gui.show()


if __name__ == "__main__":
    main()
