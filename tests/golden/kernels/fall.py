# the arrays say what they are, and have no memory: the kernel is only compiled
from described import described

import shadesmith as ti
from shadesmith.transpiler.ir.types import Tensor

x = described(Tensor((3,), ti.f32), (1024,), "field", "x")
v = described(Tensor((3,), ti.f32), (1024,), "field", "v")


def fall(dt: ti.f32, gravity: ti.types.vector(3, ti.f32)):
    for i in range(1024):
        v[i] += dt * gravity
        x[i] += dt * v[i]
        if x[i].y < 0:
            x[i].y = 0.0
            v[i].y *= -0.5


kernel, arguments = fall, (ti.f32, Tensor((3,), ti.f32))
