"""`SparseSolver` and `SparseCG`: A x = b for sparse matrices; factors on the host, iterations also by cuSPARSE.

In: a `SparseMatrix`, a vector. Out: a vector. Factors are SciPy's (SuperLU), in f64 whatever the type of the matrix is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...transpiler.errors import TaichiRuntimeError
from ...transpiler.ir.types import Scalar, f32, f64
from ...transpiler.lang.hooks import scalar_of
from ..arrays.dense_array import DenseArray
from ..arrays.ndarray import ScalarNdarray
from ..session.tracebacks import hides_own_frames
from . import on_cuda
from .iterations import conjugate_gradients, refined
from .sparse_matrix import SparseMatrix, as_ndarray, scipy_module

TYPES = ["LLT", "LDLT", "LU"]
ORDERINGS = {"AMD": "MMD_AT_PLUS_A", "COLAMD": "COLAMD"}
"""Orderings of Taichi, and those of SuperLU that are like them."""


class SparseSolver:
    """A direct solver: "LLT" and "LDLT" for symmetric matrices, "LU" for all. ordering: "AMD" or "COLAMD".

    dtype: number type of the computation. solver_type: one of these names.
    Raises: TaichiRuntimeError for other names.

    Example:
        >>> builder = ti.linalg.SparseMatrixBuilder(2, 2, max_num_triplets=4)
        >>> @ti.kernel
        ... def fill(A: ti.types.sparse_matrix_builder()):
        ...     for i in range(2):
        ...         A[i, i] += 2.0
        >>> fill(builder)
        >>> A = builder.build()
        >>> solver = ti.linalg.SparseSolver(solver_type="LLT")
        >>> solver.compute(A)
        >>> solver.solve(np.array([2.0, 4.0], np.float32)).tolist()
        [1.0, 2.0]
    """

    @hides_own_frames
    def __init__(self, dtype: Any = f32, solver_type: str = "LLT", ordering: str = "AMD") -> None:
        if solver_type not in TYPES or ordering not in ORDERINGS:
            raise TaichiRuntimeError(
                f"The solver type {solver_type} with {ordering} is not supported for now. "
                f"Only {TYPES} with {list(ORDERINGS)} are supported."
            )
        self.matrix: SparseMatrix | None = None
        self.dtype, self._type, self._ordering = scalar_of(dtype), solver_type, ordering
        self._factors: Any = None
        self._factored: Any = None

    def compute(self, sparse_matrix: SparseMatrix) -> None:
        """Factorize a matrix; `info` tells whether that succeeded."""
        self.analyze_pattern(sparse_matrix)
        self.factorize(sparse_matrix)

    @hides_own_frames
    def analyze_pattern(self, sparse_matrix: SparseMatrix) -> None:
        """Take a matrix. Raises: TaichiRuntimeError for other objects and matrices of another type."""
        _check_matrix(sparse_matrix)
        if sparse_matrix.dtype != self.dtype:
            types = f"dtype {self.dtype} is not consistent with the SparseMatrix's dtype {sparse_matrix.dtype}"
            raise TaichiRuntimeError(f"The SparseSolver's {types}.")
        self.matrix = sparse_matrix

    @hides_own_frames
    def factorize(self, sparse_matrix: SparseMatrix) -> None:
        """Compute the factors of a matrix."""
        _check_matrix(sparse_matrix)
        self.matrix, self._factors = sparse_matrix, None
        if sparse_matrix.n != sparse_matrix.m:
            raise TaichiRuntimeError(f"a solver takes a square matrix, found shape {sparse_matrix.shape}")
        symmetric = self._type != "LU"
        options = {"diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}} if symmetric else {}
        self._factored = sparse_matrix.matrix.astype(np.float64)  # `A[i, j] = v` would give the matrix another one
        columns = self._factored.tocsc()
        try:
            self._factors = scipy_module("linalg").splu(columns, permc_spec=ORDERINGS[self._ordering], **options)
        except RuntimeError:  # the matrix is singular: `info` tells
            return
        if self._type == "LLT" and (self._factors.U.diagonal() <= 0).any():
            self._factors = None  # it is not positive definite

    @hides_own_frames
    def solve(self, b: Any) -> Any:
        """Return x for A x = b, in the solver's type, or in f64 as b is: an ndarray for one, else a NumPy array."""
        if self.matrix is None:
            raise TaichiRuntimeError("Please call compute() before calling solve().")
        if self._factors is None:
            kind = "not positive definite" if self._type == "LLT" else "singular"
            raise TaichiRuntimeError(f"the matrix is {kind}, or nearly so: `solver.info()` tells before")
        vector = _vector(b)
        if vector is None:
            raise TaichiRuntimeError(f"The parameter type: {type(b)} is not supported in linear solvers for now.")
        x = refined(self._factored, self._factors.solve, vector.astype(np.float64)).astype(_wider(self.dtype, vector))
        return as_ndarray(x, b.dtype) if isinstance(b, ScalarNdarray) else x

    def info(self) -> bool:
        """Return whether the last factorization succeeded."""
        return self._factors is not None


