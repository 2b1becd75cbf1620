"""Annotations of kernel parameters (`ti.template()`, `ti.types.ndarray`) and vector and matrix types.

In: number types and sizes. Out: frozen objects the frontend reads; vector and matrix types also make values and arrays
in Python scope.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import TaichiSyntaxError
from ..ir.types import SCALAR_OF_NUMPY, SCALARS, Scalar, Struct, Tensor, Type, element_of, u1
from ..options import CompileOptions
from .hooks import make_field, make_ndarray, scalar_of, uint
from .matrix import Matrix, unwrap, wrap


@dataclass(frozen=True, slots=True)
class template:  # noqa: N801 - Taichi's public name
    """Annotation of a parameter that takes any Python object at compile time; it may stand without the call."""

    element_type: Any = None
    ndim: int | None = None


def is_template(annotation: object) -> bool:
    """Tell whether an annotation is `ti.template`, called or not."""
    return annotation is template or isinstance(annotation, template)


class _TensorTypeMethods(ABC):
    """What vector and matrix types share. declared: the element type as the author wrote it.

    Python's `int` and `float` follow the session's defaults at the time of use, as `ti.math.vec3` does in Taichi, hence
    `dtype` and `tensor` are computed.
    """

    __slots__ = ()
    declared: Any

    def __post_init__(self) -> None:
        scalar_of(self.declared)

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """(n,) or (n, m)."""

    @property
    def dtype(self) -> Scalar:
        """Type of the elements."""
        return scalar_of(self.declared)

    @property
    def ndim(self) -> int:
        """1 for a vector, 2 for a matrix."""
        return len(self.shape)

    def get_shape(self) -> tuple[int, ...]:
        """Return (n,) or (n, m)."""
        return self.shape

    @property
    def tensor(self) -> Tensor:
        """The IR type."""
        return Tensor(self.shape, self.dtype)

    def __call__(self, *values: Any) -> Any:
        """Make a value from one scalar for all elements, or from scalars, lists and vectors in row order."""
        return make_value(self.tensor, values)

    def field(self, *arguments: Any, **options: Any) -> Any:
        """Make a field of such elements; the arguments are those of `ti.field` after `dtype`."""
        return make_field(self.tensor, *arguments, **options)

    def ndarray(self, *arguments: Any, **options: Any) -> Any:
        """Make an ndarray of such elements; the arguments are those of `ti.ndarray` after `dtype`."""
        return make_ndarray(self.tensor, *arguments, **options)

    def to_string(self) -> str:
        """Return the type as Taichi prints it."""
        return str(self)


@dataclass(frozen=True, slots=True)
class VectorType(_TensorTypeMethods):
    """Type of vectors of n elements; calling it makes a vector in Python scope."""

    n: int
    declared: Any

    @property
    def m(self) -> int:
        """1: a vector is one column."""
        return 1

    @property
    def shape(self) -> tuple[int, ...]:
        """(n,)."""
        return (self.n,)

    def __str__(self) -> str:
        return f"vector({self.n}, {self.dtype})"

    __repr__ = __str__


@dataclass(frozen=True, slots=True)
class MatrixType(_TensorTypeMethods):
    """Type of (n, m) matrices; calling it makes a matrix in Python scope."""

    n: int
    m: int
    declared: Any

    @property
    def shape(self) -> tuple[int, ...]:
        """(n, m)."""
        return (self.n, self.m)

    def __str__(self) -> str:
        return f"matrix({self.n}, {self.m}, {self.dtype})"

    __repr__ = __str__


TensorType = VectorType | MatrixType


def make_value(tensor: Tensor, values: tuple[Any, ...]) -> Any:
    """Return a Vector or Matrix of type `tensor`; elements beyond its size are dropped, as Taichi does."""
    if not values:
        raise TaichiSyntaxError("Custom type instances need to be created with an initial value.")
    elements = list(flat_elements(values))
    if len(elements) == 1:
        elements *= tensor.size
    if len(elements) < tensor.size:
        raise IndexError(f"A value of type {tensor} takes {tensor.size} elements, found {len(elements)}.")
    return wrap(np.array(elements[: tensor.size]).astype(tensor.element.numpy).reshape(tensor.shape))


def flat_elements(values: Any) -> Iterator[Any]:
    """Yield the scalars of nested lists, tuples, arrays and matrices in order."""
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from flat_elements(value)
        elif isinstance(value, (Matrix, np.ndarray)):
            yield from np.asarray(unwrap(value)).ravel()
        else:
            yield value


def vector(n: int, dtype: Any) -> VectorType:
    """Return the type of vectors of `n` elements of `dtype`."""
    return VectorType(n, dtype)


def matrix(n: int, m: int, dtype: Any) -> MatrixType:
    """Return the type of (n, m) matrices with elements of `dtype`."""
    return MatrixType(n, m, dtype)


class DescribesType(ABC):
    """Base of types of the language that stand for a struct in kernels."""

    __slots__ = ()

    @property
    @abstractmethod
    def dtype(self) -> Struct:
        """The IR type."""

    @abstractmethod
    def describe_type(self, options: CompileOptions) -> Struct:
        """Return the IR type under the default number types of `options`."""


def type_of(dtype: Any) -> Type:
    """Return the IR type that an annotation or `dtype` argument names: a Scalar, a Tensor or a Struct.

    Raises: ValueError where it names none.
    """
    if isinstance(dtype, (Tensor, Struct)):
        return dtype
    if isinstance(dtype, DescribesType):
        return dtype.dtype
    return dtype.tensor if isinstance(dtype, (VectorType, MatrixType)) else scalar_of(dtype)


@dataclass(frozen=True, slots=True)
class NdarrayAnnotation:
    """Annotation of an array parameter; `ti.types.ndarray` itself is one that leaves all open, calling it makes others.

    dtype: element type as written, None: any. ndim: number of axes, None: any. boundary: "unsafe" or "clamp".
    """

    dtype: Any = None
    ndim: int | None = None
    needs_grad: bool | None = None
    boundary: str = "unsafe"

    def __call__(
        self,
        dtype: Any = None,
        ndim: int | None = None,
        element_dim: int | None = None,
        element_shape: tuple[int, ...] | None = None,
        field_dim: int | None = None,
        needs_grad: bool | None = None,
        boundary: str = "unsafe",
    ) -> NdarrayAnnotation:
        """Return the annotation `ti.types.ndarray(...)`. Raises: ValueError for forms that Taichi refuses."""
        if field_dim is not None:
            raise ValueError("The field_dim argument for ndarray type is already deprecated. Please use ndim instead.")
        if boundary not in ("unsafe", "clamp"):
            raise ValueError(f"Invalid boundary argument: {boundary}")
        return NdarrayAnnotation(_element_of_legacy_form(dtype, element_shape), ndim, needs_grad, boundary)

    def __getitem__(self, parameters: Any) -> NdarrayAnnotation:
        """Return the annotation `NDArray[dtype]` or `NDArray[dtype, ndim]`."""
        return self(*parameters) if isinstance(parameters, tuple) else self(parameters)

    @property
    def element(self) -> Type | None:
        """IR type of the elements, or None where the annotation leaves it open."""
        return None if self.dtype is None else type_of(self.dtype)


ndarray = NDArray = NdarrayAnnotation()


@dataclass(frozen=True, slots=True)
class RefType:
    """Annotation of a parameter of a real function that is the caller's variable. tp: type of the variable."""

    tp: Any


