"""Random and degenerate small matrices, and how far `ti.svd` and related functions are from NumPy on them.

For tests/semantics/numbers/test_decompositions.py and benchmarks/decompositions.py. `measure` gives relative errors, largest
over all matrices; each says what they are relative to. NumPy computes in f64, on matrices scaled by a power of
two, so that nothing overflows or underflows; eigenvalues of degenerate matrices, where NumPy itself is off by
the square root of the rounding, are compared with exact arithmetic.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

import shadesmith as ti

NUMPY = {ti.f32: np.float32, ti.f64: np.float64}
SCALES = (1.0, 1e15, 1e-15, 1e30, 1e-30)
LIMITS = {ti.f32: 1e-5, ti.f64: 1e-12}
Array = np.ndarray[Any, Any]


def random_matrices(n: int, count: int, dtype: Any) -> Array:
    """Return (count, n, n) matrices of normally distributed elements."""
    return np.random.default_rng(n).standard_normal((count, n, n)).astype(NUMPY[dtype])


def degenerate_matrices(n: int, dtype: Any) -> Array:
    """Return more than 100 matrices: singular, with equal singular values, diagonal, defective, of extreme scale."""
    random = np.random.default_rng(7)
    one = np.eye(n)
    found = [np.zeros((n, n)), one, -one, one[::-1], np.ones((n, n)), np.arange(1.0, n * n + 1).reshape(n, n)]
    found += [np.diag([*diagonal]) for diagonal in _diagonals(n)]
    found += [np.triu(np.ones((n, n))), np.eye(n, k=1), np.eye(n, k=-1), one + np.eye(n, k=1), one + np.eye(n, k=-1)]
    found += [one + 1e-7, np.ones((n, n)) + 1e-6 * random.standard_normal((n, n))]
    for _ in range(3):
        column, row = random.standard_normal((n, 1)), random.standard_normal((1, n))
        rotation = np.linalg.qr(random.standard_normal((n, n)))[0]
        found += [column @ row, column @ column.T, column @ row + row.T @ column.T, rotation, -rotation]
        found += [
            rotation @ np.diag(values) @ rotation.T for values in ([2, 2, 1][:n], [2, -2, 2][:n], [1, 1e-6, 0][:n])
        ]
    scaled = [matrix * scale for matrix in found for scale in SCALES]
    scaled += [np.full((n, n), factor * np.finfo(NUMPY[dtype]).max) for factor in (1.0, -1.0)]
    scaled += [np.full((n, n), np.finfo(NUMPY[dtype]).tiny)]
    return np.array(scaled).astype(NUMPY[dtype])


def _diagonals(n: int) -> list[list[float]]:
    rows = [[1, 2, 3], [3, -2, 1], [-1, -2, -3], [1, 0, 0], [0, 0, -5], [0, -5, 0], [2, 2, 1], [1, 1e-15, 1e-15]]
    return [[float(value) for value in row[:n]] for row in rows]


def make_kernels(n: int, dtype: Any) -> dict[str, Callable[..., None]]:
    """Return one kernel a function: (matrices, [right sides,] results ...)."""
    matrix, vector = ti.types.matrix(n, n, dtype), ti.types.vector(n, dtype)
    pairs, quads = ti.types.matrix(n, 2, dtype), ti.types.matrix(2 * n, n, dtype)
    many = ti.types.ndarray

    @ti.kernel
    def svd(a: many(matrix), u: many(matrix), s: many(matrix), v: many(matrix)):
        for i in range(a.shape[0]):
            u[i], s[i], v[i] = ti.svd(a[i], dtype)

    @ti.kernel
    def polar_decompose(a: many(matrix), u: many(matrix), p: many(matrix)):
        for i in range(a.shape[0]):
            u[i], p[i] = ti.polar_decompose(a[i], dtype)

    @ti.kernel
    def sym_eig(a: many(matrix), values: many(vector), vectors: many(matrix)):
        for i in range(a.shape[0]):
            values[i], vectors[i] = ti.sym_eig(a[i], dtype)

    @ti.kernel
    def eig(a: many(matrix), values: many(pairs), vectors: many(quads)):
        for i in range(a.shape[0]):
            values[i], vectors[i] = ti.eig(a[i], dtype)

    @ti.kernel
    def solve(a: many(matrix), b: many(vector), x: many(vector)):
        for i in range(a.shape[0]):
            x[i] = ti.solve(a[i], b[i], dtype)

    return {"svd": svd, "polar_decompose": polar_decompose, "sym_eig": sym_eig, "eig": eig, "solve": solve}


# --- errors ---------------------------------------------------------------------------------------------------------


def scaled(matrices: Array) -> tuple[Array, Array]:
    """Return matrices in f64 with elements up to 1, and the powers of two they were divided by."""
    wide = matrices.astype(np.float64)
    exponents = np.frexp(np.abs(wide).max((1, 2)))[1]
    return np.ldexp(wide, -exponents[:, None, None]), exponents


def _unscaled(values: Array, exponents: Array) -> Array:
    return np.ldexp(values.astype(np.float64), -exponents.reshape(-1, *[1] * (values.ndim - 1)))


def _largest(error: Array, scale: Array) -> float:
    """Return the largest error over scale; where the scale is 0 the error has to be 0 too."""
    error, scale = error.reshape(len(error), -1).max(1), scale.reshape(len(scale), -1).max(1)
    assert not np.isnan(error).any()
    assert (error[scale == 0] == 0).all()
    return float((error[scale > 0] / scale[scale > 0]).max())


def _orthogonality(vectors: Array) -> float:
    wide = vectors.astype(np.float64)
    return float(np.abs(wide @ wide.transpose(0, 2, 1) - np.eye(wide.shape[1])).max())


def _run(kernel: Callable[..., None], matrices: Array, *shapes: tuple[int, ...], extra: tuple[Array, ...] = ()) -> list:
    results = [np.zeros((len(matrices), *shape), matrices.dtype) for shape in shapes]
    kernel(matrices, *extra, *results)
    ti.sync()
    assert not any(np.isnan(result).any() for result in results), "nan"
    return results


def _in_range(results: Array, exact: Array, exponents: Array) -> Array:
    """Return which results are finite; the others must be too large for their type."""
    is_finite = np.isfinite(results).reshape(len(results), -1).all(1)
    largest = np.abs(exact).reshape(len(exact), -1).max(1)
    limit = np.ldexp(float(np.finfo(results.dtype).max), -exponents)
    assert (largest[~is_finite] > 0.9 * limit[~is_finite]).all()
    return is_finite


def measure_svd(kernel: Callable[..., None], matrices: Array) -> dict[str, float]:
    """Errors of U S V^T and of the singular values over the largest of these; of U U^T and V V^T."""
    n = matrices.shape[1]
    u, s, v = _run(kernel, matrices, (n, n), (n, n), (n, n))
    exact, exponents = scaled(matrices)
    values = np.linalg.svd(exact, compute_uv=False)
    chosen = _in_range(s, values, exponents)
    found = _unscaled(s, exponents)
    diagonal = np.diagonal(found, axis1=1, axis2=2)
    assert (s == s * np.eye(n)).all() if chosen.all() else True
    _check_signs(n, diagonal[chosen], u.astype(np.float64)[chosen], v.astype(np.float64)[chosen])
    rebuilt = u.astype(np.float64)[chosen] @ found[chosen] @ v.astype(np.float64)[chosen].transpose(0, 2, 1)
    return {
        "product": _largest(np.abs(rebuilt - exact[chosen]), values[chosen]),
        "values": _largest(np.abs(np.abs(diagonal) - values)[chosen], values[chosen]),
        "orthogonality": max(_orthogonality(u), _orthogonality(v)),
    }


def _check_signs(n: int, values: Array, u: Array, v: Array) -> None:
    """Taichi's: V is a rotation; in 3-D U too, and the last value has a sign; in 2-D no value is negative."""
    assert (np.linalg.det(v) > 0.9).all()
    assert (np.diff(np.abs(values), axis=1) <= 1e-6 * np.abs(values[:, :1])).all()
    if n == 2:
        assert (values >= 0).all()
    else:
        assert (np.linalg.det(u) > 0.9).all() and (values[:, :-1] >= 0).all()


