from types import SimpleNamespace

import shadesmith as ti
from shadesmith.transpiler.ir.types import Tensor
from shadesmith.transpiler.lang.describe import ArrayDescription


def field(element: object, parts: tuple[object, ...] = ()) -> SimpleNamespace:
    return SimpleNamespace(describe_array=lambda: ArrayDescription(element, (100_000,), "field", parts=parts))


position, velocity = (field(Tensor((3,), ti.f32), tuple(field(ti.f32) for _ in range(3))) for _ in range(2))


def drift(dt: ti.f32, axis: ti.i32):
    for i in position:
        velocity[i] -= 0.1 * velocity[i] * dt
        velocity[i].y -= 9.8 * dt
        position[i] += velocity[i] * dt
        if position[i][axis] < 0:
            position[i][axis] = 0
            velocity[i] *= -0.5 * velocity[i].norm()


kernel, arguments = drift, (ti.f32, ti.i32)
