"""`ti.field`, `ti.Vector.field`, `ti.Struct.field` and their kin: dense arrays that kernels capture, shape included.

In: an element type and a shape. Out: `ScalarField`, `MatrixField` or `StructField`, each with an allocation
of its own, row major.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..transpiler.errors import TaichiRuntimeError, TaichiSyntaxError
from ..transpiler.ir.snodes import Node, is_row_major, is_sparse
from ..transpiler.ir.types import Struct, Tensor, Type, scalars_of
from ..transpiler.lang.describe import ArrayDescription
from .dense_array import DenseArray, MatrixArray, MemberArray, ScalarArray, check_gradient, to_shape
from .memory import Ended
from .session import Session, current
from .snodes import SNode, leaf_of, offset_of, place_in_order
from .struct_array import StructArray, stored_type
from .tracebacks import hides_own_frames_of

MAX_AXES = 12
PLACED_SLOTS = frozenset({"allocation", "memory", "node", "shape", "_extent"})
"""What a field lacks before it is placed."""
MEMORY_SLOTS = frozenset({"allocation", "memory"})
"""What it lacks before its tree has memory."""


class Placed:
    """What a field has beside an ndarray: a place in the tree of nodes, and a time before it has one.

    A field made without a shape lacks it until `ti.root...place(x)` gives it one, and has memory with its first use.
    """

    __slots__ = ()
    name: str
    node: SNode
    offset: tuple[int, ...]

    @property
    def is_placed(self) -> bool:
        """Whether the field has a shape."""
        try:
            return object.__getattribute__(self, "shape") is not None
        except AttributeError:
            return False

    @property
    def snode(self) -> SNode:
        """The field's own node, a leaf of the tree."""
        return self.node

    def parent(self, n: int = 1) -> SNode | None:
        """Return the node `n` levels above the field's own; None above the root."""
        return self.node.parent(n)

    def check_placeable(self) -> None:
        """Check that the field can be placed. Raises: TaichiRuntimeError if it was."""
        if self.is_placed:
            raise TaichiRuntimeError(f"{self!r} has been placed already. Hint: place a field once, and without a shape")

    def place_at(self: Any, node: SNode, offset: tuple[int, ...]) -> None:
        """Take the shape of `node`, the field's own; memory follows when the field is used."""
        self.shape, self.offset, self.node = node.shape, offset, node
        assert node.memory is not None
        node.memory.add(self)

    def take_memory(self: Any, memory: Any) -> None:
        """Use `memory`, a `Memory` or one of its form, from now on."""
        self.memory, self.allocation = memory, memory.allocation
        is_plain = len(self.shape) == 1 and not self.offset and memory.located is None
        self._extent = self.shape[0] if is_plain else -1

    def describe_array(self: Any) -> ArrayDescription:
        """Return what a kernel must know of this field; its tree has memory then."""
        place = self.node.node
        memory = self.memory
        if memory.is_gone:
            raise memory.gone()
        in_tree = None if self.path or is_row_major(place) else place
        return ArrayDescription(
            self.element,
            self.shape,
            self.KIND,
            self.name or None,
            self.owner,
            self.path,
            in_tree,
            self.node.memory if is_sparse(place) else None,
            self.offset,
        )

    def describe_node(self) -> Node | None:
        """Return the field's own node as the compiler knows it; None before it is placed."""
        return self.node.node if self.is_placed else None

    def end(self: Any) -> None:
        """Give the memory back because the session ends; any later use raises."""
        self.memory.end()
        self.allocation = Ended()

    def __getattr__(self: Any, name: str) -> Any:
        # Reached only where a slot is empty: before the field has memory, at no cost after.
        if name in MEMORY_SLOTS and self.is_placed:
            self.node.memory.allocate()
            return object.__getattribute__(self, name)
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
    to the fastest in memory, as "ji". offset: the first index along each axis, which may be negative. name: shown in
    errors. needs_grad, needs_dual: make `.grad` and `.dual` beside it.
    Raises: TaichiRuntimeError before `ti.init()`, for a shape with an extent below 1, and where memory
    does not suffice; TaichiSyntaxError for `offset` or `order` that do not fit the shape.
    """
    session = current("field")
    element = stored_type(dtype)
    extents = _checked_shape(shape, offset, order)
    layout = _checked_order(extents, order), _checked_offset(extents, offset)
    result = _make(session, element, extents, name, *layout)
    if needs_grad or needs_dual:
        for scalar in scalars_of(element):
            check_gradient(scalar)
        result.grad = _make(session, element, extents, f"{name}.grad" if name else "", *layout) if needs_grad else None
        result.dual = _make(session, element, extents, f"{name}.dual" if name else "", *layout) if needs_dual else None
    return result


def _make(
    session: Session,
    element: Type,
    shape: tuple[int, ...] | None,
    name: str,
    order: Sequence[int] = (),
    offset: tuple[int, ...] = (),
) -> ScalarField | MatrixField | StructField:
    """Return a field: with a shape it has memory of its own, in which an order other than row major is a tree."""
    kind = _class_of(element)
    if shape is not None and not order:
        result = kind(session, element, shape, name)
        result.node = leaf_of(shape, result)
        result.offset = offset
        if offset:
            result._extent = -1
        result.dual = None
        return result
    result = kind.__new__(kind)
    result.element, result.dtype, result.name = element, next(scalars_of(element)), name
    result.grad, result.dual, result.owner, result.path, result.signature = None, None, None, (), object()
    result.offset = ()
    if shape is not None:
        place_in_order(result, shape, order, offset)
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
    return extents


def _checked_offset(shape: tuple[int, ...] | None, offset: Any) -> tuple[int, ...]:
    """Return the first index along each axis, () where all are 0."""
    if offset is None or shape is None:
        return ()
    given = tuple(offset) if isinstance(offset, Sequence) else (offset,)
    if len(given) != len(shape):
        raise TaichiSyntaxError(
            f"The dimensionality of shape and offset must be the same ({len(shape)} != {len(given)}). "
            "Hint: give one offset for each axis"
        )
    return offset_of(given, len(shape))


def _checked_order(shape: tuple[int, ...] | None, order: str | None) -> list[int]:
    """Return the axes from the slowest to the fastest, [] where that is their own order."""
    if order is None or shape is None:
        return []
    if len(order) != len(shape):
        raise TaichiSyntaxError(
            f"The dimensionality of shape and order must be the same ({len(shape)} != {len(order)})"
        )
    if len({*order}) != len(order):
        raise TaichiSyntaxError("The axes in order must be different")
    axes_given = [ord(letter) - ord("i") for letter in order]
    if sorted(axes_given) != list(range(len(order))):
        raise TaichiSyntaxError(f"Invalid axis in order '{order}': name each of the first {len(shape)} axes from `i`")
    return [] if axes_given == sorted(axes_given) else axes_given


def _refused(shape: Any) -> Exception:
    return TaichiRuntimeError(f"{shape!r} is no shape for a field. Hint: write an integer or a tuple of integers")
