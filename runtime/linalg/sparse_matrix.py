"""`SparseMatrix` and its builder. A matrix is SciPy's, in compressed rows; `on_cuda.py` copies it to a GPU.

In: triplets of kernels, arrays, matrices of SciPy. Out: a matrix.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...transpiler.errors import TaichiRuntimeError
from ...transpiler.ir.types import Scalar, f32, i32
from ...transpiler.lang.hooks import scalar_of
from ...transpiler.lang.packs import ArgPack
from ...transpiler.lang.triplets import MEMBERS, sparse_matrix_builder
from ..arrays.dense_array import DenseArray
from ..arrays.ndarray import MatrixNdarray, ScalarNdarray, ndarray
from ..session.tracebacks import hides_own_frames
from . import on_cuda


def scipy_module(name: str) -> Any:
    """Return a module of SciPy. Raises: ImportError with what to install."""
    try:
        import scipy.io
        import scipy.sparse.linalg  # and scipy.sparse
    except ImportError as error:
        raise ImportError("ti.linalg computes with SciPy on the host: `pip install scipy`") from error
    return {"io": scipy.io, "sparse": scipy.sparse, "linalg": scipy.sparse.linalg}[name]


class SparseMatrix:
    """A sparse matrix of n rows and m columns. sm: a matrix of SciPy, or any two-dimensional array, to begin with.

    dtype: number type of the elements. storage_format: "col_major" or "row_major".

    Example:
        >>> A = ti.linalg.SparseMatrix(sm=np.eye(2, dtype=np.float32))
        >>> A[0, 0], A.shape
        (1.0, (2, 2))
    """

    def __init__(self, n: int | None = None, m: int | None = None, sm: Any = None, dtype: Any = f32,
                 storage_format: str = "col_major") -> None:  # fmt: skip
        sparse = scipy_module("sparse")
        self.dtype: Scalar = scalar_of(dtype)
        content = sm if sm is not None else ((n or 0), (m if m else n or 0))
        self.matrix = sparse.csr_array(content, dtype=self.dtype.numpy)
        self.n, self.m = self.matrix.shape
        self.copies = on_cuda.DeviceCopies()

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.n, self.m

    def __add__(self, other: SparseMatrix) -> SparseMatrix:
        self._check(other, self.shape == other.shape)
        return SparseMatrix(sm=self.matrix + other.matrix, dtype=self.dtype)

    def __sub__(self, other: SparseMatrix) -> SparseMatrix:
        self._check(other, self.shape == other.shape)
        return SparseMatrix(sm=self.matrix - other.matrix, dtype=self.dtype)

    def __iadd__(self, other: SparseMatrix) -> SparseMatrix:
        self.matrix = (self + other).matrix
        return self

    def __isub__(self, other: SparseMatrix) -> SparseMatrix:
        self.matrix = (self - other).matrix
        return self

    def __mul__(self, other: Any) -> SparseMatrix:
        """Multiply by a number, or element by element by a matrix."""
        if isinstance(other, SparseMatrix):
            self._check(other, self.shape == other.shape)
            return SparseMatrix(sm=self.matrix.multiply(other.matrix), dtype=self.dtype)
        if isinstance(other, int | float | np.number):
            return SparseMatrix(sm=self.matrix * other, dtype=self.dtype)
        return NotImplemented

    __rmul__ = __mul__

    def transpose(self) -> SparseMatrix:
        """Return the transposed matrix."""
        return SparseMatrix(sm=self.matrix.T, dtype=self.dtype)

    @hides_own_frames
    def __matmul__(self, other: Any) -> Any:
        """Multiply by a matrix, or by a vector: a field and a NumPy array give a NumPy array, an ndarray an ndarray."""
        if isinstance(other, SparseMatrix):
            self._check(other, self.m == other.n)
            return SparseMatrix(sm=self.matrix @ other.matrix, dtype=self.dtype)
        if isinstance(other, DenseArray | np.ndarray):
            if self.m != other.shape[0]:
                shapes = f"({self.n}, {self.m}) and vector ({other.shape})"
                raise TaichiRuntimeError(f"Dimension mismatch between sparse matrix {shapes}")
            on_device = on_cuda.product(self.copies, self.matrix, other)
            if on_device is not None:
                return on_device
            product = self.matrix @ (other if isinstance(other, np.ndarray) else other.to_numpy())
            return as_ndarray(product, other.dtype) if isinstance(other, ScalarNdarray) else product
        raise TaichiRuntimeError(
            f"Sparse matrix-matrix/vector multiplication does not support {type(other)} for now. "
            "Supported types are SparseMatrix, ti.field, and numpy ndarray."
        )

    def _check(self, other: SparseMatrix, fits: bool) -> None:
        shapes = f"({self.n}, {self.m}) and ({other.n}, {other.m})"
        assert fits, f"Dimension mismatch between sparse matrices {shapes}"

    def __getitem__(self, indices: tuple[int, int]) -> Any:
        return self.matrix[indices[0], indices[1]].item()

    def __setitem__(self, indices: tuple[int, int], value: float) -> None:
        changed = self.matrix.tolil()
        changed[indices[0], indices[1]] = value
        self.matrix = changed.tocsr()

    def __str__(self) -> str:
        rows = [[f"{value:.4g}" for value in row] for row in self.matrix.toarray()]
        width = max((len(word) for row in rows for word in row), default=0)
        return "\n".join("[" + ", ".join(word.rjust(width) for word in row) + "]" for row in rows)

    __repr__ = __str__

    def to_scipy(self) -> Any:
        """Return a copy as SciPy's matrix in compressed rows."""
        return self.matrix.copy()

    @hides_own_frames
    def build_from_ndarray(self, ndarray: Any) -> None:
        """Replace the contents by triplets: an ndarray of numbers or vectors that holds row, column, value, row, ..."""
        if not isinstance(ndarray, ScalarNdarray | MatrixNdarray):
            kinds = "[ti.ndarray, ti.Vector.ndarray, ti.Matrix.ndarray]"
            raise TaichiRuntimeError(f"Sparse matrix only supports building from {kinds}")
        values = ndarray.to_numpy().ravel()
        if values.size % 3:
            raise TaichiRuntimeError("The number of ndarray elements must have a length that is divisible by 3.")
        rows, columns, entries = values.reshape(-1, 3).T
        self._set(rows.astype(np.int64), columns.astype(np.int64), entries)

    def _set(self, rows: Any, columns: Any, entries: Any) -> None:
        sparse = scipy_module("sparse")
        for indices, extent, name in ((rows, self.n, "row"), (columns, self.m, "column")):
            if indices.size and not (indices.min() >= 0 and indices.max() < extent):
                wrong = indices[(indices < 0) | (indices >= extent)][0]
                raise TaichiRuntimeError(f"{name} {wrong} of a triplet is outside the matrix of shape {self.shape}")
        made = sparse.coo_array((entries, (rows, columns)), shape=self.shape, dtype=self.dtype.numpy)
        self.matrix = made.tocsr()

    def mmwrite(self, filename: str) -> None:
        """Write a Matrix Market file."""
        scipy_module("io").mmwrite(filename, self.matrix)


