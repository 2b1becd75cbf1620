"""`ti.field`, `ti.Vector.field`, `ti.Struct.field` and their kin: dense arrays that kernels capture, shape included.

In: an element type and a shape. Out: `ScalarField`, `MatrixField` or `StructField`, each with an allocation
of its own, row major.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NoReturn

from ..transpiler.errors import TaichiRuntimeError, TaichiSyntaxError
from ..transpiler.ir.types import Struct, Tensor, Type, scalars_of
from ..transpiler.lang.describe import ArrayDescription, Step, name_step, step_into, steps_of
from ..transpiler.lang.hooks import Layout
from .dense_array import DenseArray, MatrixArray, ScalarArray, check_gradient, to_shape
from .parts import PartsMemory
from .session import Session, current
from .snodes import SNode, leaf_of
from .struct_array import StructArray, stored_type
from .tracebacks import hides_own_frames_of

MAX_AXES = 12
PLACED_SLOTS = frozenset({"allocation", "memory", "node", "shape", "_extent"})
"""What a field lacks before it is placed."""


class Placed:
    """What a field has beside an ndarray: a place in the tree of nodes, and a time before it has one.

    A field made without a shape lacks its shape and memory until `ti.root...place(x)` gives them: to the whole, or to
    its parts one by one, which then lie apart. parts: fields by what leads to them, None for a field placed whole,
    whose parts share its memory. whole: what this is a part of, if it lies apart or may yet.
    """

    __slots__ = ()
    name: str
    node: SNode
    grad: Any
    dual: Any
    parts: dict[Step, Any] | None
    whole: weakref.ref[Any] | None

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
        """Take the shape of `node`, the field's own, and zeroed memory.

        Raises: TaichiRuntimeError if it or a part of it has them.
        """
        if self.is_placed or any(self._placed_parts()):
            raise TaichiRuntimeError(f"{self!r} has been placed already. Hint: place a field once, and without a shape")
        grad, dual, signature = self.grad, self.dual, self.signature
        DenseArray.__init__(self, current("field"), self.element, node.shape, self.name)
        self.grad, self.dual, self.signature, self.node = grad, dual, signature, node
        self._share_memory()
        self._tell_whole()

    def part(self: Any, step: Step) -> Any:
        """Return a part of all elements as a field: a component or a member."""
        parts = self.parts
        found = None if parts is None else parts.get(step)
        if found is not None:
            return found
        element = step_into(self.element, step)
        found = _unplaced(element, name_step(self.name, self.element, step) if self.name else "")
        found.set_derivatives(*(None if other is None else other.part(step) for other in (self.grad, self.dual)))
        if parts is None:
            found.become_part(self, step)
        else:
            parts[step], found.whole = found, weakref.ref(self)
        return found

    def set_derivatives(self, grad: Any, dual: Any) -> None:
        """Take fields of the same element and shape as gradient and dual, or None; parts take their parts."""
        self.grad, self.dual = grad, dual
        for step, part in (self.parts or {}).items():
            part.set_derivatives(*(None if other is None else other.part(step) for other in (grad, dual)))

    def become_part(self: Any, owner: Any, step: Step) -> None:
        """Share the memory of `owner`, which was placed whole."""
        grad, dual = self.grad, self.dual
        self.as_member(owner, step, self.element)
        self.grad, self.dual, self.node, self.whole = grad, dual, owner.node, None
        self._share_memory()

    def describe_array(self: Any) -> ArrayDescription:
        """Return what a kernel must know of this field."""
        return replace(DenseArray.describe_array(self), parts=tuple(self.part(step) for step in self._steps()))

    def _share_memory(self: Any) -> None:
        parts, self.parts = self.parts or {}, None
        for step, part in parts.items():
            part.become_part(self, step)

    def _tell_whole(self) -> None:
        whole = None if self.whole is None else self.whole()
        if whole is not None:
            whole.part_was_placed()

    def part_was_placed(self: Any) -> None:
        """Take the shape of the parts, once all of them have been placed. Raises: TaichiRuntimeError if it differs."""
        parts = {step: self.part(step) for step in steps_of(self.element)}
        if not all(part.is_placed for part in parts.values()):
            return
        shapes = [part.shape for part in parts.values()]
        if isinstance(self.element, Tensor) and len({*shapes}) > 1:
            raise TaichiRuntimeError(
                f"Members of the following field have different shapes {shapes}: {self!r}. "
                "Hint: place all components in nodes of one shape"
            )
        grad, dual, signature = self.grad, self.dual, self.signature
        self.parts = parts
        self._set_up(PartsMemory(parts, self.element, shapes[0]), self.element, shapes[0], self.name)
        self.grad, self.dual, self.signature, self.node = grad, dual, signature, next(iter(parts.values())).node
        self._tell_whole()

    def _steps(self: Any) -> list[Step]:
        """Return the steps to the parts of a field that lies apart."""
        return [] if self.parts is None else steps_of(self.element)

    def _placed_parts(self) -> Iterator[Any]:
        for part in (self.parts or {}).values():
            yield part.is_placed or any(part._placed_parts())

    def __repr__(self) -> str:
        return super().__repr__() if self.is_placed else "<Field: Definition of this field is incomplete>"

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
    __slots__ = ("dual", "node", "parts", "whole")
    dual: ScalarField | MatrixField | StructField | None

    def _signature(self) -> object:
        return object()  # shape and address are part of the compiled code: no two fields share it

    def __str__(self) -> str:
        return str(self.to_numpy())


class MatrixField(Placed, MatrixArray):
    """A field of vectors or matrices, stored row by row."""

    KIND = "field"
    __slots__ = ("dual", "node", "parts", "whole")
    dual: ScalarField | MatrixField | StructField | None

    def _signature(self) -> object:
        return object()  # shape and address are part of the compiled code: no two fields share it

    def __str__(self) -> str:
        return str(self.to_numpy())

    def get_scalar_field(self, *indices: int) -> ScalarField:
        """Return one component of all elements, a field of its own.

        indices: one number for vectors, row and column for matrices.
        Raises: TaichiIndexError where there is no such component.
        """
        component: ScalarField = self.part(self.component_of(indices))
        return component


class StructField(Placed, StructArray):
    """A field of structs, one after the other in memory."""

    KIND = "field"
    __slots__ = ("dual", "node", "parts", "whole")
    dual: StructField | None

    def __getattr__(self, name: str) -> Any:
        return Placed.__getattr__(self, name) if name in PLACED_SLOTS else StructArray.__getattr__(self, name)

    def _signature(self) -> object:
        return object()  # shape and address are part of the compiled code: no two fields share it

    @property
    def field_dict(self) -> dict[str, ScalarField | MatrixField | StructField]:
        """Members of all elements by name, as fields."""
        return {name: self.get_member_field(name) for name in self.keys}

    def _member_array(self, name: str, element: Type) -> ScalarField | MatrixField | StructField:
        member: ScalarField | MatrixField | StructField = self.part(name)
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
    layout: Layout = Layout.AOS,
) -> DenseArray:
    """Make a zeroed field of `shape`: an integer, a tuple, or () for a single element, read as `x[None]`.

    Without a shape the field waits for `ti.root...place(x)`.

    dtype: a number type, Python's `int` or `float`, or a vector, matrix or struct type. order: axes from the slowest
    to the fastest, as "ij"; it is checked, and memory is row major in any case. name: shown in errors. needs_grad,
    needs_dual: make `.grad` and `.dual` beside it. layout: `Layout.SOA` puts each component of vectors, and each member
    of structs, into memory of its own.
    Raises: TaichiRuntimeError before `ti.init()`, for a shape with an extent below 1, and where memory
    does not suffice; TaichiSyntaxError for `offset` or `order` that do not fit the shape.
    """
    session = current("field")
    element = stored_type(dtype)
    extents = _checked_shape(shape, offset, order)
    result = _make(session, element, extents, name, layout)
    if needs_grad or needs_dual:
        for scalar in scalars_of(element):
            check_gradient(scalar)
        beside = partial(_make, session, element, extents, layout=layout)
        grad = beside(name=f"{name}.grad" if name else "") if needs_grad else None
        result.set_derivatives(grad, beside(name=f"{name}.dual" if name else "") if needs_dual else None)
    return result


def _make(
    session: Session, element: Type, shape: tuple[int, ...] | None, name: str, layout: Layout
) -> ScalarField | MatrixField | StructField:
    if shape is None:
        return _unplaced(element, name)
    if layout is Layout.SOA and (steps := steps_of(element)):
        result = _unplaced(element, name)
        for step in steps:
            result.part(step).place_at(leaf_of(shape))
        return result
    result = _class_of(element)(session, element, shape, name)
    result.node, result.parts, result.whole, result.dual = leaf_of(shape), None, None, None
    return result


def _unplaced(element: Type, name: str) -> ScalarField | MatrixField | StructField:
    kind = _class_of(element)
    result = kind.__new__(kind)
    result.element, result.dtype, result.name = element, next(scalars_of(element)), name
    result.signature = object()
    result.parts, result.whole, result.grad, result.dual = {}, None, None, None
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