class SparseCG:
    """Conjugate gradients for a symmetric positive definite matrix. atol: the residual to reach. x0: where to begin.

    A: the matrix, shape (n, n). b: the right-hand side, n elements. max_iter: largest number of iterations.
    Raises: TaichiRuntimeError for another number type than f32 and f64, and for what is no vector.

    Example:
        >>> builder = ti.linalg.SparseMatrixBuilder(2, 2, max_num_triplets=4)
        >>> @ti.kernel
        ... def fill(A: ti.types.sparse_matrix_builder()):
        ...     for i in range(2):
        ...         A[i, i] += 2.0
        >>> fill(builder)
        >>> A = builder.build()
        >>> x, converged = ti.linalg.SparseCG(A, np.array([2.0, 4.0], np.float32)).solve()
        >>> converged
        True
    """

    @hides_own_frames
    def __init__(self, A: SparseMatrix, b: Any, x0: Any = None, max_iter: int = 50, atol: float = 1e-6) -> None:  # noqa: N803 - Taichi's name
        _check_matrix(A)
        if A.dtype not in (f32, f64):
            raise TaichiRuntimeError(f"Unsupported CG dtype: {A.dtype}")
        self.dtype, self.matrix, self.b = A.dtype, A, b
        self.x0, self.max_iter, self.atol = x0, max_iter, atol
        if _vector(b) is None:
            raise TaichiRuntimeError(f"Unsupported CG RHS type: {type(b)}")

    def solve(self) -> tuple[Any, bool]:
        """Return the solution, and whether its residual is below `atol` times the length of b.

        The solution is a NumPy array, on CUDA an ndarray if b is one, as in Taichi; in the matrix's type, or in f64 as
        b is.
        """
        matrix = self.matrix.matrix
        found = on_cuda.conjugate_gradients(self.matrix.copies, matrix, self.b, self.x0, self.atol, self.max_iter)
        if found is not None:
            return found
        vector, start = _vector(self.b), _vector(self.x0)
        b = vector.astype(np.float64)
        begin = np.zeros(matrix.shape[1]) if start is None else start.astype(np.float64)
        wide = matrix.astype(np.float64, copy=False)
        x, is_reached = conjugate_gradients(wide, matrix, b, begin, self.atol, self.max_iter, _dot)
        return x.astype(_wider(self.dtype, vector)), is_reached


def _check_matrix(value: Any) -> None:
    if not isinstance(value, SparseMatrix):
        raise TaichiRuntimeError(f"The parameter type: {type(value)} is not supported in linear solvers for now.")


def _wider(dtype: Scalar, b: Any) -> Any:
    """Return f64 for a right-hand side of f64: a solution that is rounded to f32 leaves far more of it."""
    return np.float64 if b.dtype == np.float64 else dtype.numpy


def _dot(a: Any, b: Any) -> float:
    """Return the sum of products; `a @ b` starts threads of BLAS, whose waiting took 80 % of conjugate gradients."""
    return float(np.einsum("i,i->", a, b))


def _vector(b: Any) -> Any:
    return b.to_numpy() if isinstance(b, DenseArray) else b if isinstance(b, np.ndarray) else None
