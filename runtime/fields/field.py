"""`ti.field`, `ti.Vector.field`, `ti.Struct.field` and others: dense arrays that kernels capture with their shape.

In: an element type and a shape. Out: `ScalarField`, `MatrixField` or `StructField`, each with its own row-major
allocation.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

from ...transpiler.errors import TaichiRuntimeError, TaichiSyntaxError
from ...transpiler.ir.snodes import Node, is_row_major, is_sparse
from ...transpiler.ir.types import Struct, Tensor, Type, scalars_of
from ...transpiler.lang.describe import ArrayDescription, Step, name_step, step_into, steps_of
from ...transpiler.lang.hooks import Layout
from ..arrays.dense_array import DenseArray, MatrixArray, ScalarArray, check_gradient, make_all, to_shape
from ..arrays.member_names import class_for
from ..arrays.memory import Ended, MemberMemory
from ..arrays.split_memory import SplitMemory
from ..arrays.struct_array import StructArray, stored_type
from ..loading import loader
from ..session.session import Session, current
from ..session.tracebacks import hides_own_frames_of
from .snodes import SNode, axes, leaf_of, offset_of, own_cell, place_in_order

MAX_AXES = 12
MAX_SHARED_BYTES = 1 << 30
"""The parts of a split field share an allocation up to this size, so that compilers know that they do not alias. Member
offsets have 32 bits in SPIR-V, and not every device has larger allocations."""
PLACED_SLOTS = frozenset({"allocation", "memory", "node", "shape", "_extent", "_is_mapped"})
"""Attributes that a field lacks before it is placed."""
MAKERS: dict[type, Callable[[Any, Any, str, dict[str, Any]], DenseArray]] = {}
"""Functions that make fields of types which are no element types, by their class; `quantized.py` adds them."""
MEMORY_SLOTS = frozenset({"allocation", "memory", "_extent", "_is_mapped"})
"""Attributes that it lacks before its tree has memory."""

_devices = loader("..session.devices", __package__)


class Placed:
    """The properties of fields that ndarrays lack: a node in an SNode tree, and placement after construction.

    A field made without a shape gets one from `ti.root...place(x)`, and memory at its first use. `place` takes the
    whole field or its parts one by one; in the second case the field is split.

    Attributes:
        parts: fields by component or member; None for a field that is not split, whose parts share its memory.
        whole: the field of which this is a part, if that is split or not placed yet.
    """

    __slots__ = ()
    name: str
    node: SNode
    offset: tuple[int, ...]
    signature: object
    parts: dict[Step, Any] | None
    whole: weakref.ref[Any] | None

    @property
    def is_placed(self) -> bool:
        """Whether the field has a shape."""
        try:
            return object.__getattribute__(self, "shape") is not None
        except AttributeError:
            return False

    @property
    def snode(self) -> SNode:
        """The node of the field, a leaf of the tree."""
        return self.node

    def parent(self, n: int = 1) -> SNode | None:
        """Return the node `n` levels above the field's node; None above the root."""
        return self.node.parent(n)

    def check_placeable(self) -> None:
        """Check that the field can be placed. Raises: TaichiRuntimeError if it was, or a part of it."""
        for part in (self.parts or {}).values():
            part.check_placeable()
        if self.is_placed:
            raise TaichiRuntimeError(f"{self!r} has been placed already", "place a field once, and without a shape")

    def place_at(self: Any, node: SNode, offset: tuple[int, ...]) -> None:
        """Take the shape of `node`, the field's node; memory is allocated when the field is used."""
        self.shape, self.offset, self.node = node.shape, offset, node
        assert node.memory is not None
        node.memory.add(self)
        self._share_memory()
        self._notify_whole()

    def take_memory(self: Any, memory: Any) -> None:
        """Use `memory`, which has the interface of `Memory`, from now on."""
        self.memory, self.allocation = memory, memory.allocation
        self._is_mapped = bool(self.offset) or memory.locate is not None
        self._extent = self.shape[0] if len(self.shape) == 1 and not self._is_mapped else -1

    def describe_array(self: Any) -> ArrayDescription:
        """Return the description of this field for the compiler; its tree gets memory."""
        if self.parts:
            parts = tuple(self.parts[step] for step in steps_of(self.element))
            return ArrayDescription(
                self.element, self.shape, self.KIND, self.name or None, offset=self.offset, parts=parts
            )
        node = self.node.node
        self.memory  # noqa: B018 - allocates the memory of the tree
        in_tree = None if self.path or is_row_major(node) else node
        return ArrayDescription(
            self.element,
            self.shape,
            self.KIND,
            self.name or None,
            self.owner,
            self.path,
            in_tree,
            self.node.memory if is_sparse(node) else None,
            self.offset,
        )

    def describe_node(self) -> Node | None:
        """Return the field's node for the compiler; None before it is placed, and for a split field."""
        return self.node.node if self.is_placed and not self.parts else None

    @property
    def session(self: Any) -> Any:
        """The session that it belongs to, known as soon as it has a place. Raises: TaichiRuntimeError before."""
        try:
            return object.__getattribute__(self, "memory").session
        except AttributeError:  # placed, and not used yet
            return self.node.memory.session if self.owner is None else self.owner.session

    @hides_own_frames_of(TypeError)
    def to(self: Any, place: Any) -> Any:
        """Return a copy in another session, a row-major field; the field itself if it is there already.

        place: a session, or the name of a device, "cuda:1". Gradients are copied, duals are not.

        Example:
            >>> x = ti.field(ti.f32, 3)
            >>> x.to("python").shape
            (3,)
        """
        session = _devices().session_at(place)
        if session is self.session:
            return self
        with session:
            has_grad, offset = self.grad is not None and self.grad.is_placed, self.offset or None
            made = field(self.element, self.shape, name=self.name, offset=offset, needs_grad=has_grad)
            made.copy_from(self)
            if has_grad:
                made.grad.copy_from(self.grad)
        return made

    # --- parts

    def describe_parts(self) -> list[tuple[Step, Any]]:
        """Return the parts that are fields, by component or member."""
        return list((self.parts or {}).items())

    def part(self: Any, step: Step) -> Any:
        """Return a part of all elements as a field: a component or a member."""
        parts = self.parts
        found = None if parts is None else parts.get(step)
        if found is not None:
            return found
        found = unplaced(step_into(self.element, step), _name_of_part(self, step))
        found.set_derivatives(*(None if other is None else other.part(step) for other in (self.grad, self.dual)))
        if parts is None:
            found.become_part(self, step)
        else:
            parts[step], found.whole = found, weakref.ref(self)
        return found

    def set_derivatives(self: Any, grad: Any, dual: Any) -> None:
        """Take fields of the same element and shape as gradient and dual, or None; parts take their parts."""
        self.grad, self.dual = grad, dual
        for step, part in (self.parts or {}).items():
            part.set_derivatives(*(None if other is None else other.part(step) for other in (grad, dual)))

    def become_part(self: Any, owner: Any, step: Step) -> None:
        """Share the memory of `owner`, which is not split, once it has some."""
        self.owner, self.path = owner if owner.owner is None else owner.owner, (*owner.path, step)
        self.shape, self.offset, self.node = owner.shape, owner.offset, owner.node
        self.signature, self.whole = (self.owner.signature, self.path), None
        self._share_memory()

    def part_was_placed(self: Any) -> None:
        """Take the shape of the first part, once all have one. Raises: TaichiRuntimeError if components differ."""
        parts = {step: self.part(step) for step in steps_of(self.element)}
        if not all(part.is_placed for part in parts.values()):
            return
        shapes = [part.shape for part in parts.values()]
        if isinstance(self.element, Tensor) and len({*shapes}) > 1:
            raise TaichiRuntimeError(
                f"Members of the following field have different shapes {shapes}: {self!r}",
                "place all components in nodes of one shape",
            )
        first = next(iter(parts.values()))
        self.parts, self.shape, self.offset, self.node = parts, first.shape, first.offset, first.node
        self.memory, self.allocation, self._extent = SplitMemory(parts, self.element, first.shape), None, -1
        self._notify_whole()

    def _share_memory(self: Any) -> None:
        parts, self.parts = self.parts or {}, None
        for step, part in parts.items():
            part.become_part(self, step)

    def _notify_whole(self) -> None:
        whole = None if self.whole is None else self.whole()
        if whole is not None:
            whole.part_was_placed()

    # --- life

    def end(self: Any) -> None:
        """Free the memory because the session ends; any later use raises."""
        self.memory.end()
        self.allocation = Ended(self.memory.freed_error)

    def __repr__(self) -> str:
        return super().__repr__() if self.is_placed else "<Field: Definition of this field is incomplete>"

    def __str__(self: Any) -> str:
        return str(self.to_numpy()) if self.is_placed else repr(self)

    def __getattr__(self: Any, name: str) -> Any:
        # Called only for unset attributes, so before the field has memory; no cost afterwards.
        if name in MEMORY_SLOTS and self.is_placed:
            if self.owner is None:
                self.node.memory.allocate()
            else:
                self.take_memory(MemberMemory(self.owner.memory, self.path, self.element))
            return object.__getattribute__(self, name)
        if name in PLACED_SLOTS:
            shown = f" `{self.name}`" if self.name else ""
            raise TaichiRuntimeError(
                f"this field{shown} is not placed: it has neither shape nor memory",
                "give it a shape, `ti.field(dtype, shape=n)`, or place it: `ti.root.dense(ti.i, n).place(x)`",
            )
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")


