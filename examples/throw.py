"""A differentiable material: the velocity with which an elastic block is thrown so that it ends at a target.

The simulation is MLS-MPM in two dimensions. All steps are kept, so that the gradient of the distance to the target goes
back through collisions to the velocity at the start.
"""

from __future__ import annotations

import argparse

import shadesmith as ti

N = 32
DX = 1 / N
DT = 2e-3
STIFFNESS = 40.0
VOLUME = (0.5 * DX) ** 2
GRAVITY = 4.0
WALL = 3


@ti.data_oriented
class Throw:
    """Particles and grid of all steps, the velocity at the start, and the distance from the target at the end."""

    def __init__(self, side: int, steps: int, target: tuple[float, float]) -> None:
        self.side, self.steps, self.target = side, steps, ti.Vector(target)
        self.count = side * side
        self.x, self.v = (self.of_steps(2, 1) for _ in range(2))
        self.C, self.F = (self.of_steps(2, 2) for _ in range(2))
        shape = (steps, N, N)
        self.momentum, self.velocity = (ti.Vector.field(2, ti.f32, shape, needs_grad=True) for _ in range(2))
        self.mass = ti.field(ti.f32, shape, needs_grad=True)
        self.start = ti.Vector.field(2, ti.f32, (), needs_grad=True)
        self.center = ti.Vector.field(2, ti.f32, (), needs_grad=True)
        self.distance = ti.field(ti.f32, (), needs_grad=True)

    def of_steps(self, rows: int, columns: int) -> ti.Field:
        """Return a field of vectors or matrices with an element for each particle in each step."""
        shape = (self.steps + 1, self.count)
        if columns == 1:
            return ti.Vector.field(rows, ti.f32, shape, needs_grad=True)
        return ti.Matrix.field(rows, columns, ti.f32, shape, needs_grad=True)

    @ti.kernel
    def begin(self):
        for p in range(self.count):
            self.x[0, p] = [0.2 + 0.5 * DX * (p // self.side), 0.2 + 0.5 * DX * (p % self.side)]
            self.v[0, p] = self.start[None]
            self.F[0, p] = ti.Matrix.identity(ti.f32, 2)

    @ti.kernel
    def scatter(self, t: ti.i32):
        for p in range(self.count):
            base = (self.x[t, p] * N - 0.5).cast(ti.i32)
            fx = self.x[t, p] * N - base
            w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2]
            F = self.F[t, p]
            J = F.determinant()
            cauchy = STIFFNESS * (F @ F.transpose() + ti.Matrix.identity(ti.f32, 2) * (J * J - J - 1))
            affine = self.C[t, p] * VOLUME - cauchy * (DT * VOLUME * 4 * N * N)
            for i, j in ti.static(ti.ndrange(3, 3)):
                offset = ti.Vector([i, j])
                weight = w[i][0] * w[j][1]
                self.momentum[t, base + offset] += weight * (VOLUME * self.v[t, p] + affine @ ((offset - fx) * DX))
                self.mass[t, base + offset] += weight * VOLUME

    @ti.kernel
    def move(self, t: ti.i32):
        for i, j in ti.ndrange(N, N):
            if self.mass[t, i, j] > 0:
                v = self.momentum[t, i, j] / self.mass[t, i, j]
                v[1] -= DT * GRAVITY
                if (i < WALL and v[0] < 0) or (i > N - WALL and v[0] > 0):
                    v[0] = 0
                if (j < WALL and v[1] < 0) or (j > N - WALL and v[1] > 0):
                    v = [0.0, 0.0]
                self.velocity[t, i, j] = v

    @ti.kernel
    def gather(self, t: ti.i32):
        for p in range(self.count):
            base = (self.x[t, p] * N - 0.5).cast(ti.i32)
            fx = self.x[t, p] * N - base
            w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2]
            v = ti.Vector.zero(ti.f32, 2)
            C = ti.Matrix.zero(ti.f32, 2, 2)
            for i, j in ti.static(ti.ndrange(3, 3)):
                offset = ti.Vector([i, j])
                g = w[i][0] * w[j][1] * self.velocity[t, base + offset]
                v += g
                C += 4 * N * g.outer_product(offset - fx)
            self.v[t + 1, p], self.C[t + 1, p] = v, C
            self.x[t + 1, p] = self.x[t, p] + DT * v
            self.F[t + 1, p] = (ti.Matrix.identity(ti.f32, 2) + DT * C) @ self.F[t, p]

    @ti.kernel
    def average(self):
        for p in range(self.count):
            self.center[None] += self.x[self.steps, p] / self.count

    @ti.kernel
    def measure(self):
        self.distance[None] = (self.center[None] - self.target).norm_sqr()

    def simulate(self) -> float:
        """Throw the block; return the square of its distance from the target. Gradients follow."""
        for field in (self.momentum, self.velocity, self.mass, self.center):
            field.fill(0)
        with ti.ad.Tape(self.distance):
            self.begin()
            for t in range(self.steps):
                self.scatter(t)
                self.move(t)
                self.gather(t)
            self.average()
            self.measure()
        return self.distance[None]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--arch", default="gpu")
    parser.add_argument("--side", type=int, default=16, help="particles along each side of the block")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--iterations", type=int, default=20)
    arguments = parser.parse_args()
    ti.init(arch=getattr(ti, arguments.arch))
    throw = Throw(arguments.side, arguments.steps, (0.7, 0.5))
    duration = arguments.steps * DT
    losses = []
    for _ in range(arguments.iterations):
        losses.append(throw.simulate())
        throw.start[None] -= 0.4 / duration**2 * throw.start.grad[None]
    print(f"distance from {losses[0] ** 0.5:.4f} to {losses[-1] ** 0.5:.4f}, thrown with {throw.start.to_numpy()}")


if __name__ == "__main__":
    main()
