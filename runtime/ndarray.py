"""`ti.ndarray`: dense arrays passed to kernels as arguments, whose shape is no part of the compiled code.

In: an element type (a number type, a vector or matrix type) and a shape. Out: `ScalarNdarray`, `MatrixNdarray` or
`StructNdarray`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from ..transpiler.errors import TaichiRuntimeError
from ..transpiler.ir.types import Struct, Tensor, Type, scalars_of
from .dense_array import DenseArray, MatrixArray, ScalarArray, check_gradient, to_shape
from .session import Session, current
from .struct_array import StructArray, stored_type
from .tracebacks import hides_own_frames_of


class ScalarNdarray(ScalarArray):
    """An ndarray of numbers."""

    KIND = "ndarray"
    __slots__ = ()

    def _signature(self) -> object:
        return signature_of(self.element, len(self.shape))

    def get_type(self) -> Any:
        """Return its (element type, shape, number of axes), what a specialization depends on."""
        return self.element, self.shape, len(self.shape)


class MatrixNdarray(MatrixArray):
    """An ndarray of vectors or matrices, stored row by row."""

    KIND = "ndarray"
    __slots__ = ()

    def _signature(self) -> object:
        return signature_of(self.element, len(self.shape))

    def get_type(self) -> Any:
        """Return its (element type, shape, number of axes), what a specialization depends on."""
        return self.element, self.shape, len(self.shape)


class StructNdarray(StructArray):
    """An ndarray of structs, one after the other in memory."""

    KIND = "ndarray"
    __slots__ = ()

    def _signature(self) -> object:
        return self.element.origin, len(self.shape)  # types that look alike may still have other methods

    def _member_array(self, name: str, element: Type) -> DenseArray:
        kind = _class_of(element)
        member = kind.__new__(kind)
        member.as_member(self, name, element)
        member.grad = None if self.grad is None else self.grad.get_member_field(name)
        return member

    def get_type(self) -> Any:
        """Return its (element type, shape, number of axes), what a specialization depends on."""
        return self.element, self.shape, len(self.shape)


def _class_of(element: Type) -> type[ScalarNdarray] | type[MatrixNdarray] | type[StructNdarray]:
    if isinstance(element, Struct):
        return StructNdarray
    return MatrixNdarray if isinstance(element, Tensor) else ScalarNdarray


@hides_own_frames_of(TypeError, ValueError)
def ndarray(dtype: Any, shape: Any, needs_grad: bool = False) -> DenseArray:
    """Make a zeroed ndarray of `shape` (an integer or a tuple; extents may be 0).

    dtype: a number type, Python's `int` or `float`, or a vector, matrix or struct type. needs_grad: make `.grad` beside
    it.
    Raises: TaichiRuntimeError before `ti.init()`, for a shape that is none, and where memory does not suffice.
    """
    session = current("ndarray")
    element = stored_type(dtype)
    extents = to_shape(shape, _refused)
    if any(extent < 0 for extent in extents):
        raise _refused(extents)
    result = _make(session, element, extents)
    if needs_grad:
        for scalar in scalars_of(element):
            check_gradient(scalar)
        result.grad = _make(session, element, extents)
    return result


@cache
def signature_of(element: Type, ndim: int) -> str:
    """Return the one text that stands for all ndarrays of this element and number of axes; comparing it is cheap."""
    return f"ndarray({element}, {ndim})"


def _make(session: Session, element: Type, shape: tuple[int, ...]) -> DenseArray:
    return _class_of(element)(session, element, shape)


def _refused(shape: Any) -> Exception:
    return TaichiRuntimeError(f"{shape} is not a valid shape for ndarray")