class ScalarField(Placed, ScalarArray):
    """A field of numbers.

    Made by `ti.field`, from element type, shape and name in the current session.

    Example:
        >>> x = ti.field(ti.f32, shape=(2, 3))
        >>> x.fill(1.5)
        >>> x.to_numpy().sum()
        9.0
    """

    KIND = "field"
    __slots__ = ("dual", "node", "parts", "whole")
    dual: ScalarField | MatrixField | StructField | None

    def _signature(self) -> object:
        return object()  # shape and address are part of the compiled code, so each field has its own


class MatrixField(Placed, MatrixArray):
    """A field of vectors or matrices, stored row-major.

    Made by `ti.Vector.field` and `ti.Matrix.field`, from element type, shape and name in the current session.

    Example:
        >>> x = ti.Vector.field(2, ti.f32, shape=3)
        >>> x[1] = [0.5, 1.5]
        >>> x.to_numpy().shape
        (3, 2)
    """

    KIND = "field"
    __slots__ = ("dual", "node", "parts", "whole")
    dual: ScalarField | MatrixField | StructField | None

    def _signature(self) -> object:
        return object()  # shape and address are part of the compiled code, so each field has its own

    def to_numpy(self, keep_dims: bool = False, dtype: Any = None) -> Any:  # type: ignore[override]
        """Return a copy, shape (*shape, n, m); (*shape, n) if there is one column, unless `keep_dims`."""
        values = super().to_numpy(keep_dims, dtype)
        return values[..., 0] if not keep_dims and self.element.shape[1:] == (1,) else values

    def get_scalar_field(self, *indices: int) -> ScalarField:
        """Return one component of all elements as a field.

        indices: one number for vectors, row and column for matrices.
        Raises: TaichiIndexError if there is no such component.
        """
        component: ScalarField = self.part(self.component_of(indices))
        return component


