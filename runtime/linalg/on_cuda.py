"""cuSPARSE by CuPy, for vectors in memory of a CUDA device: products, conjugate gradients, solutions from factors.

In: matrices and factors of SciPy, ndarrays. Out: new ndarrays; None where CuPy cannot work on them, and the host does.
Matrices and factors are copied to the device once.
"""

from __future__ import annotations

import inspect
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ..algorithms.cub import lent, takes
from ..arrays.ndarray import ScalarNdarray, ndarray

_COPIES: WeakKeyDictionary[Any, dict[Any, Any]] = WeakKeyDictionary()
"""By matrix or solver of the host: what was made of it, by device."""


def is_here(vector: Any) -> bool:
    """Return whether CuPy can work on an ndarray of f32 or f64."""
    return isinstance(vector, ScalarNdarray) and vector.dtype.numpy in (np.float32, np.float64) and takes(vector)


def product(matrix: Any, vector: Any) -> Any | None:
    """Return matrix @ vector, in the type of both."""
    if not is_here(vector) or matrix.dtype != vector.dtype.numpy or not matrix.nnz:
        return None
    out = ndarray(vector.dtype, matrix.shape[0])
    with lent(vector, out) as (cupy, source, target):
        target[...] = _matrix(cupy, matrix, matrix.dtype) @ source
    return out


def conjugate_gradients(matrix: Any, b: Any, x0: Any, tolerance: float, iterations: int) -> tuple[Any, bool] | None:
    """Return x for matrix @ x = b, and whether its residual is below `tolerance` times the length of b."""
    if not is_here(b) or not matrix.nnz or not (x0 is None or is_here(x0)):
        return None
    from cupyx.scipy.sparse.linalg import cg

    relative = "rtol" if "rtol" in inspect.signature(cg).parameters else "tol"
    out = ndarray(b.dtype, matrix.shape[1])
    with lent(b, out, *([] if x0 is None else [x0])) as (cupy, right, target, *start):
        begin = start[0].astype(np.float64) if start else None
        options = {relative: tolerance, "atol": 0.0, "maxiter": iterations, "x0": begin}
        x, code = cg(_matrix(cupy, matrix, np.float64), right.astype(np.float64), **options)
        target[...] = x
    return out, code == 0


def solution(owner: Any, factors: Any, b: Any) -> Any | None:
    """Return x by SuperLU's factors, which cuSPARSE solves one after the other. owner: what holds the factors."""
    if not is_here(b):
        return None
    from cupyx.scipy.sparse.linalg import SuperLU

    out = ndarray(b.dtype, b.shape[0])
    with lent(b, out) as (cupy, right, target):
        made = _COPIES.setdefault(owner, {})
        key = cupy.cuda.Device().id
        if key not in made or made[key][0] is not factors:
            made[key] = factors, SuperLU(factors)
        target[...] = made[key][1].solve(right.astype(np.float64))
    return out


def _matrix(cupy: Any, matrix: Any, dtype: Any) -> Any:
    """Return a matrix of the host on the current device."""
    from cupyx.scipy.sparse import csr_matrix

    made = _COPIES.setdefault(matrix, {})
    key = cupy.cuda.Device().id, np.dtype(dtype)
    if key not in made:
        indices, starts = (cupy.asarray(part.astype(np.int32)) for part in (matrix.indices, matrix.indptr))
        made[key] = csr_matrix((cupy.asarray(matrix.data.astype(dtype)), indices, starts), shape=matrix.shape)
    return made[key]
