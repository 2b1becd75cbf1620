"""Gradient descent: the coefficients of a polynomial that passes closest to noisy points."""

from __future__ import annotations

import argparse

import numpy as np

import shadesmith as ti

DEGREE = 3


class Fit:
    """Points, the coefficients of a polynomial, and the mean square distance between both."""

    def __init__(self, x: np.ndarray, y: np.ndarray) -> None:
        self.x, self.y = (ti.field(ti.f32, len(x)) for _ in range(2))
        self.x.from_numpy(x.astype(np.float32))
        self.y.from_numpy(y.astype(np.float32))
        self.coefficients = ti.field(ti.f32, DEGREE + 1, needs_grad=True)
        self.loss = ti.field(ti.f32, (), needs_grad=True)

    def step(self, rate: float) -> float:
        """Move the coefficients against the gradient of the loss; return the loss before."""
        with ti.ad.Tape(self.loss):
            measure(self.x, self.y, self.coefficients, self.loss)
        descend(self.coefficients, rate)
        return self.loss[None]


@ti.kernel
def measure(x: ti.template(), y: ti.template(), coefficients: ti.template(), loss: ti.template()):
    for i in x:
        value = 0.0
        for k in range(DEGREE + 1):
            value = value * x[i] + coefficients[k]
        loss[None] += (value - y[i]) ** 2 / x.shape[0]


@ti.kernel
def descend(coefficients: ti.template(), rate: ti.f32):
    for k in coefficients:
        coefficients[k] -= rate * coefficients.grad[k]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arch", default="gpu")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--source", action="store_true", help="print the gradient kernel")
    arguments = parser.parse_args()
    ti.init(arch=getattr(ti, arguments.arch))
    numbers = np.random.default_rng(0)
    x = numbers.uniform(-1, 1, 256)
    fit = Fit(x, 0.5 * x**3 - x + 0.25 + numbers.normal(0, 0.01, 256))
    if arguments.source:
        print(measure.grad.source(fit.x, fit.y, fit.coefficients, fit.loss))
    losses = [fit.step(0.3) for _ in range(arguments.steps)]
    shown = ", ".join(f"{value:.2f}" for value in fit.coefficients.to_numpy())
    print(f"loss from {losses[0]:.4f} to {losses[-1]:.4f}, coefficients {shown}")


if __name__ == "__main__":
    main()