class StructField(Placed, StructArray):
    """A field of structs, contiguous in memory unless its members were placed one by one.

    Made by the `field` of a struct type, from element type, shape and name in the current session.

    Example:
        >>> Ball = ti.types.struct(pos=ti.math.vec2, mass=ti.f32)
        >>> balls = Ball.field(shape=3)
        >>> balls[0].mass = 2.0
        >>> balls.mass.to_numpy().tolist()
        [2.0, 0.0, 0.0]
    """

    KIND = "field"
    __slots__ = ("dual", "node", "parts", "whole")
    dual: StructField | None

    def __getattr__(self, name: str) -> Any:
        return Placed.__getattr__(self, name) if name in PLACED_SLOTS else StructArray.__getattr__(self, name)

    def _signature(self) -> object:
        return object()  # shape and address are part of the compiled code, so each field has its own

    @property
    def field_dict(self) -> dict[str, ScalarField | MatrixField | StructField]:
        """Members of all elements by name, as fields."""
        return {name: self.get_member_field(name) for name in self.keys}

    def _member_array(self, name: str, element: Type) -> ScalarField | MatrixField | StructField:
        member: ScalarField | MatrixField | StructField = self.part(name)
        return member


def _class_of(element: Type) -> type[ScalarField] | type[MatrixField] | type[StructField]:
    if isinstance(element, Struct):
        return class_for(StructField, element)
    return MatrixField if isinstance(element, Tensor) else ScalarField


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

    Args:
        dtype: a number type, Python's `int` or `float`, or a vector, matrix or struct type.
        shape: of the field.
        order: axes from the slowest to the fastest in memory, as "ji".
        name: shown in errors.
        offset: the first index along each axis, which may be negative.
        needs_grad, needs_dual: make `.grad` and `.dual` as well.
        layout: `Layout.SOA` stores each component of vectors and each member of structs in its own array.

    Raises: TaichiRuntimeError before `ti.init()`, for a shape with an extent below 1, and if there is not enough
    memory; TaichiSyntaxError for `offset` or `order` that do not fit the shape.

    Example:
        >>> x = ti.field(ti.f32, shape=(2, 3))
        >>> x[0, 1] = 2.5
        >>> x[0, 1], x.shape
        (2.5, (2, 3))
    """
    session = current("field")
    if type(dtype) in MAKERS:
        others = {"order": order, "offset": offset, "needs_grad": needs_grad, "needs_dual": needs_dual}
        return MAKERS[type(dtype)](dtype, shape, name, others)
    element = stored_type(dtype)
    extents = _checked_shape(shape, offset, order)
    order_of_axes, starts = _checked_order(extents, order), _checked_offset(extents, offset)
    make = partial(_make, session, element, extents, order=order_of_axes, offset=starts, layout=layout)
    is_open = extents is None and all(scalar.is_float for scalar in scalars_of(element))
    required = {"grad": needs_grad, "dual": needs_dual}
    needs_grad, needs_dual = needs_grad or is_open, needs_dual or is_open  # `place(x, x.grad)` chooses
    wanted = [("grad", needs_grad), ("dual", needs_dual)]
    if needs_grad or needs_dual:
        for scalar in scalars_of(element):
            check_gradient(scalar)
    names = [name, *(f"{name}.{suffix}" if name else "" for suffix, is_needed in wanted if is_needed)]
    result, *derivatives = make_all([partial(make, name=each) for each in names])
    result.set_derivatives(*(derivatives.pop(0) if is_needed else None for _, is_needed in wanted))
    if needs_grad or needs_dual:
        session.fields_with_derivatives.add(result)
    for member, is_required in required.items():
        if is_required and extents is None:
            session.derivatives_to_place[member].add(result)
    return result  # type: ignore[no-any-return]


def add_dual(gradient: Any) -> Any:
    """Return the dual of a gradient, which has no other derivatives; it is made at the first request."""
    if gradient.dual is None:
        layout = Layout.SOA if gradient.parts and gradient.owner is None else Layout.AOS
        name = f"{gradient.name}.dual" if gradient.name else ""
        make = partial(_make, current("field"), gradient.element, gradient.shape, name=name, layout=layout)
        gradient.set_derivatives(None, make(offset=gradient.offset))
    return gradient.dual


def _make(
    session: Session,
    element: Type,
    shape: tuple[int, ...] | None,
    name: str,
    order: Sequence[int] = (),
    offset: tuple[int, ...] = (),
    layout: Layout = Layout.AOS,
) -> ScalarField | MatrixField | StructField:
    """Return a field; with a shape it has its own memory, which is a tree unless it is row-major."""
    if shape is not None and layout is Layout.SOA and steps_of(element):
        result: ScalarField | MatrixField | StructField = unplaced(element, name)
        _place_parts(result, shape, order, offset)
        return result
    if shape is not None and not order:
        result = _class_of(element)(session, element, shape, name)
        result.node = leaf_of(shape, result)
        result.offset = offset
        if offset:
            result._extent, result._is_mapped = -1, True
        result.parts, result.whole, result.dual = None, None, None
        return result
    result = unplaced(element, name)
    if shape is not None:
        place_in_order(result, shape, order, offset)
    return result


def _place_parts(
    field: ScalarField | MatrixField | StructField,
    shape: tuple[int, ...],
    order: Sequence[int],
    offset: tuple[int, ...],
) -> None:
    """Place the components or members of a field one after the other, each in its own array."""
    shared = own_cell() if prod(shape) * field.element.size_bytes <= MAX_SHARED_BYTES else None
    nodes = [[axis] for axis in order] or [[*range(len(shape))]]
    for step in steps_of(field.element):
        node = own_cell() if shared is None else shared
        for chosen in nodes if shape else ():
            node = node.dense(axes(*chosen), [shape[axis] for axis in chosen])
        node.place(field.part(step), offset=offset or None)


def unplaced(element: Type, name: str, kind: type[Any] | None = None) -> Any:
    """Return a field without shape and memory. kind: its class, without which the element decides."""
    chosen: Any = kind or _class_of(element)
    result = chosen.__new__(chosen)
    result.element, result.dtype, result.name = element, next(scalars_of(element)), name
    result.grad, result.dual, result.owner, result.path, result.signature = None, None, None, (), object()
    result.offset, result.parts, result.whole = (), {}, None
    return result


def _name_of_part(field: Any, step: Step) -> str:
    return name_step(field.name, field.element, step) if field.name else ""


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
                f"Every dimension of a Taichi field should be positive, got {extent} in dimension {axis}",
                "an extent is at least 1",
            )
    return extents


def _checked_offset(shape: tuple[int, ...] | None, offset: Any) -> tuple[int, ...]:
    """Return the first index along each axis, () if all are 0."""
    if offset is None or shape is None:
        return ()
    given = tuple(offset) if isinstance(offset, Sequence) else (offset,)
    if len(given) != len(shape):
        raise TaichiSyntaxError(
            f"The dimensionality of shape and offset must be the same ({len(shape)} != {len(given)})",
            "give one offset for each axis",
        )
    return offset_of(given, len(shape))


def _checked_order(shape: tuple[int, ...] | None, order: str | None) -> list[int]:
    """Return the axes from the slowest to the fastest, [] if that is their own order."""
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
        raise TaichiSyntaxError(
            f"Invalid axis in order '{order}'", f"name each of the first {len(shape)} axes from `i`"
        )
    return [] if axes_given == sorted(axes_given) else axes_given


def _refused(shape: Any) -> Exception:
    return TaichiRuntimeError(f"{shape!r} is not a shape for a field", "write an integer or a tuple of integers")
