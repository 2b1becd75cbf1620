"""A small neural field: a network of two layers, in one kernel, that learns a picture from its pixels.

A pixel's position gives sines and cosines of several frequencies; the network makes a brightness of them. The gradient
kernel adds up the gradients of all weights over all pixels.
"""

from __future__ import annotations

import argparse

import numpy as np

import shadesmith as ti

FREQUENCIES = 6
INPUTS = 4 * FREQUENCIES
HIDDEN = 16


@ti.data_oriented
class NeuralField:
    """Weights, their moments for the optimizer (Adam), and the picture."""

    def __init__(self, picture: np.ndarray) -> None:
        self.picture = ti.field(ti.f32, picture.shape)
        self.picture.from_numpy(picture.astype(np.float32))
        self.loss = ti.field(ti.f32, (), needs_grad=True)
        numbers = np.random.default_rng(0)
        self.weights = []
        for shape in ((HIDDEN, INPUTS), (HIDDEN,), (HIDDEN,), (1,)):
            weights = ti.field(ti.f32, shape, needs_grad=True)
            mean, square = (ti.field(ti.f32, shape) for _ in range(2))
            weights.from_numpy((numbers.normal(size=shape) / shape[-1] ** 0.5).astype(np.float32))
            self.weights.append((weights, mean, square))
        self.first, self.bias, self.second, self.level = (weights for weights, _, _ in self.weights)

    @ti.func
    def brightness(self, u: ti.f32, v: ti.f32):
        inputs = ti.Vector.zero(ti.f32, INPUTS)
        for k in ti.static(range(FREQUENCIES)):
            angle = ti.math.pi * (k + 1)
            inputs[4 * k], inputs[4 * k + 1] = ti.sin(angle * u), ti.cos(angle * u)
            inputs[4 * k + 2], inputs[4 * k + 3] = ti.sin(angle * v), ti.cos(angle * v)
        result = self.level[0]
        for i in range(HIDDEN):
            s = self.bias[i]
            for j in range(INPUTS):
                s += self.first[i, j] * inputs[j]
            result += self.second[i] * ti.tanh(s)
        return result

    @ti.kernel
    def measure(self):
        for i, j in self.picture:
            n, m = self.picture.shape
            error = self.brightness(i / n, j / m) - self.picture[i, j]
            self.loss[None] += error * error / (n * m)

    @ti.kernel
    def descend(self, w: ti.template(), mean: ti.template(), square: ti.template(), rate: ti.f32):
        for I in ti.grouped(w):
            g = w.grad[I]
            mean[I] += 0.1 * (g - mean[I])
            square[I] += 0.01 * (g * g - square[I])
            w[I] -= rate * mean[I] / (ti.sqrt(square[I]) + 1e-6)

    def improve(self, rate: float) -> float:
        """Do one step of the optimizer; return the mean square error before."""
        with ti.ad.Tape(self.loss):
            self.measure()
        for weights, mean, square in self.weights:
            self.descend(weights, mean, square, rate)
        return self.loss[None]


def rings(size: int) -> np.ndarray:
    """Return a picture to learn: rings that get narrower from the middle."""
    i, j = np.indices((size, size)) / size - 0.5
    return 0.5 + 0.5 * np.cos(40 * (i**2 + j**2))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--arch", default="gpu")
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--steps", type=int, default=300)
    arguments = parser.parse_args()
    ti.init(arch=getattr(ti, arguments.arch))
    field = NeuralField(rings(arguments.size))
    losses = [field.improve(0.01) for _ in range(arguments.steps)]
    print(f"error from {losses[0]:.4f} to {losses[-1]:.5f}")


if __name__ == "__main__":
    main()