def measure_polar_decompose(kernel: Callable[..., None], matrices: Array) -> dict[str, float]:
    """Error of U P over the largest singular value, of U U^T, and how far P is from P^T."""
    n = matrices.shape[1]
    u, p = _run(kernel, matrices, (n, n), (n, n))
    exact, exponents = scaled(matrices)
    values = np.linalg.svd(exact, compute_uv=False)
    chosen = _in_range(p, values, exponents)
    found = _unscaled(p, exponents)[chosen]
    error = np.abs(u.astype(np.float64)[chosen] @ found - exact[chosen])
    return {
        "product": _largest(error, values[chosen]),
        "orthogonality": _orthogonality(u),
        "symmetry": float(np.abs(found - found.transpose(0, 2, 1)).max()),
    }


def measure_sym_eig(kernel: Callable[..., None], matrices: Array) -> dict[str, float]:
    """Errors of V diag(values) V^T and of the eigenvalues over the largest of these, and of V V^T."""
    n = matrices.shape[1]
    symmetric = np.triu(matrices) + np.triu(matrices, 1).transpose(0, 2, 1)
    values, vectors = _run(kernel, symmetric, (n,), (n, n))
    exact, exponents = scaled(symmetric)
    expected = np.linalg.eigvalsh(exact)
    expected = expected[:, ::-1] if n == 2 else expected
    chosen = _in_range(values, expected, exponents)
    found, wide = _unscaled(values, exponents)[chosen], vectors.astype(np.float64)[chosen]
    rebuilt = wide @ (found[:, :, None] * wide.transpose(0, 2, 1))
    assert (np.linalg.det(vectors.astype(np.float64)) > 0.9).all()
    return {
        "product": _largest(np.abs(rebuilt - exact[chosen]), np.abs(expected[chosen])),
        "values": _largest(np.abs(found - expected[chosen]), np.abs(expected[chosen])),
        "orthogonality": _orthogonality(vectors),
    }


