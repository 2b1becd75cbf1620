"""cuSPARSE by CuPy, for vectors in memory of a CUDA device: products and conjugate gradients.

In: matrices of SciPy, ndarrays. Out: new ndarrays; None where CuPy cannot work on them, and the host does. The owner of
a matrix has its copies on devices, in a `DeviceCopies`. Factors are solved on the host, also for vectors of a device:
for 512 x 512 points of Poisson's equation that takes 0.07 s, and 0.79 s by CuPy's `SuperLU.solve` (CuPy 14, H200).
"""

from __future__ import annotations

from collections.abc import Callable
from operator import matmul
from typing import Any

import numpy as np

from ..algorithms.cub import lent, takes
from ..arrays.ndarray import ScalarNdarray, ndarray
from .iterations import conjugate_gradients as iterate


class DeviceCopies:
    """What was made on GPUs of objects of the host. Under one key there is the copy of one object, the last."""

    def __init__(self) -> None:
        self._made: dict[Any, tuple[Any, Any]] = {}

    def find(self, key: Any, original: Any, make: Callable[[Any], Any]) -> Any:
        """Return make(original), which is made once."""
        if key not in self._made or self._made[key][0] is not original:
            self._made[key] = original, make(original)
        return self._made[key][1]


def is_here(vector: Any) -> bool:
    """Return whether CuPy can work on a vector: an ndarray of f32 or f64 with one axis."""
    is_vector = isinstance(vector, ScalarNdarray) and len(vector.shape) == 1
    return is_vector and vector.dtype.numpy in (np.float32, np.float64) and takes(vector)


def product(copies: DeviceCopies, matrix: Any, vector: Any) -> Any | None:
    """Return matrix @ vector, in the type of both."""
    if not is_here(vector) or matrix.dtype != vector.dtype.numpy or not matrix.nnz:
        return None
    out = ndarray(vector.dtype, matrix.shape[0])
    with lent(vector, out) as (cupy, source, target):
        target[...] = _matrix(cupy, copies, matrix, matrix.dtype) @ source
    return out


def conjugate_gradients(
    copies: DeviceCopies, matrix: Any, b: Any, x0: Any, tolerance: float, iterations: int
) -> tuple[Any, bool] | None:
    """Return x for matrix @ x = b, and whether its residual is below `tolerance` times the length of b."""
    if not is_here(b) or not matrix.nnz or not (x0 is None or is_here(x0)):
        return None
    out = ndarray(b.dtype, matrix.shape[1])
    with lent(b, out, *([] if x0 is None else [x0])) as (cupy, right, target, *start):
        begin = start[0].astype(np.float64) if start else cupy.zeros(matrix.shape[1], np.float64)
        wide, narrow = (_matrix(cupy, copies, matrix, dtype) for dtype in (np.float64, matrix.dtype))
        found, is_reached = iterate(wide, narrow, right.astype(np.float64), begin, tolerance, iterations, matmul)
        target[...] = found
    return out, is_reached


def _matrix(cupy: Any, copies: DeviceCopies, matrix: Any, dtype: Any) -> Any:
    """Return a matrix of the host on the current device, in a type."""
    from cupyx.scipy.sparse import csr_matrix

    key = cupy.cuda.Device().id, np.dtype(dtype)
    return copies.find(key, matrix, lambda original: csr_matrix(original.astype(dtype)))
