import shadesmith as ti

vec3 = ti.types.vector(3, ti.f32)
Plane = ti.types.struct(normal=vec3, offset=ti.f32)


@ti.dataclass
class Particle:
    pos: vec3
    vel: vec3
    alive: ti.u1

    @ti.func
    def advance(self, dt):
        self.pos += self.vel * dt


def particles(x: ti.types.ndarray(dtype=Particle, ndim=1), floor: Plane, dt: ti.f32) -> Plane:
    highest = Plane(offset=-1e9)
    for i in x:
        p = x[i]
        p.advance(dt)
        height = floor.normal.dot(p.pos) - floor.offset
        p.alive = p.alive and height > 0
        x[i] = p
        x[i].vel.y -= 9.8 * dt
        ti.atomic_max(highest.offset, height)
    return highest


kernel, arguments = particles, ((Particle.dtype, 1), Plane.dtype, ti.f32)
