"""`ti.ndarray`: dense arrays passed to kernels as arguments, whose shape is no part of the compiled code.

In: an element type (a number type, a vector or matrix type) and a shape. Out: `ScalarNdarray` or `MatrixNdarray`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from ..transpiler.errors import TaichiRuntimeError
from ..transpiler.ir.types import Tensor, Type
from ..transpiler.lang.annotations import type_of
from .dense_array import DenseArray, MatrixArray, ScalarArray, check_gradient, to_shape
from .session import Session, current


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


def ndarray(dtype: Any, shape: Any, needs_grad: bool = False) -> DenseArray:
    """Make a zeroed ndarray of `shape` (an integer or a tuple; extents may be 0).

    dtype: a number type, Python's `int` or `float`, or a vector or matrix type. needs_grad: make `.grad` beside it.
    Raises: TaichiRuntimeError before `ti.init()`, for a shape that is none, and where memory does not suffice.
    """
    session = current("ndarray")
    element = type_of(dtype)
    extents = to_shape(shape, _refused)
    if any(extent < 0 for extent in extents):
        raise _refused(extents)
    result = _make(session, element, extents)
    if needs_grad:
        check_gradient(result.dtype)
        result.grad = _make(session, element, extents)
    return result


@cache
def signature_of(element: Type, ndim: int) -> str:
    """Return the one text that stands for all ndarrays of this element and number of axes; comparing it is cheap."""
    return f"ndarray({element}, {ndim})"


def _make(session: Session, element: Type, shape: tuple[int, ...]) -> DenseArray:
    return (MatrixNdarray if isinstance(element, Tensor) else ScalarNdarray)(session, element, shape)


def _refused(shape: Any) -> Exception:
    return TaichiRuntimeError(f"{shape} is not a valid shape for ndarray")
