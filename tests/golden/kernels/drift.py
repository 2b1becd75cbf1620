# the arrays say what they are, and have no memory: the kernel is only compiled
from described import Described, described

import shadesmith as ti
from shadesmith.transpiler.ir.snodes import Node
from shadesmith.transpiler.ir.types import Tensor

SHAPE = (100_000,)


def part(cell: Node) -> Described:
    """A component of a vector field with `layout=SOA`, in its own array below the one cell of the field's tree."""
    cell.children.append(Node("dense", cell, (0,), SHAPE))
    place = Node("place", cell.children[-1], element=ti.f32)
    cell.children[-1].children.append(place)
    return described(ti.f32, SHAPE, "field", place=place)


def field() -> Described:
    cell = Node("dense", None)
    parts = part(cell), part(cell), part(cell)
    return described(Tensor((3,), ti.f32), SHAPE, "field", parts=parts)


position, velocity = field(), field()


def drift(dt: ti.f32, axis: ti.i32):
    for i in position:
        velocity[i] -= 0.1 * velocity[i] * dt
        velocity[i].y -= 9.8 * dt
        position[i] += velocity[i] * dt
        if position[i][axis] < 0:
            position[i][axis] = 0
            velocity[i] *= -0.5 * velocity[i].norm()


kernel, arguments = drift, (ti.f32, ti.i32)
