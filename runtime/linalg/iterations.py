"""Conjugate gradients and iterative refinement, for matrices and vectors of SciPy or, on a GPU, of CuPy.

Source: Hestenes and Stiefel, "Methods of Conjugate Gradients" (1952); Sleijpen and van der Vorst, "Reliable updated
residuals in hybrid Bi-CG methods" (1996); Skeel, "Iterative refinement implies numerical stability for Gaussian
elimination" (1980).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

UPDATED_AFTER = 500
"""Iterations in a narrow type after which the residual is computed anew; also where it is a hundredth of the last."""
DRIFTED = 4.0
"""How many times what the iterations say the square of the residual may be; then they go on in f64."""


def conjugate_gradients(
    wide: Any, narrow: Any, b: Any, x: Any, tolerance: float, iterations: int, dot: Callable[[Any, Any], Any]
) -> tuple[Any, bool]:
    """Return x for wide @ x = b, and whether its residual is below `tolerance` times the length of b.

    wide, narrow: the matrix in f64, and in the type that most of the work is done in; they may be one object. b: in
    f64. x: where to begin, in f64; it is changed. dot: sum of the products of two vectors.
    In a narrower type the residual drifts, so that now and then, and in the end, it is computed anew in f64; where it
    has not become less since then, as with matrices of a large condition, all goes on in f64. It ends too where a
    matrix that is not positive definite allows no step.
    """
    residual, goal = b - wide @ x, tolerance * float(dot(b, b)) ** 0.5
    unit = float(abs(residual).max()) or 1.0  # so that squares are in the range of a narrow type
    r = (residual / unit).astype(narrow.dtype)
    p, part, scratch = r.copy(), r * 0, r * 0
    old = last = float(dot(r, r))
    is_mixed = narrow is not wide
    for count in range(1, iterations + 1):
        if old**0.5 * unit <= goal:
            break
        along = narrow @ p
        curvature = float(dot(p, along))
        if not curvature:
            break
        step = old / curvature
        part += times(p, step, scratch)
        r -= times(along, step, scratch)
        new = float(dot(r, r))
        is_reached, is_narrow = new**0.5 * unit <= goal, narrow is not wide
        if is_mixed and (is_reached or is_narrow and (new < 1e-4 * last or count % UPDATED_AFTER == 0)):
            x += unit * part.astype(b.dtype)
            residual = (b - wide @ x) / unit
            r, reported, new = residual.astype(r.dtype), new, float(dot(residual, residual))
            if is_narrow and (not new <= DRIFTED * reported or new > last):
                narrow, r, p, scratch = wide, residual, residual * 0, residual * 0  # it begins anew
            part, last = r * 0, new
        p *= new / old
        p += r
        old = new
    return x + unit * part.astype(b.dtype), old**0.5 * unit <= goal


def times(vector: Any, factor: float, target: Any) -> Any:
    """Return factor * vector, in an array that is there already."""
    target[...] = vector
    target *= factor
    return target


def refined(matrix: Any, solve: Callable[[Any], Any], b: Any) -> Any:
    """Return solve(b) after one step of iterative refinement, which is left out if it makes the residual larger."""
    x = solve(b)
    residual = b - matrix @ x
    better = x + solve(residual)
    return better if abs(b - matrix @ better).max() < abs(residual).max() else x
