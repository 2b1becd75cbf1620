"""Vectors and matrices in Python scope: `ti.Vector([1, 2])`, `ti.Matrix([[1, 2], [3, 4]])`, backed by NumPy arrays.

Input: lists, NumPy arrays. Output: objects with Taichi's arithmetic, methods and swizzles. In kernels the frontend
finds the handlers of `Matrix` and `Vector` by identity, and an object of these classes is a constant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import TaichiCompilationError, TaichiSyntaxError, TaichiTypeError
from ..ir.types import QuantTensor, QuantType, Tensor
from .hooks import check_sizes, make_field, make_ndarray, scalar_of

SWIZZLE_SETS = ("xyzw", "rgba", "stpq")


class _Swizzle:
    """The attribute `name` of a vector, made of `letters`: one component, or several as a vector."""

    __slots__ = ("letters", "name")

    def __init__(self, name: str, letters: str) -> None:
        self.name = name
        self.letters = letters

    def _indices(self, vector: Matrix) -> list[int]:
        indices = [self.letters.index(letter) for letter in self.name]
        if max(indices) >= vector.n:
            legal, given = tuple(self.letters[: vector.n]), tuple(self.name)
            raise TaichiSyntaxError(f"vec{vector.n} only has attributes={legal}, got={given}")
        return indices

    def __get__(self, vector: Matrix | None, owner: type) -> Any:
        if vector is None:
            return self
        indices = self._indices(vector)
        return vector.entries[indices[0]] if len(indices) == 1 else wrap(vector.entries[indices])

    def __set__(self, vector: Matrix, value: Any) -> None:
        indices = self._indices(vector)
        if len(indices) == 1:
            vector.entries[indices[0]] = value
            return
        if len(value) != len(indices):
            raise TaichiCompilationError("value len does not match the swizzle pattern")
        for index, element in zip(indices, value, strict=True):
            vector.entries[index] = element


def _swizzles() -> dict[str, Any]:
    names = (
        (letters, "".join(name))
        for letters in SWIZZLE_SETS
        for n in (1, 2, 3, 4)
        for name in product(letters, repeat=n)
    )
    return {name: _Swizzle(name, letters) for letters, name in names}


if TYPE_CHECKING:

    class _Swizzles:
        def __getattr__(self, name: str) -> Any: ...

else:
    _Swizzles = type("_Swizzles", (), {"__doc__": "`v.x`, `v.zyx`, `v.rg = ...`", **_swizzles()})


def unwrap(value: Any) -> Any:
    """Return the NumPy array of a Matrix, and any other value unchanged."""
    return value.entries if isinstance(value, Matrix) else value


def array_of(value: Any, dtype: Any) -> np.ndarray[Any, Any]:
    """Return numbers, of a Matrix or nested in any way, as an array of a NumPy type; out of range, they wrap.

    Each goes from its own type: NumPy joins 2**63 and 1, or 2**53 + 1 and 0.5, as f64, which rounds.
    """
    array = np.asarray(unwrap(value))
    if array.dtype.kind in "fO" and np.dtype(dtype).kind in "iu" and not isinstance(value, np.ndarray | Matrix):
        each = [np.asarray(number).astype(dtype) for number in np.asarray(value, object).ravel()]
        return np.array(each, dtype).reshape(array.shape)
    return array.astype(dtype)


def wrap(value: Any) -> Any:
    """Return a Vector or Matrix that shares a NumPy array, and a scalar unchanged."""
    if not isinstance(value, np.ndarray) or value.ndim == 0:
        return value
    result: Matrix = object.__new__(Vector if value.ndim == 1 else Matrix)
    result.entries = value
    return result


def elementwise(meaning: Callable[..., Any], *operands: Any) -> Any:
    """Apply a NumPy function to numbers and matrices; matrices come back as matrices, NumPy's arrays as arrays."""
    result = meaning(*[unwrap(operand) for operand in operands])
    return wrap(result) if any(isinstance(operand, Matrix) for operand in operands) else result


