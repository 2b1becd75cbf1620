from types import SimpleNamespace

import shadesmith as ti
from shadesmith.transpiler.lang.describe import ArrayDescription

vec3 = ti.types.vector(3, ti.f32)


@ti.dataclass
class Body:
    pos: vec3
    vel: vec3
    mass: ti.f32

    @ti.func
    def energy(self):
        return 0.5 * self.mass * self.vel.dot(self.vel)


def field(element: object, *parts: object) -> SimpleNamespace:
    return SimpleNamespace(describe_array=lambda: ArrayDescription(element, (512,), "field", parts=parts))


bodies = field(Body.dtype, *(field(member) for _, member in Body.dtype.members))
energy = field(ti.f32)


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