class SparseMatrixBuilder(ArgPack):
    """A list of triplets; kernels append to it by `A[i, j] += v`, and `build` adds those of one place.

    num_rows, num_cols: shape of the matrix. max_num_triplets: capacity. dtype: number type of the elements.
    storage_format: "col_major" or "row_major".

    Example:
        >>> builder = ti.linalg.SparseMatrixBuilder(2, 2, max_num_triplets=4)
        >>> @ti.kernel
        ... def fill(A: ti.types.sparse_matrix_builder()):
        ...     for i in range(2):
        ...         A[i, i] += 2.0
        >>> fill(builder)
        >>> A = builder.build()
        >>> A.shape
        (2, 2)
    """

    @hides_own_frames
    def __init__(self, num_rows: int | None = None, num_cols: int | None = None, max_num_triplets: int = 0,
                 dtype: Any = f32, storage_format: str = "col_major") -> None:  # fmt: skip
        capacity, element = max(max_num_triplets, 1), scalar_of(dtype)
        arrays = (ndarray(i32, capacity), ndarray(i32, capacity), ndarray(element, capacity), ndarray(i32, 1))
        super().__init__(sparse_matrix_builder(), dict(zip(MEMBERS, arrays, strict=True)))
        facts = {"num_rows": num_rows, "num_cols": num_cols if num_cols else num_rows, "dtype": element}
        self.__dict__.update(facts, capacity=max_num_triplets)

    def _triplets(self) -> tuple[Any, Any, Any]:
        held = self.__dict__
        count = held["number"][0]
        if count > held["capacity"]:
            message = f"{count} triplets were appended to a SparseMatrixBuilder for {held['capacity']}"
            raise TaichiRuntimeError(message, f"make it with `max_num_triplets={count}` or more")
        rows, columns, entries = (held[name].to_numpy()[:count] for name in MEMBERS[:3])
        return rows, columns, entries

    @hides_own_frames
    def print_triplets(self) -> None:
        """Print all triplets."""
        rows, columns, entries = self._triplets()
        held = self.__dict__
        shape = f"n={held['num_rows']}, m={held['num_cols']}"
        print(f"{shape}, num_triplets={len(rows)} (max={held['capacity']})")
        for row, column, entry in zip(rows, columns, entries, strict=True):
            print(f"[{row}, {column}] = {entry:g}")

    @hides_own_frames
    def build(self, dtype: Any = f32, _format: str = "CSR") -> SparseMatrix:
        """Return the matrix of all triplets, and begin anew. Its type is the builder's, as in Taichi."""
        held = self.__dict__
        matrix = SparseMatrix(held["num_rows"], held["num_cols"], dtype=held["dtype"])
        matrix._set(*self._triplets())
        held["number"].fill(0)
        return matrix


def as_ndarray(values: Any, dtype: Scalar) -> Any:
    """Return a NumPy vector as an ndarray of the session."""
    made = ndarray(dtype, values.shape)
    made.from_numpy(np.ascontiguousarray(values, dtype.numpy))
    return made
