from typing import Any, TypeAlias, TypeVar

from shadesmith.runtime.linalg.matrix_free import LinearOperator as LinearOperator
def MatrixFreeBICGSTAB(A: Any, b: Any, x: Any, tol: Any = ..., maxiter: Any = ..., quiet: Any = ...) -> Any:
    """Solve A x = b by BiCGSTAB, from the values of field `x`; return whether the residual is below `tol`."""
def MatrixFreeCG(A: Any, b: Any, x: Any, tol: Any = ..., maxiter: Any = ..., quiet: Any = ...) -> Any:
    """Solve A x = b by conjugate gradients, from the values of field `x`; return whether the residual is below `tol`."""
from shadesmith.runtime.linalg.sparse_solver import SparseCG as SparseCG
from shadesmith.runtime.linalg.sparse_matrix import SparseMatrix as SparseMatrix
from shadesmith.runtime.linalg.sparse_matrix import SparseMatrixBuilder as SparseMatrixBuilder
from shadesmith.runtime.linalg.sparse_solver import SparseSolver as SparseSolver