class Matrix(_Swizzles):
    """An (n, m) matrix, or a vector of n elements, in Python scope. entries: the NumPy array with its elements.

    arr: nested lists or an array, shape (n, m) or (n,). dt: number type of the elements; None: that of `arr`.
    Raises: TaichiTypeError for what is no array of one or two axes.

    Example:
        >>> a = ti.Matrix([[1, 2], [3, 4]])
        >>> a @ ti.Vector([1, 1])
        [3 7]
    """

    entries: np.ndarray[Any, Any]
    __array_priority__ = 1000  # `numpy_array + matrix` calls `__radd__`; NumPy does not iterate over our elements

    def __init__(self, arr: Any, dt: Any = None) -> None:
        if not isinstance(arr, (list, tuple, np.ndarray, Matrix)):
            raise TaichiTypeError("An Matrix/Vector can only be initialized with an array-like object")
        rows = [unwrap(row) for row in arr] if isinstance(arr, (list, tuple)) else unwrap(arr)
        self.entries = np.array(rows, dtype=None if dt is None else scalar_of(dt).numpy)
        if self.entries.ndim > 2:
            raise TaichiTypeError("A Matrix has one or two dimensions")

    @property
    def n(self) -> int:
        """Number of rows, or of a vector's elements."""
        return int(self.entries.shape[0])

    @property
    def m(self) -> int:
        """Number of columns; 1 for a vector."""
        return int(self.entries.shape[1]) if self.entries.ndim == 2 else 1

    @property
    def ndim(self) -> int:
        """1 for a vector, 2 for a matrix."""
        return self.entries.ndim

    @property
    def shape(self) -> tuple[int, ...]:
        """(n,) or (n, m)."""
        return tuple(self.entries.shape)

    def get_shape(self) -> tuple[int, ...]:
        """Return (n,) or (n, m)."""
        return self.shape

    def __len__(self) -> int:
        return self.n

    def __iter__(self) -> Iterator[Any]:
        return iter(self.entries if self.ndim == 1 else [list(row) for row in self.entries])

    def _check_indices(self, indices: Any) -> Any:
        count = len(indices) if isinstance(indices, tuple) else 1
        if count != self.ndim:
            raise AssertionError(f"Expected {self.ndim} indices, got {count}")
        return indices

    def __getitem__(self, indices: Any) -> Any:
        return self.entries[self._check_indices(indices)]

    def __setitem__(self, indices: Any, value: Any) -> None:
        self.entries[self._check_indices(indices)] = unwrap(value)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(self.entries, dtype=dtype)

    def __repr__(self) -> str:
        return str(self.entries)

    __str__ = __repr__
    __hash__ = object.__hash__

    def __add__(self, other: Any) -> Any:
        return wrap(self.entries + unwrap(other))

    def __radd__(self, other: Any) -> Any:
        return wrap(unwrap(other) + self.entries)

    def __sub__(self, other: Any) -> Any:
        return wrap(self.entries - unwrap(other))

    def __rsub__(self, other: Any) -> Any:
        return wrap(unwrap(other) - self.entries)

    def __mul__(self, other: Any) -> Any:
        return wrap(self.entries * unwrap(other))

    def __rmul__(self, other: Any) -> Any:
        return wrap(unwrap(other) * self.entries)

    def __truediv__(self, other: Any) -> Any:
        return wrap(self.entries / unwrap(other))

    def __rtruediv__(self, other: Any) -> Any:
        return wrap(unwrap(other) / self.entries)

    def __floordiv__(self, other: Any) -> Any:
        return wrap(self.entries // unwrap(other))

    def __rfloordiv__(self, other: Any) -> Any:
        return wrap(unwrap(other) // self.entries)

    def __mod__(self, other: Any) -> Any:
        return wrap(self.entries % unwrap(other))

    def __rmod__(self, other: Any) -> Any:
        return wrap(unwrap(other) % self.entries)

    def __pow__(self, other: Any) -> Any:
        return wrap(self.entries ** unwrap(other))

    def __rpow__(self, other: Any) -> Any:
        return wrap(unwrap(other) ** self.entries)

    def __and__(self, other: Any) -> Any:
        return wrap(self.entries & unwrap(other))

    def __rand__(self, other: Any) -> Any:
        return wrap(unwrap(other) & self.entries)

    def __or__(self, other: Any) -> Any:
        return wrap(self.entries | unwrap(other))

    def __ror__(self, other: Any) -> Any:
        return wrap(unwrap(other) | self.entries)

    def __xor__(self, other: Any) -> Any:
        return wrap(self.entries ^ unwrap(other))

    def __rxor__(self, other: Any) -> Any:
        return wrap(unwrap(other) ^ self.entries)

    def __lshift__(self, other: Any) -> Any:
        return wrap(self.entries << unwrap(other))

    def __rshift__(self, other: Any) -> Any:
        return wrap(self.entries >> unwrap(other))

    def __rlshift__(self, other: Any) -> Any:
        return wrap(unwrap(other) << self.entries)

    def __rrshift__(self, other: Any) -> Any:
        return wrap(unwrap(other) >> self.entries)

    def __neg__(self) -> Any:
        return wrap(-self.entries)

    def __pos__(self) -> Any:
        return wrap(+self.entries)

    def __invert__(self) -> Any:
        return wrap(~self.entries)

    def __abs__(self) -> Any:
        return wrap(np.abs(self.entries))

    def __eq__(self, other: object) -> Any:
        return wrap(self.entries == unwrap(other))

    def __ne__(self, other: object) -> Any:
        return wrap(self.entries != unwrap(other))

    def __lt__(self, other: Any) -> Any:
        return wrap(self.entries < unwrap(other))

    def __le__(self, other: Any) -> Any:
        return wrap(self.entries <= unwrap(other))

    def __gt__(self, other: Any) -> Any:
        return wrap(self.entries > unwrap(other))

    def __ge__(self, other: Any) -> Any:
        return wrap(self.entries >= unwrap(other))

    def __matmul__(self, other: Any) -> Any:
        return wrap(self.entries @ unwrap(other))

    def __rmatmul__(self, other: Any) -> Any:
        return wrap(unwrap(other) @ self.entries)

    def norm_sqr(self) -> Any:
        """Return the sum of squares of all elements."""
        return (self.entries * self.entries).sum()

    def norm(self, eps: float = 0) -> Any:
        """Return the square root of `norm_sqr() + eps`."""
        return np.sqrt(self.norm_sqr() + eps)

    def norm_inv(self, eps: float = 0) -> Any:
        """Return one over `norm(eps)`."""
        return 1 / self.norm(eps)

    def normalized(self, eps: float = 0) -> Any:
        """Return the vector divided by its norm, `eps` added to the norm."""
        return wrap(self.entries / (self.norm() + eps))

    def dot(self, other: Any) -> Any:
        """Return the scalar product with another vector."""
        return (self.entries * unwrap(other)).sum()

    def cross(self, other: Any) -> Any:
        """Return the cross product: a vector in 3-D, a scalar in 2-D."""
        a, b = self.entries, np.asarray(unwrap(other))
        if a.shape == (2,):
            return a[0] * b[1] - a[1] * b[0]
        if a.shape != (3,):
            raise TaichiCompilationError(f"only dimension < 4 is supported, got shape {a.shape}")
        return wrap(a[[1, 2, 0]] * b[[2, 0, 1]] - a[[2, 0, 1]] * b[[1, 2, 0]])

    def outer_product(self, other: Any) -> Any:
        """Return the (n, m) matrix of all products of elements of two vectors."""
        return wrap(np.multiply.outer(self.entries, np.asarray(unwrap(other))))

    def transpose(self) -> Any:
        """Return the (m, n) matrix. Raises: TaichiCompilationError for a vector."""
        if self.ndim == 1:
            raise TaichiCompilationError(
                "`transpose()` cannot apply to a vector. If you want something like `a @ b.transpose()`, "
                "write `a.outer_product(b)` instead."
            )
        return wrap(self.entries.T.copy())

    def _check_square(self) -> None:
        if self.ndim != 2 or self.n != self.m:
            raise TaichiCompilationError(f"expected a square matrix, got shape {self.shape}")

    def trace(self) -> Any:
        """Return the sum of the diagonal of a square matrix."""
        self._check_square()
        return self.entries.trace()

    def determinant(self) -> Any:
        """Return the determinant of a square matrix."""
        self._check_square()
        return np.linalg.det(self.entries)

    def inverse(self) -> Any:
        """Return the inverse of a square matrix."""
        self._check_square()
        return wrap(np.linalg.inv(self.entries))

    def sum(self) -> Any:
        """Return the sum of all elements."""
        return self.entries.sum()

    def max(self) -> Any:
        """Return the greatest element."""
        return self.entries.max()

    def min(self) -> Any:
        """Return the least element."""
        return self.entries.min()

    def any(self) -> bool:
        """Return whether some element is not zero."""
        return bool(self.entries.any())

    def all(self) -> bool:
        """Return whether every element is not zero."""
        return bool(self.entries.all())

    def cast(self, dtype: Any) -> Any:
        """Return the elements as numbers of another type."""
        return wrap(self.entries.astype(scalar_of(dtype).numpy))

    def fill(self, value: Any) -> None:
        """Set every element to `value`."""
        self.entries.fill(value)

    def to_list(self) -> list[Any]:
        """Return the elements as a list, or a list of rows."""
        result: list[Any] = self.entries.tolist()
        return result

    def to_numpy(self) -> np.ndarray[Any, Any]:
        """Return a copy as a NumPy array of shape (n,) or (n, m)."""
        return np.array(self.entries)

    @staticmethod
    def zero(dt: Any, n: int, m: int | None = None) -> Any:
        """Return a vector of n zeros, or an (n, m) matrix of zeros."""
        return wrap(np.zeros(n if m is None else (n, m), scalar_of(dt).numpy))

    @staticmethod
    def one(dt: Any, n: int, m: int | None = None) -> Any:
        """Return a vector of n ones, or an (n, m) matrix of ones."""
        return wrap(np.ones(n if m is None else (n, m), scalar_of(dt).numpy))

    @staticmethod
    def unit(n: int, i: int, dt: Any = int) -> Any:
        """Return the vector of n zeros with a one at index i."""
        if not 0 <= i < n:
            raise IndexError(f"A unit vector of {n} elements has no index {i}")
        return wrap(np.eye(n, dtype=scalar_of(dt).numpy)[i].copy())

    @staticmethod
    def identity(dt: Any, n: int) -> Any:
        """Return the (n, n) identity."""
        return wrap(np.eye(n, dtype=scalar_of(dt).numpy))

    @staticmethod
    def diag(dim: int, val: Any) -> Any:
        """Return the (dim, dim) matrix with `val` on the diagonal and zeros elsewhere."""
        return wrap(np.eye(dim, dtype=np.asarray(val).dtype) * val)

    @staticmethod
    def rows(rows: Sequence[Any]) -> Any:
        """Return the matrix with these vectors as rows."""
        return wrap(np.stack([np.asarray(unwrap(row)) for row in rows]))

    @staticmethod
    def cols(cols: Sequence[Any]) -> Any:
        """Return the matrix with these vectors as columns."""
        return wrap(np.stack([np.asarray(unwrap(column)) for column in cols], axis=1))

    @classmethod
    def field(cls, n: int, m: int, dtype: Any, shape: Any = None, **options: Any) -> Any:
        """Make a field of (n, m) matrices of `dtype`; `shape` and options as `ti.field` takes them."""
        return make_field(_field_type((n, m), dtype), shape, **options)

    @classmethod
    def ndarray(cls, n: int, m: int, dtype: Any, shape: Any) -> Any:
        """Make an ndarray of (n, m) matrices of `dtype`."""
        return make_ndarray(tensor_type((n, m), dtype), shape)


class Vector(Matrix):
    """A vector in Python scope; the class provides `ti.Vector(...)` and `ti.Vector.field(...)`.

    arr: a list or an array, shape (n,). dt: number type of the elements; None: that of `arr`.

    Example:
        >>> v = ti.Vector([1.0, 2.0, 2.0])
        >>> v.norm(), v.x
        (3.0, 1.0)
    """

    @classmethod
    def field(cls, n: int, dtype: Any, shape: Any = None, **options: Any) -> Any:  # type: ignore[override]
        """Make a field of vectors of n elements of `dtype`."""
        return make_field(_field_type((n,), dtype), shape, **options)

    @classmethod
    def ndarray(cls, n: int, dtype: Any, shape: Any) -> Any:  # type: ignore[override]
        """Make an ndarray of vectors of n elements of `dtype`."""
        return make_ndarray(tensor_type((n,), dtype), shape)


def _field_type(shape: tuple[int, ...], dtype: Any) -> Tensor | QuantTensor:
    check_sizes(*shape)
    return QuantTensor(shape, dtype) if isinstance(dtype, QuantType) else tensor_type(shape, dtype)


def tensor_type(shape: tuple[int, ...], dtype: Any) -> Tensor:
    """Return the IR type of vectors or matrices of `shape` with elements of `dtype`."""
    check_sizes(*shape)
    return Tensor(shape, scalar_of(dtype))
