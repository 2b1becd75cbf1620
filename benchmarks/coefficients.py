"""The polynomials of `templates/glsl/lib/exact_f32.glsl`: prints their coefficients, which f32 holds, and their errors.

    python benchmarks/coefficients.py

A function near zero is its first terms plus a power of x times P: P has the least greatest error relative to the
function that a polynomial of its degree can have (Lawson's weighted least squares at Chebyshev points). Coefficients
are rounded to f32 from the lowest up, and the higher ones fitted again, since rounding the low ones costs most.
Source: Lawson, "Contributions to the theory of linear least maximum approximation" (1961).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

POINTS, ROUNDS = 400, 200
Array = np.ndarray


@dataclass(frozen=True, slots=True)
class Polynomial:
    """function(x) = start(x) + factor(x) * P(variable(x)) for 0 < x <= end; count: of P's coefficients."""

    name: str
    function: Callable[[Array], Array]
    start: Callable[[Array], Array]
    factor: Callable[[Array], Array]
    variable: Callable[[Array], Array]
    begin: float
    end: float
    count: int


def square(x: Array) -> Array:
    return x * x


POLYNOMIALS = (
    Polynomial("sin", np.sin, lambda x: x, lambda x: x**3, square, 0, np.pi / 4, 3),
    Polynomial("cos", np.cos, lambda x: 1 - x * x / 2, lambda x: x**4, square, 0, np.pi / 4, 3),
    Polynomial("exp", np.exp, lambda x: 1 + x, square, lambda x: x, -np.log(2) / 2, np.log(2) / 2, 5),
    Polynomial("tanh", np.tanh, lambda x: x, lambda x: x**3, square, 0, 0.55, 5),
)


def fit(columns: Array, goal: Array) -> Array:
    """Return the coefficients for which the greatest of |columns @ c - goal| is least."""
    weights = np.ones(len(goal))
    best, least = np.zeros(columns.shape[1]), np.inf
    for _ in range(ROUNDS):
        root = np.sqrt(weights)
        found = np.linalg.lstsq(columns * root[:, None], goal * root, rcond=None)[0]
        error = np.abs(columns @ found - goal)
        if error.max() < least:
            best, least = found, error.max()
        weights *= error / error.max()
        weights /= weights.sum()
    return best


def coefficients(p: Polynomial) -> tuple[list[np.float32], float]:
    """Return P's coefficients from the lowest, and the greatest relative error of the whole."""
    x = (p.begin + p.end) / 2 + (p.end - p.begin) / 2 * np.cos(np.pi * (np.arange(POINTS) + 0.5) / POINTS)
    x = x.astype(np.longdouble)
    value, factor = p.function(x), p.factor(x)
    columns = np.stack([factor * p.variable(x) ** k / value for k in range(p.count)], 1)
    rest = (value - p.start(x)) / value
    rounded: list[np.float32] = []
    for k in range(p.count):
        scale = np.abs(columns[:, k:]).max(axis=0).astype(float)
        found = fit((columns[:, k:] / scale).astype(float), rest.astype(float)) / scale
        rounded.append(np.float32(found[0]))
        rest = rest - columns[:, k] * rounded[-1]
    return rounded, float(np.abs(rest).max())


def main() -> None:
    """Print all polynomials, highest coefficient first, as Horner's scheme takes them."""
    for p in POLYNOMIALS:
        found, error = coefficients(p)
        print(f"{p.name}, [{p.begin:.4f}, {p.end:.4f}], relative error 2^{np.log2(error):.1f}")
        for value in reversed(found):
            print(f"    {value!s}")


if __name__ == "__main__":
    main()
