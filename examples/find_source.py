"""A differentiable simulation: waves on a membrane, and the bump they started from, found from their end.

The gradient of the distance to the observed waves, by the heights at the start, goes back through all steps.
"""

from __future__ import annotations

import argparse

import numpy as np

import shadesmith as ti


class Membrane:
    """The heights `u[t, i, j]` of a membrane of n x n points, and what was observed of the last of them."""

    def __init__(self, n: int, steps: int) -> None:
        self.n, self.steps = n, steps
        self.u = ti.field(ti.f32, (steps + 2, n, n), needs_grad=True)
        self.observed = ti.field(ti.f32, (n, n))
        self.loss = ti.field(ti.f32, (), needs_grad=True)

    def run(self) -> None:
        """Compute all steps from the heights at the start."""
        for t in range(1, self.steps + 1):
            wave(self.u, t, 0.4)

    def improve(self, rate: float) -> float:
        """Change the heights at the start against the gradient; return the loss before."""
        with ti.ad.Tape(self.loss):
            self.run()
            compare(self.u, self.observed, self.loss, self.steps + 1)
        descend(self.u, rate)
        return self.loss[None]


@ti.kernel
def wave(u: ti.template(), t: ti.i32, c: ti.f32):
    for i, j in ti.ndrange((1, u.shape[1] - 1), (1, u.shape[2] - 1)):
        around = u[t, i - 1, j] + u[t, i + 1, j] + u[t, i, j - 1] + u[t, i, j + 1] - 4 * u[t, i, j]
        u[t + 1, i, j] = 2 * u[t, i, j] - u[t - 1, i, j] + c * c * around


@ti.kernel
def compare(u: ti.template(), observed: ti.template(), loss: ti.template(), last: ti.i32):
    for i, j in observed:
        loss[None] += (u[last, i, j] - observed[i, j]) ** 2


@ti.kernel
def descend(u: ti.template(), rate: ti.f32):
    for i, j in ti.ndrange(u.shape[1], u.shape[2]):
        change = rate * (u.grad[0, i, j] + u.grad[1, i, j])
        u[0, i, j] -= change
        u[1, i, j] -= change


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arch", default="gpu")
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--iterations", type=int, default=50)
    arguments = parser.parse_args()
    ti.init(arch=getattr(ti, arguments.arch))
    n = arguments.size
    membrane = Membrane(n, arguments.steps)
    i, j = np.mgrid[:n, :n] / n
    bump = np.exp(-((i - 0.4) ** 2 + (j - 0.55) ** 2) * 100).astype(np.float32)
    start = np.zeros(membrane.u.shape, np.float32)
    start[:2] = bump
    membrane.u.from_numpy(start)
    membrane.run()
    membrane.observed.from_numpy(membrane.u.to_numpy()[-1])
    membrane.u.fill(0)
    losses = [membrane.improve(0.2) for _ in range(arguments.iterations)]
    found = membrane.u.to_numpy()[0]
    peak = tuple(int(k) for k in np.unravel_index(found.argmax(), found.shape))
    print(f"loss from {losses[0]:.3f} to {losses[-1]:.3f}; the bump is at {peak}")


if __name__ == "__main__":
    main()
