"""`ti.lang.matrix`: vectors and matrices, their types, and arrays of them."""

from __future__ import annotations

from ....transpiler.lang.annotations import MatrixType, VectorType
from ....transpiler.lang.matrix import Matrix, Vector
from ...arrays.ndarray import MatrixNdarray
from ...fields.field import MatrixField

VectorNdarray = MatrixNdarray

__all__ = ["Matrix", "MatrixField", "MatrixNdarray", "MatrixType", "Vector", "VectorNdarray", "VectorType"]
