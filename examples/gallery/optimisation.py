"""An optimisation by derivatives: a thrown ball finds the speed and angle that reach a target against the wind."""

from __future__ import annotations

import numpy as np

import shadesmith as ti
from shadesmith.math import vec2

STEPS, STEP = 160, 0.012
ROUNDS, RATE = 60, 0.6
TARGET = vec2(0.86, 0.3)
WIND, DRAG, GRAVITY = vec2(-0.5, 0.0), 0.35, 1.6


@ti.kernel
def fly(x: ti.template(), v: ti.template(), k: ti.i32):
    for _ in range(1):
        air = v[k] - WIND
        v[k + 1] = v[k] + STEP * (vec2(0.0, -GRAVITY) - DRAG * air.norm() * air)
        x[k + 1] = x[k] + STEP * v[k + 1]


@ti.kernel
def miss(x: ti.template(), loss: ti.template()):
    for _ in range(1):
        loss[None] += (x[STEPS] - TARGET).norm_sqr()


def picture() -> np.ndarray:
    """Return colours, shape (width, height, 3)."""
    x, v = (ti.Vector.field(2, ti.f32, STEPS + 1, needs_grad=True) for _ in range(2))
    loss = ti.field(ti.f32, (), needs_grad=True)
    x[0], v[0] = vec2(0.08, 0.1), vec2(0.6, 1.0)
    gui = ti.GUI("throws", res=(480, 360), background_color=0xF4F1EA, show_gui=False)
    for number in range(ROUNDS):
        with ti.ad.Tape(loss):
            for k in range(STEPS):
                fly(x, v, k)
            miss(x, loss)
        path = x.to_numpy()
        last = number == ROUNDS - 1
        gui.lines(path[:-1], path[1:], radius=2.2 if last else 1, color=0xB5452C if last else 0xB9B4A6)
        v[0] = v[0] - RATE * v.grad[0]
    gui.circle((TARGET.x, TARGET.y), color=0x2C6DB5, radius=7)
    return gui.get_image()[..., :3]


if __name__ == "__main__":
    ti.init(arch=ti.gpu)
    ti.tools.imwrite(picture(), "optimisation.png")