def exact_eigenvalues(matrix: Array) -> list[complex]:
    """Return the eigenvalues of a 2x2 matrix, its discriminant without rounding."""
    (a, b), (c, d) = [[Fraction(float(value)) for value in row] for row in matrix]
    mean, square = (a + d) / 2, ((a - d) / 2) ** 2 + b * c
    root = math.sqrt(abs(square))
    if square < 0:
        return [complex(float(mean), root), complex(float(mean), -root)]
    return [complex(float(mean + Fraction(root))), complex(float(mean - Fraction(root)))]


def measure_eig(kernel: Callable[..., None], matrices: Array, with_numpy: bool = True) -> dict[str, float]:
    """Error of the eigenvalues over the larger one, of A v = w v over the largest element of A, of the length of v."""
    values, vectors = _run(kernel, matrices, (2, 2), (4, 2))
    exact, exponents = scaled(matrices)
    if with_numpy:
        expected = np.linalg.eigvals(exact).astype(complex)
        expected = np.array([sorted(row, key=lambda w: (-w.real, -w.imag)) for row in expected])
    else:
        expected = np.array([exact_eigenvalues(matrix) for matrix in exact])
    chosen = _in_range(values, expected, exponents)
    parts = _unscaled(values, exponents)[chosen]
    found = parts[..., 0] + 1j * parts[..., 1]
    wide = vectors[chosen].astype(np.float64)
    wide = wide[:, 0::2] + 1j * wide[:, 1::2]
    residual = np.abs(exact[chosen] @ wide - wide * found[:, None, :])
    return {
        "values": _largest(np.abs(found - expected[chosen]), np.abs(expected[chosen])),
        "residual": _largest(residual, np.abs(exact[chosen])),
        "length": float(np.abs(np.linalg.norm(wide, axis=1) - 1).max()),
    }


def measure_solve(kernel: Callable[..., None], matrices: Array) -> dict[str, float]:
    """Residual of A x = b, over |A| |x| + |b| (the backward error), where A is not singular to its last digit.

    b is A times a random vector, so that x is in range.
    """
    n = matrices.shape[1]
    exact, exponents = scaled(matrices)
    solution = np.random.default_rng(3).uniform(0.5, 1, (len(matrices), n))
    limit = float(np.finfo(matrices.dtype).max)
    right = np.ldexp(np.einsum("kij,kj->ki", exact, solution), exponents[:, None])
    right = np.clip(right, -limit, limit).astype(matrices.dtype)
    (x,) = _run(kernel, matrices, (n,), extra=(right,))
    assert np.isfinite(x).all()
    b, wide = _unscaled(right, exponents), x.astype(np.float64)
    residual = np.abs(np.einsum("kij,kj->ki", exact, wide) - b).max(1)
    scale = np.abs(exact).sum(2).max(1) * np.abs(wide).max(1) + np.abs(b).max(1)
    is_regular = np.linalg.svd(exact, compute_uv=False)[:, -1] > 10 * np.finfo(matrices.dtype).eps
    return {"residual": _largest(residual[is_regular], scale[is_regular])}


MEASURES: dict[str, Callable[..., dict[str, float]]] = {
    "svd": measure_svd,
    "polar_decompose": measure_polar_decompose,
    "sym_eig": measure_sym_eig,
    "eig": measure_eig,
    "solve": measure_solve,
}


def measure(name: str, kernel: Callable[..., None], matrices: Array, is_degenerate: bool) -> dict[str, float]:
    """Return the errors of one function."""
    if name == "eig":
        return measure_eig(kernel, matrices, with_numpy=not is_degenerate)
    return MEASURES[name](kernel, matrices)