def ref(tp: Any) -> RefType:
    """Return the annotation `ti.ref(tp)`: the parameter is a variable of the caller, which the function may change."""
    return RefType(tp)


def _element_of_legacy_form(dtype: Any, element_shape: tuple[int, ...] | None) -> Any:
    """Return the element type where `element_shape=(3,)` stands beside a scalar `dtype`, the form before Taichi 1.5."""
    if not element_shape or dtype is None:
        return dtype
    if len(element_shape) > 2:
        raise ValueError("Only scalars, vectors and matrices can be elements of an ndarray.")
    return (
        VectorType(element_shape[0], dtype)
        if len(element_shape) == 1
        else MatrixType(element_shape[0], element_shape[1], dtype)
    )


def as_type(value: Any, options: CompileOptions) -> Type | None:
    """Return the IR type that an object used as annotation or callable names, or None."""
    if isinstance(value, Scalar | Tensor | Struct):
        return value
    if isinstance(value, DescribesType):
        return value.describe_type(options)
    if isinstance(value, (VectorType, MatrixType)):
        element = as_type(value.declared, options)
        return Tensor(value.shape, element_of(element) if element is not None else value.dtype)
    if value is int:
        return SCALARS[options.default_ip]
    if value is float:
        return SCALARS[options.default_fp]
    if value is uint:
        return SCALARS[options.default_up]
    if value is bool:
        return u1
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        return SCALAR_OF_NUMPY.get(np.dtype(value))
    return None
