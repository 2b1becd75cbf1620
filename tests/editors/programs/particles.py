"""Particles: a struct type, vectors, a class with kernels, atomic operations."""

import shadesmith as ti
import shadesmith.math as tm


@ti.dataclass
class Particle:
    position: tm.vec2
    velocity: tm.vec2
    mass: ti.f32


@ti.data_oriented
class Cloud:
    def __init__(self, count: int) -> None:
        self.count = count
        self.particles = ti.field(Particle, shape=count)
        self.momentum = ti.Vector.field(2, ti.f32, shape=())

    @ti.kernel
    def scatter(self, speed: ti.f32) -> None:
        for i in self.particles:
            angle = tm.pi * 2 * i / self.count
            self.particles[i].position = tm.vec2(0.5, 0.5)
            self.particles[i].velocity = speed * tm.vec2(tm.cos(angle), tm.sin(angle))
            self.particles[i].mass = 1.0

    @ti.kernel
    def advance(self, dt: ti.f32) -> ti.f32:
        fastest = 0.0
        for i in range(self.count):
            p = self.particles[i]
            self.particles[i].position = p.position + dt * p.velocity
            ti.atomic_add(self.momentum[None], p.mass * p.velocity)
            ti.atomic_max(fastest, p.velocity.norm())
        return fastest


def main() -> None:
    ti.init(arch=ti.cpu)
    cloud = Cloud(8)
    cloud.scatter(0.5)
    fastest: float = cloud.advance(0.1)
    source: str = cloud.advance.source(0.1)
    print(fastest, len(source), cloud.momentum[None])


if __name__ == "__main__":
    main()
