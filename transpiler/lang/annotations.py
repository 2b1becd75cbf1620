"""Annotations of kernel parameters (`ti.template()`, `ti.types.ndarray`) and vector and matrix types.

Input: number types and sizes. Output: frozen objects that the frontend reads; vector and matrix types also create
values and arrays in Python scope.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

import numpy as np

from ..errors import TaichiSyntaxError
from ..ir.types import SCALAR_OF_NUMPY, SCALARS, Scalar, Struct, Tensor, Type, element_of, u1
from ..lazy_dataclasses import dataclass
from ..options import CompileOptions
from .hooks import check_sizes, make_field, make_ndarray, scalar_of, uint
from .matrix import Matrix, array_of, unwrap, wrap


@dataclass(frozen=True, slots=True)
class template:  # noqa: N801 - Taichi's public name
    """Annotation of a parameter that takes any Python object at compile time; it may be written without the call.

    tensor, dim: accepted as Taichi's parameters, without effect.

    Example:
        >>> x = ti.field(ti.f32, 3)
        >>> @ti.kernel
        ... def fill(x: ti.template(), value: ti.f32):
        ...     for i in x:
        ...         x[i] = value
        >>> fill(x, 2.0)
        >>> x.to_numpy().tolist()
        [2.0, 2.0, 2.0]
    """

    tensor: Any = None
    dim: int | None = None


def is_template(annotation: object) -> bool:
    """Return whether an annotation is `ti.template`, called or not."""
    return annotation is template or isinstance(annotation, template)


class _TensorTypeMethods(ABC):
    """The base of vector and matrix types. declared: the element type as given.

    Python's `int` and `float` follow the session's defaults at the time of use, as `ti.math.vec3` does in Taichi, hence
    `dtype` and `tensor` are computed.
    """

    __slots__ = ()
    declared: Any

    def __post_init__(self) -> None:
        check_sizes(*self.shape)
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
    return wrap(array_of(elements[: tensor.size], tensor.element.numpy).reshape(tensor.shape))


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
    """Return the type of vectors of `n` elements of `dtype`.

    Example:
        >>> vec5 = ti.types.vector(5, ti.i32)
        >>> vec5(1)
        [1 1 1 1 1]
    """
    return VectorType(n, dtype)


def matrix(n: int, m: int, dtype: Any) -> MatrixType:
    """Return the type of (n, m) matrices with elements of `dtype`.

    Example:
        >>> ti.types.matrix(2, 2, ti.f32)(1)
        [[1. 1.]
         [1. 1.]]
    """
    return MatrixType(n, m, dtype)


class DescribesType(ABC):
    """Base of the types of the language that are structs in kernels."""

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

    Raises: ValueError if it is no type.
    """
    if isinstance(dtype, (Tensor, Struct)):
        return dtype
    if isinstance(dtype, DescribesType):
        return dtype.dtype
    return dtype.tensor if isinstance(dtype, (VectorType, MatrixType)) else scalar_of(dtype)


@dataclass(frozen=True, slots=True)
class NdarrayAnnotation:
    """Annotation of an array parameter; `ti.types.ndarray` is an instance without restrictions, which returns others
    if called.

    Attributes:
        dtype: element type as given, None: any.
        ndim: number of axes, None: any.
        needs_grad: whether arguments must have a gradient.
        boundary: "unsafe" or "clamp".
        element_dim, element_shape: of vectors and matrices, if `dtype` is a number type or None (the form before
            Taichi 1.5).
    """

    dtype: Any = None
    ndim: int | None = None
    needs_grad: bool | None = None
    boundary: str = "unsafe"
    element_dim: int | None = None
    element_shape: tuple[int, ...] | None = None

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
        """Return the annotation `ti.types.ndarray(...)`. Raises: ValueError, TypeError for what Taichi refuses."""
        if field_dim is not None:
            raise ValueError("The field_dim argument for ndarray type is already deprecated. Please use ndim instead.")
        if boundary not in ("unsafe", "clamp"):
            raise ValueError(f"Invalid boundary argument: {boundary}")
        shape = None if element_shape is None else tuple(element_shape)
        _check_legacy_form(dtype, element_dim, shape)
        if dtype is not None and shape:
            dtype, element_dim, shape = make_tensor_type(shape, dtype), None, None
        return NdarrayAnnotation(dtype, ndim, needs_grad, boundary, element_dim or None, shape or None)

    def __getitem__(self, parameters: Any) -> NdarrayAnnotation:
        """Return the annotation `NDArray[dtype]` or `NDArray[dtype, ndim]`; checkers of types want `Literal[ndim]`."""
        given = parameters if isinstance(parameters, tuple) else (parameters,)
        literal: Any = Literal
        return self(*(get_args(item)[0] if get_origin(item) is literal else item for item in given))

    @property
    def element(self) -> Type | None:
        """IR type of the elements, or None where the annotation leaves it open."""
        return None if self.dtype is None else type_of(self.dtype)

    @property
    def element_axes(self) -> int:
        """Number of axes of an element: 1 for vectors, 2 for matrices."""
        if self.element_shape is not None or self.element_dim is not None:
            return len(self.element_shape) if self.element_shape is not None else self.element_dim or 0
        return len(self.dtype.shape) if isinstance(self.dtype, (VectorType, MatrixType, Tensor)) else 0

    @property
    def is_element_open(self) -> bool:
        """Whether the shape of vectors or matrices, or their number type, is that of each argument."""
        return self.element_shape is not None or self.element_dim is not None


ndarray = NDArray = NdarrayAnnotation()


@dataclass(frozen=True, slots=True)
class RefType:
    """Annotation of a parameter passed by reference to a real function. tp: type of the variable."""

    tp: Any


def ref(tp: Any) -> RefType:
    """Return the annotation `ti.ref(tp)`: the parameter is a variable of the caller, which the function may change.

    Example:
        >>> @ti.real_func
        ... def double(x: ti.ref(ti.i32)):
        ...     x *= 2
        >>> @ti.kernel
        ... def example() -> ti.i32:
        ...     x = 21
        ...     double(x)
        ...     return x
        >>> example()
        42
    """
    return RefType(tp)


def _check_legacy_form(dtype: Any, element_dim: int | None, shape: tuple[int, ...] | None) -> None:
    """Check `element_dim` and `element_shape` as Taichi does."""
    if element_dim is None and shape is None:
        return
    if isinstance(dtype, (VectorType, MatrixType)):
        raise TypeError(f'Cannot specifiy matrix dtype "{dtype}" and element shape or dim at the same time.')
    count = element_dim if element_dim is not None else len(shape or ())
    if not 0 <= count <= 2:
        raise ValueError("Only scalars, vectors, and matrices are allowed as elements of ti.types.ndarray()")
    if shape is not None and count != len(shape):
        raise ValueError(
            "Both element_shape and element_dim are specified, but shape doesn't match specified dim: "
            f"{len(shape)}!={element_dim}"
        )


def make_tensor_type(shape: tuple[int, ...], dtype: Any) -> TensorType:
    """Return the vector type of shape (n,) or the matrix type of shape (n, m)."""
    return VectorType(shape[0], dtype) if len(shape) == 1 else MatrixType(shape[0], shape[1], dtype)


def as_type(value: Any, options: CompileOptions) -> Type | None:
    """Return the IR type of an annotation or callable, None if it is no type."""
    if isinstance(value, (Scalar, Tensor, Struct)):
        return value
    if issubclass(type(value), DescribesType):  # not `isinstance`, which reads the class from the object
        return value.describe_type(options)  # type: ignore[no-any-return]
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
