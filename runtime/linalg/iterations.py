"""Conjugate gradients and iterative refinement in f64, for matrices and vectors of SciPy or, on a GPU, of CuPy.

Source: Hestenes and Stiefel, "Methods of Conjugate Gradients" (1952); Skeel, "Iterative refinement implies numerical
stability for Gaussian elimination" (1980).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def conjugate_gradients(matrix: Any, b: Any, x: Any, tolerance: float, iterations: int) -> tuple[Any, bool]:
    """Return x for matrix @ x = b, and whether its residual is below `tolerance` times the length of b.

    x: where to begin; it is changed. It ends too where a matrix that is not positive definite allows no step.
    """
    r = b - matrix @ x
    p, old, goal = r.copy(), float(r @ r), tolerance * float(b @ b) ** 0.5
    for _ in range(iterations):
        if old**0.5 <= goal:
            break
        along = matrix @ p
        curvature = float(p @ along)
        if not curvature:
            break
        alpha = old / curvature
        x += alpha * p
        r -= alpha * along
        new = float(r @ r)
        p = r + new / old * p
        old = new
    return x, old**0.5 <= goal


def refined(matrix: Any, solve: Callable[[Any], Any], b: Any) -> Any:
    """Return solve(b) after one step of iterative refinement, which is left out if it makes the residual larger."""
    x = solve(b)
    residual = b - matrix @ x
    better = x + solve(residual)
    return better if abs(b - matrix @ better).max() < abs(residual).max() else x
