# the arrays say what they are, and have no memory: the kernel is only compiled
from described import Described, described

import shadesmith as ti
from shadesmith.transpiler.ir.snodes import Node
from shadesmith.transpiler.ir.types import Type

vec3 = ti.types.vector(3, ti.f32)
SHAPE = (512,)


@ti.dataclass
class Body:
    pos: vec3
    vel: vec3
    mass: ti.f32

    @ti.func
    def energy(self):
        return 0.5 * self.mass * self.vel.dot(self.vel)


def member(cell: Node, element: Type) -> Described:
    """A member of a struct field with `layout=SOA`, in its own array below the one cell of the field's tree."""
    cell.children.append(Node("dense", cell, (0,), SHAPE))
    place = Node("place", cell.children[-1], element=element)
    cell.children[-1].children.append(place)
    return described(element, SHAPE, "field", place=place)


cell = Node("dense", None)
members = tuple(member(cell, element) for _, element in Body.dtype.members)
bodies = described(Body.dtype, SHAPE, "field", parts=members)
energy = described(ti.f32, SHAPE, "field")


def orbit(dt: ti.f32):
    for i in bodies:
        bodies[i].vel -= bodies[i].pos * dt
        bodies.pos[i] += bodies[i].vel * dt
        energy[i] = bodies[i].energy()
    heaviest = bodies[0]
    for i in range(512):
        ti.atomic_max(heaviest.mass, bodies.mass[i])
    bodies[1] = heaviest


kernel, arguments = orbit, (ti.f32,)
