"""`ti.field`, `ti.Vector.field`, `ti.Struct.field` and their kin: dense arrays that kernels capture, shape included.

In: an element type and a shape. Out: `ScalarField`, `MatrixField` or `StructField`, each with an allocation of its own, row major.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..transpiler.errors import TaichiRuntimeError, TaichiSyntaxError
from ..transpiler.ir.types import Struct, Tensor, Type, scalars_of
from .dense_array import DenseArray, MatrixArray, MemberArray, ScalarArray, check_gradient, to_shape
from .session import Session, current
from .struct_array import StructArray, stored_type

MAX_AXES = 12


class ScalarField(ScalarArray):
    """A field of numbers."""

    KIND = "field"
    __slots__ = ("dual",)
    dual: ScalarField | MatrixField | StructField | None

    def _signature(self) -> object:
        return object()  # shape and address are part of the compiled code: no two fields share it

    def __str__(self) -> str:
        return str(self.to_numpy())


class MatrixField(MatrixArray):
    """A field of vectors or matrices, stored row by row."""

    KIND = "field"
    __slots__ = ("dual",)
    dual: ScalarField | MatrixField | StructField | None

    def _signature(self) -> object:
        return object()  # shape and address are part of the compiled code: no two fields share it

    def __str__(self) -> str:
        return str(self.to_numpy())

    def get_scalar_field(self, *indices: int) -> MemberArray:
        """Return one component of all elements, for access from Python; it shares this field's memory.

        indices: one number for vectors, row and column for matrices.
        Raises: TaichiIndexError where there is no such component.
        """
        return MemberArray(self, self.component_of(indices))


class StructField(StructArray):
    """A field of structs, one after the other in memory."""

    KIND = "field"
    __slots__ = ("dual",)
    dual: StructField | None

    def _signature(self) -> object:
        return object()  # shape and address are part of the compiled code: no two fields share it

    def _member_array(self, name: str, element: Type) -> ScalarField | MatrixField | StructField:
        kind = _class_of(element)
        member = kind.__new__(kind)
        member.as_member(self, name, element)
        member.grad = None if self.grad is None else self.grad.get_member_field(name)
        member.dual = None if self.dual is None else self.dual.get_member_field(name)
        return member

    def __str__(self) -> str:
        return str(self.to_numpy())


def _class_of(element: Type) -> type[ScalarField] | type[MatrixField] | type[StructField]:
    return StructField if isinstance(element, Struct) else MatrixField if isinstance(element, Tensor) else ScalarField


def field(
    dtype: Any,
    shape: Any = None,
    order: str | None = None,
    name: str = "",
    offset: Any = None,
    needs_grad: bool = False,
    needs_dual: bool = False,
) -> DenseArray:
    """Make a zeroed field of `shape`: an integer, a tuple, or () for a single element, read as `x[None]`.

    dtype: a number type, Python's `int` or `float`, or a vector, matrix or struct type. order: axes from the slowest to the
    fastest, as "ij"; it is checked, and memory is row major in any case. name: shown in errors. needs_grad, needs_dual:
    make `.grad` and `.dual` beside it.
    Raises: TaichiRuntimeError before `ti.init()`, for a shape with an extent below 1, without a shape, and where memory
    does not suffice; TaichiSyntaxError for `offset` or `order` that do not fit the shape.
    """
    session = current("field")
    element = stored_type(dtype)
    extents = _checked_shape(shape, offset, order)
    result = _make(session, element, extents, name)
    if needs_grad or needs_dual:
        for scalar in scalars_of(element):
            check_gradient(scalar)
        result.grad = _make(session, element, extents, f"{name}.grad" if name else "") if needs_grad else None
        result.dual = _make(session, element, extents, f"{name}.dual" if name else "") if needs_dual else None
    return result


def _make(
    session: Session, element: Type, shape: tuple[int, ...], name: str
) -> ScalarField | MatrixField | StructField:
    result = _class_of(element)(session, element, shape, name)
    result.dual = None
    return result


def _checked_shape(shape: Any, offset: Any, order: str | None) -> tuple[int, ...]:
    if shape is None:
        for given, value in (("offset", offset), ("order", order)):
            if value is not None:
                raise TaichiSyntaxError(f"shape cannot be None when {given} is set")
        raise TaichiRuntimeError(
            "a field without a shape waits for `ti.root...place(x)`, which shadesmith does not have yet. "
            "Hint: give the shape: `ti.field(dtype, shape=(2, 3))`"
        )
    extents = to_shape(shape, _refused)
    if len(extents) > MAX_AXES:
        raise TaichiRuntimeError(f"a field has at most {MAX_AXES} axes, and shape {extents} has {len(extents)}")
    for axis, extent in enumerate(extents):
        if extent < 1:
            raise TaichiRuntimeError(
                f"Every dimension of a Taichi field should be positive, got {extent} in dimension {axis}."
            )
    _check_offset(extents, offset)
    _check_order(extents, order)
    return extents


def _check_offset(shape: tuple[int, ...], offset: Any) -> None:
    if offset is None:
        return
    offsets = tuple(offset) if isinstance(offset, Sequence) else (offset,)
    if len(offsets) != len(shape):
        raise TaichiSyntaxError(
            f"The dimensionality of shape and offset must be the same ({len(shape)} != {len(offsets)})"
        )
    if any(offsets):
        raise TaichiRuntimeError(
            f"a field whose indices start at offset {offsets} is not supported yet. "
            "Hint: leave `offset` out and subtract it from the indices"
        )


def _check_order(shape: tuple[int, ...], order: str | None) -> None:
    if order is None:
        return
    if len(order) != len(shape):
        raise TaichiSyntaxError(
            f"The dimensionality of shape and order must be the same ({len(shape)} != {len(order)})"
        )
    if len({*order}) != len(order):
        raise TaichiSyntaxError("The axes in order must be different")
    if sorted(order) != [chr(ord("i") + axis) for axis in range(len(order))]:
        raise TaichiSyntaxError(f"Invalid axis in order '{order}': name each of the first {len(shape)} axes from `i`")


def _refused(shape: Any) -> Exception:
    return TaichiRuntimeError(f"{shape!r} is no shape for a field. Hint: write an integer or a tuple of integers")
