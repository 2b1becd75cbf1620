"""`ti.field`, `ti.Vector.field`, `ti.Struct.field` and their kin: dense arrays that kernels capture, shape included.

In: an element type and a shape. Out: `ScalarField`, `MatrixField` or `StructField`, each with an allocation
of its own, row major.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from ..transpiler.errors import TaichiRuntimeError, TaichiSyntaxError
from ..transpiler.ir.types import Struct, Tensor, Type, scalars_of
from .dense_array import DenseArray, MatrixArray, MemberArray, ScalarArray, check_gradient, to_shape
from .session import Session, current
from .snodes import SNode, leaf_of
from .struct_array import StructArray, stored_type
from .tracebacks import hides_own_frames_of

MAX_AXES = 12
PLACED_SLOTS = frozenset({"allocation", "memory", "node", "shape", "_extent"})
"""What a field lacks before it is placed."""


class Placed:
    """What a field has beside an ndarray: a place in the tree of nodes, and a time before it has one.

    A field made without a shape lacks its shape and memory until `ti.root...place(x)` gives them.
    """

    __slots__ = ()
    name: str
    node: SNode

    @property
    def is_placed(self) -> bool:
        """Whether the field has a shape and memory."""
        try:
            return object.__getattribute__(self, "memory") is not None
        except AttributeError:
            return False

    @property
    def snode(self) -> SNode:
        """The field's own node, a leaf of the tree."""
        return self.node

    def parent(self, n: int = 1) -> SNode | None:
        """Return the node `n` levels above the field's own; None above the root."""
        return self.node.parent(n)

    def place_at(self: Any, node: SNode) -> None:
        """Take the shape of `node`, the field's own, and zeroed memory. Raises: TaichiRuntimeError if it has them."""
        if self.is_placed:
            raise TaichiRuntimeError(f"{self!r} has been placed already. Hint: place a field once, and without a shape")
        grad, dual, signature = self.grad, self.dual, self.signature
        DenseArray.__init__(self, current("field"), self.element, node.shape, self.name)
        self.grad, self.dual, self.signature, self.node = grad, dual, signature, node

    def __getattr__(self, name: str) -> NoReturn:
        # Reached only where a slot is empty: before the field is placed, at no cost after.
        if name in PLACED_SLOTS:
            shown = f" `{self.name}`" if self.name else ""
            raise TaichiRuntimeError(
                f"this field{shown} is not placed: it has neither shape nor memory. "
                "Hint: give it a shape, `ti.field(dtype, shape=n)`, or place it: `ti.root.dense(ti.i, n).place(x)`"
            )
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")


class ScalarField(Placed, ScalarArray):
    """A field of numbers."""

    KIND = "field"
    __slots__ = ("dual", "node")
    dual: ScalarField | MatrixField | StructField | None

    def _signature(self) -> object:
        return object()  # shape and address are part of the compiled code: no two fields share it

    def __str__(self) -> str:
        return str(self.to_numpy())


class MatrixField(Placed, MatrixArray):
    """A field of vectors or matrices, stored row by row."""

    KIND = "field"
    __slots__ = ("dual", "node")
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


class StructField(Placed, StructArray):
    """A field of structs, one after the other in memory."""

    KIND = "field"
    __slots__ = ("dual", "node")
    dual: StructField | None

    def __getattr__(self, name: str) -> Any:
        return Placed.__getattr__(self, name) if name in PLACED_SLOTS else StructArray.__getattr__(self, name)

    def _signature(self) -> object:
        return object()  # shape and address are part of the compiled code: no two fields share it

    def _member_array(self, name: str, element: Type) -> ScalarField | MatrixField | StructField:
        kind = _class_of(element)
        member = kind.__new__(kind)
        member.as_member(self, name, element)
        member.node = self.node
        member.grad = None if self.grad is None else self.grad.get_member_field(name)
        member.dual = None if self.dual is None else self.dual.get_member_field(name)
        return member

    def __str__(self) -> str:
        return str(self.to_numpy())


def _class_of(element: Type) -> type[ScalarField] | type[MatrixField] | type[StructField]:
    return StructField if isinstance(element, Struct) else MatrixField if isinstance(element, Tensor) else ScalarField


@hides_own_frames_of(TypeError, ValueError)
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

    Without a shape the field waits for `ti.root...place(x)`.

    dtype: a number type, Python's `int` or `float`, or a vector, matrix or struct type. order: axes from the slowest
    to the fastest, as "ij"; it is checked, and memory is row major in any case. name: shown in errors. needs_grad,
    needs_dual: make `.grad` and `.dual` beside it.
    Raises: TaichiRuntimeError before `ti.init()`, for a shape with an extent below 1, and where memory
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
    session: Session, element: Type, shape: tuple[int, ...] | None, name: str
) -> ScalarField | MatrixField | StructField:
    kind = _class_of(element)
    if shape is not None:
        result = kind(session, element, shape, name)
        result.node = leaf_of(shape)
    else:
        result = kind.__new__(kind)
        result.element, result.dtype, result.name = element, next(scalars_of(element)), name
        result.grad, result.signature = None, object()
    result.dual = None
    return result


def _checked_shape(shape: Any, offset: Any, order: str | None) -> tuple[int, ...] | None:
    if shape is None:
        for given, value in (("offset", offset), ("order", order)):
            if value is not None:
                raise TaichiSyntaxError(f"shape cannot be None when {given} is set")
        return None
    extents = to_shape(shape, _refused)
    if len(extents) > MAX_AXES:
        raise TaichiRuntimeError(f"a field has at most {MAX_AXES} axes, and shape {extents} has {len(extents)}")
    for axis, extent in enumerate(extents):
        if extent < 1:
            raise TaichiRuntimeError(
                f"Every dimension of a Taichi field should be positive, got {extent} in dimension {axis}. "
                "Hint: an extent is at least 1"
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
            f"The dimensionality of shape and offset must be the same ({len(shape)} != {len(offsets)}). "
            "Hint: give one offset for each axis"
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
