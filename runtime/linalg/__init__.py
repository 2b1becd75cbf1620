"""`ti.linalg`: sparse matrices, direct solvers and conjugate gradients; SciPy computes on the host."""

from .matrix_free import LinearOperator, MatrixFreeBICGSTAB, MatrixFreeCG
from .sparse_matrix import SparseMatrix, SparseMatrixBuilder
from .sparse_solver import SparseCG, SparseSolver

__all__ = [
    "LinearOperator", "MatrixFreeBICGSTAB", "MatrixFreeCG", "SparseCG", "SparseMatrix", "SparseMatrixBuilder",
    "SparseSolver",
]  # fmt: skip
