"""What `runtime/linalg/on_cuda.py` takes of cupyx, on the host: matrices are SciPy's. `install` lets it be found."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np

MODULES = ("cupyx", "cupyx.scipy", "cupyx.scipy.sparse")


class Matrix:
    """`cupyx.scipy.sparse.csr_matrix` of a matrix of SciPy."""

    def __init__(self, matrix: Any) -> None:
        import scipy.sparse

        assert scipy.sparse.issparse(matrix) and matrix.dtype.char in "fd"
        self._matrix, self.dtype = scipy.sparse.csr_matrix(matrix), matrix.dtype

    def __matmul__(self, vector: Any) -> Any:
        assert isinstance(vector, np.ndarray) and vector.dtype == self._matrix.dtype
        return (self._matrix @ vector).view(type(vector))


def install() -> None:
    """Let `from cupyx.scipy.sparse import ...` find them."""
    for name in MODULES:
        sys.modules[name] = ModuleType(name)
    sys.modules["cupyx.scipy.sparse"].csr_matrix = Matrix  # type: ignore[attr-defined]
