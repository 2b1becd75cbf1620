"""What `runtime/linalg/on_cuda.py` takes of cupyx, on the host: matrices and factors are SciPy's. `install` lets it be found."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np


class Matrix:
    """`cupyx.scipy.sparse.csr_matrix` of a matrix of SciPy."""

    def __init__(self, matrix: Any) -> None:
        import scipy.sparse

        assert scipy.sparse.issparse(matrix) and matrix.dtype.char in "fd"
        self._matrix = scipy.sparse.csr_matrix(matrix)

    def __matmul__(self, vector: Any) -> Any:
        assert isinstance(vector, np.ndarray) and vector.dtype == self._matrix.dtype
        return (self._matrix @ vector).view(type(vector))


class Factors:
    """`cupyx.scipy.sparse.linalg.SuperLU` of SciPy's object of this name; it solves by triangles, as there."""

    def __init__(self, factors: Any) -> None:
        import scipy.sparse.linalg

        assert isinstance(factors, scipy.sparse.linalg.SuperLU)
        self.lower, self.upper = factors.L.tocsr(), factors.U.tocsr()
        self.rows, self.columns = np.argsort(factors.perm_r), factors.perm_c

    def solve(self, right: Any) -> Any:
        """Return the solution."""
        from scipy.sparse.linalg import spsolve_triangular

        assert right.dtype == np.float64
        middle = spsolve_triangular(self.lower, np.asarray(right)[self.rows], lower=True)
        return spsolve_triangular(self.upper, middle, lower=False)[self.columns].view(type(right))


MODULES = ("cupyx", "cupyx.scipy", "cupyx.scipy.sparse", "cupyx.scipy.sparse.linalg")


def install() -> None:
    """Let `from cupyx.scipy.sparse import ...` find them."""
    for name in MODULES:
        sys.modules[name] = ModuleType(name)
    sys.modules["cupyx.scipy.sparse"].csr_matrix = Matrix  # type: ignore[attr-defined]
    sys.modules["cupyx.scipy.sparse.linalg"].SuperLU = Factors  # type: ignore[attr-defined]
