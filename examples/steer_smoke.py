"""Control of a fluid: the flow that carries a disk of smoke so that it ends as a ring.

The flow is the curl of a stream function, and so keeps its volume. The gradient of the difference from the ring,
through all steps in time, says how to change the stream function.
"""

from __future__ import annotations

import argparse

import numpy as np

import shadesmith as ti


@ti.func
def interpolated(smoke: ti.template(), t: ti.i32, position: ti.types.vector(2, ti.f32)):
    """Return the smoke at a position [cells], from the four cells around it."""
    n = ti.static(smoke.shape[1])
    place = ti.math.clamp(position, 0.0, n - 1.001)
    low = ti.floor(place).cast(ti.i32)
    u = place - low
    left = smoke[t, low] * (1 - u[1]) + smoke[t, low + ti.Vector([0, 1])] * u[1]
    right = smoke[t, low + ti.Vector([1, 0])] * (1 - u[1]) + smoke[t, low + ti.Vector([1, 1])] * u[1]
    return left * (1 - u[0]) + right * u[0]


@ti.data_oriented
class Flow:
    """The smoke in each step, and the stream function at the corners of the cells."""

    def __init__(self, size: int, steps: int) -> None:
        self.size, self.steps = size, steps
        self.smoke = ti.field(ti.f32, (steps + 1, size, size), needs_grad=True)
        self.wanted = ti.field(ti.f32, (size, size))
        self.stream = ti.field(ti.f32, (size + 1, size + 1), needs_grad=True)
        self.difference = ti.field(ti.f32, (), needs_grad=True)
        i, j = np.indices((size, size)) - 0.5 * size
        radius = np.hypot(i, j) / size
        first = np.zeros((steps + 1, size, size), np.float32)
        first[0] = np.hypot(i + 0.15 * size, j) < 0.2 * size
        self.smoke.from_numpy(first)
        self.wanted.from_numpy(((radius > 0.15) & (radius < 0.3)).astype(np.float32))

    @ti.kernel
    def advance(self, t: ti.i32):
        for i, j in ti.ndrange(self.size, self.size):
            a, b = self.stream[i, j], self.stream[i + 1, j + 1]
            c, d = self.stream[i + 1, j], self.stream[i, j + 1]
            velocity = 0.5 * ti.Vector([b - c + d - a, a - c + d - b])
            self.smoke[t + 1, i, j] = interpolated(self.smoke, t, ti.Vector([i, j]) - velocity)

    @ti.kernel
    def measure(self):
        for i, j in self.wanted:
            self.difference[None] += (self.smoke[self.steps, i, j] - self.wanted[i, j]) ** 2 / self.size**2

    @ti.kernel
    def descend(self, rate: ti.f32):
        for i, j in self.stream:
            self.stream[i, j] -= rate * self.stream.grad[i, j]

    def improve(self, rate: float) -> float:
        """Change the stream function against the gradient; return the difference before."""
        with ti.ad.Tape(self.difference):
            for t in range(self.steps):
                self.advance(t)
            self.measure()
        self.descend(rate)
        return self.difference[None]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--arch", default="gpu")
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--iterations", type=int, default=200)
    arguments = parser.parse_args()
    ti.init(arch=getattr(ti, arguments.arch))
    flow = Flow(arguments.size, arguments.steps)
    losses = [flow.improve(20.0) for _ in range(arguments.iterations)]
    print(f"difference from {losses[0]:.4f} to {losses[-1]:.4f}")


if __name__ == "__main__":
    main()
