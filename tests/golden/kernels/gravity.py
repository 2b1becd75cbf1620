# all threads of a block read `position` in the same order: it is staged in shared memory
from described import described

import shadesmith as ti
from shadesmith.transpiler.ir.types import Tensor

n = 1000
position, velocity = (described(Tensor((3,), ti.f32), (n,), "field", name) for name in ("position", "velocity"))


def gravity(dt: ti.f32):
    for i in position:
        force = ti.Vector([0.0, 0.0, 0.0])
        for j in range(n):
            d = position[j] - position[i]
            force += d * ti.rsqrt(d.dot(d) + 1e-4) ** 3
        velocity[i] += dt * force


kernel, arguments = gravity, (ti.f32,)
