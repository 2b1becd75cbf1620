"""The memory of SNode trees: allocated at the first use, accessed field by field, freed by `destroy`.

In: the nodes of a tree and the fields placed in it. Out: for each field a `PlacedMemory` with the interface of
`Memory`: NumPy views with the strides of the cells. A tree with one row-major field has a plain `Memory`.

Nothing here keeps a tree alive: its fields share the ownership of its memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakSet, ref

import numpy as np

from ...transpiler.errors import TaichiRuntimeError
from ...transpiler.ir.snodes import (
    IndexComponent,
    Node,
    cell_size_bytes,
    index_components_of,
    is_row_major,
    is_sparse_tree,
    places_of,
    position_of,
    shape_of,
    start_offset,
)
from ...transpiler.ir.types import Struct, Tensor, Type, element_of, u8
from ..arrays.dense_array import owner_name
from ..arrays.memory import STALE, Array, Memory, bytes_of, check_count, ended_error
from ..arrays.suballocation import SuballocatedMemory
from ..loading import loader
from ..session.allocation_handle import CLOSED
from ..session.session import Session
from .auxiliary_array import AuxiliaryArray

if TYPE_CHECKING:
    from .sparse_tree import SparseTree

    class _SparseModule(Protocol):
        @property
        def SparseTree(self) -> type[SparseTree]: ...  # noqa: N802

        def describe(self, node: Node) -> str: ...


_sparse: Callable[[], _SparseModule] = loader(".sparse_tree", __package__)

SHOWN_FIELDS = 3
"""Number of fields that describe a tree in errors."""


class Placeable(Protocol):
    """The part of a field that trees need."""

    name: str
    element: Type
    shape: tuple[int, ...]

    def take_memory(self, memory: Any) -> None:
        """Use `memory`, a `Memory` or a `PlacedMemory`, from now on."""

    def end(self) -> None:
        """Forget the memory, which is about to be freed."""


class Dependent(Protocol):
    """A compiled kernel, which holds the addresses of what it captured."""

    def invalidate(self) -> None:
        """Never run again."""


class TreeMemory:
    """One tree. top: its top node. is_destroyed: whether `destroy` has freed its memory."""

    __slots__ = ("__weakref__", "_fields", "_memory", "dependents", "is_destroyed", "session", "top")

    def __init__(self, session: Session, top: Node) -> None:
        self.session, self.top = session, top
        self.is_destroyed = False
        self.dependents: WeakSet[Dependent] = WeakSet()
        self._fields: list[Any] = []
        self._memory: Callable[[], Memory | SparseTree | None] | None = None
        session.register(self)

    @property
    def is_allocated(self) -> bool:
        """Whether it has, or has had, memory; then it takes no more nodes."""
        return self._memory is not None or self.is_destroyed

    @property
    def is_living(self) -> bool:
        """Whether it has memory now."""
        return self._memory is not None and self._memory() is not None and not self.is_destroyed

    @property
    def size_bytes(self) -> int:
        """Bytes of its memory, 0 while it has none."""
        memory = self._memory() if self._memory is not None else None
        return 0 if memory is None or memory.is_freed else memory.size_bytes

    def living_fields(self) -> list[Any]:
        """Return the fields that have memory here and are alive."""
        found = (weak() for weak in self._fields) if self._memory is not None else ()
        return [field for field in found if field is not None]

    def add(self, field: Placeable) -> None:
        """Add a field, which gets the memory of the next place node."""
        self._fields.append(field)

    def allocate(self) -> None:
        """Allocate zeroed memory, and assign each field its part.

        Raises: TaichiRuntimeError if the tree was destroyed, its session has ended, or there is not enough memory.
        """
        if self.is_destroyed:
            raise destroyed_error()
        if self.session.epoch == CLOSED:
            raise ended_error(self.session)
        if self._memory is not None:
            return
        if is_sparse_tree(self.top):
            tree = _sparse().SparseTree(self.session, self.top, self._owner(), self.dependents)
            self._assign(tree, {place: tree.field_memory(place) for place in places_of(self.top)})
            return
        places = list(places_of(self.top))
        limit = self.session.device.index_limit
        for place in places:
            check_count(shape_of(place), is_row_major=len(places) == 1 and is_row_major(place), limit=limit)
        if len(places) == 1 and is_row_major(places[0]):
            assert places[0].element is not None
            memory = Memory(self.session, places[0].element, shape_of(places[0]), self._owner())
            memories: dict[Node, Any] = {places[0]: memory}
        else:
            cell = Tensor((cell_size_bytes(self.top),), u8)
            memory = Memory(self.session, cell, shape_of(self.top) or (1,), self._owner())
            memories = {place: PlacedMemory(memory, place) for place in places}
        self._assign(memory, memories)

    def _assign(self, memory: Any, memories: Mapping[Node, Any]) -> None:
        """Assign each field its part of the memory."""
        self._memory = ref(memory)
        found, self._fields = self._fields, [ref(field) for field in self._fields]
        for field in found:
            field.take_memory(memories[field.node.node])

    def sparse_memory(self, node: Node, role: str) -> Any:
        """Return an auxiliary array of a sparse tree for a compiled kernel; see `SparseTree`."""
        return self.sparse().sparse_memory(node, role)

    def sparse(self) -> SparseTree:
        """Return the memory of a sparse tree. Raises: TaichiRuntimeError if none of the fields that own it is alive."""
        self.allocate()
        tree = self._memory() if self._memory is not None else None
        if not isinstance(tree, _sparse().SparseTree):
            raise TaichiRuntimeError(
                f"the fields below `{_sparse().describe(self.top)}` are gone, and its memory with them",
                "keep the fields as long as the nodes are used",
            )
        return tree

    def _owner(self) -> str:
        """Return the name of the tree in errors."""
        names = [owner_name("field", field.name, field.element, field.shape) for field in self._fields]
        shown = ", ".join(names[:SHOWN_FIELDS]) + (", ..." if len(names) > SHOWN_FIELDS else "")
        return f"a tree with {shown}"

    def destroy(self) -> None:
        """Free the memory now; kernels compiled with it never run again."""
        if self.session.epoch == CLOSED:  # the memory was freed with the session
            self.is_destroyed = True
            return
        self.session.sync()
        for dependent in list(self.dependents):
            dependent.invalidate()
        self.session.wait_for_other_threads()
        memory = self._memory() if self._memory is not None else None
        if memory is not None:
            for owned in memory.all_memory():
                owned.freed_error = destroyed_error
        with self.session.lock:  # a launch of another kernel may be writing this tree's mirrors back
            self.end()
        self.is_destroyed = True
        self.session.sync()

    def end(self) -> None:
        """Free the memory."""
        memory = self._memory() if self._memory is not None else None
        if memory is None:
            return
        for weak in self._fields:
            field = weak()
            if field is not None:
                field.end()
        memory.end()


class PlacedMemory(SuballocatedMemory):
    """The memory of one field of a tree, with the interface of `Memory`.

    view: strided, shape (*index components, *element shape). locate: returns the position in the view of an index
    counted from 0; None if they are the same. A mirror covers the whole tree; it counts as partial here, so that each
    access calls `load`.
    """

    __slots__ = ("_start", "_components", "_dtype", "_is_one_piece", "_strides", "epoch", "locate", "partial")

    def __init__(self, whole: Memory, place: Node) -> None:
        assert place.element is not None
        super().__init__(whole, place.element, shape_of(place))
        self.partial = whole.mirrored
        self._start = start_offset(place)
        self._dtype = self.element.numpy if isinstance(self.element, Struct) else element_of(self.element).numpy
        components = _view_components(place)
        order = sorted(range(len(components)), key=lambda k: components[k].dimension)
        self.locate = None if len(components) == len(self.shape) else self._locate
        self._components = tuple(components[k] for k in order)
        steps = [self._dtype.itemsize]
        if isinstance(self.element, Tensor):
            steps = [self._dtype.itemsize * step for step in _steps(self.element.shape)]
        self._strides = tuple(component.stride_bytes for component in self._components) + tuple(steps)
        self.view = self._seen_in(whole.view)
        self._is_one_piece = self.view.flags.c_contiguous
        self.epoch = STALE

    @property
    def is_scattered(self) -> bool:  # type: ignore[override]
        """As `Memory.is_scattered`."""
        return self.mirrored and not self._is_one_piece

    def refresh(self) -> None:
        """Bring the view up to date with the launches so far. Raises: as `Memory.refresh`."""
        super().refresh()
        if not self.mirrored:
            self.epoch = self.whole.epoch

    def read_all(self) -> Array:
        """Return the field as a new array, shape (*shape, *element shape)."""
        if not self.mirrored:
            self.refresh_lazily()
            return np.array(self.view, order="C").reshape(self._full_shape)
        if self._is_one_piece:
            result = np.empty(self._full_shape, self._dtype)
            self.whole.read_bytes(self._start, bytes_of(result))
            return result
        return np.array(self._seen_in(self.whole.read_all()), order="C").reshape(self._full_shape)

    def write_all(self, values: Array) -> None:
        """Set the whole field from an array of shape (*shape, *element shape), converting its number type."""
        self._write(np.asarray(values).reshape(self.view.shape))  # one axis per index component, as in the view

    def fill(self, value: Array) -> None:
        """Set every element to `value`, an array of the element's type and shape."""
        self._write(value)

    def end(self) -> None:
        """Empty the view; the tree frees the memory."""
        self.epoch = STALE
        self.view = np.empty((0,), self._dtype)

    @property
    def _full_shape(self) -> tuple[int, ...]:
        return self.shape + (self.element.shape if isinstance(self.element, Tensor) else ())

    def _write(self, values: Array) -> None:
        if not self.mirrored:
            self.refresh_lazily()
            np.copyto(self.view, values, casting="unsafe")
            return
        if self._is_one_piece:
            contiguous = np.ascontiguousarray(np.broadcast_to(values, self.view.shape), self._dtype)
            self.whole.write_bytes(self._start, bytes_of(contiguous))
            return
        whole = self.whole.read_all()
        np.copyto(self._seen_in(whole), values, casting="unsafe")
        self.whole.write_all(whole)

    def _seen_in(self, memory: Array) -> Array:
        """Return the field in the bytes of the tree."""
        tensor = self.element.shape if isinstance(self.element, Tensor) else ()
        shape = tuple(component.extent for component in self._components) + tensor
        view: Array = np.ndarray(shape, self._dtype, memory.data, self._start, self._strides[: len(shape)])
        return view

    def _locate(self, index: Sequence[int]) -> tuple[int, ...]:
        return position_of(self._components, index)

    def _bytes_at(self, position: Sequence[int]) -> tuple[int, int]:
        """Return the byte range of the element at a position in the memory of the tree."""
        parts = zip(self._components, position, strict=False)
        start = self._start + sum(component.stride_bytes * part for component, part in parts)
        return start, start + self.element.size_bytes


def depend_on_tree(field: Any, dependent: Dependent) -> None:
    """Register a compiled kernel that holds the address of a field's tree, if the field is in one."""
    if isinstance(field, AuxiliaryArray):
        field.tree.dependents.add(dependent)
        return
    node = getattr(field, "node", None)
    if node is not None and node.memory is not None:
        node.memory.dependents.add(dependent)


def _steps(shape: tuple[int, ...]) -> list[int]:
    """Return the strides of a tensor in scalars."""
    return [1] if len(shape) == 1 else [shape[1], 1]


def _view_components(place: Node) -> tuple[IndexComponent, ...]:
    """Return the index components, including one for each dimension of a single cell."""
    components = index_components_of(place)
    found = {component.dimension for component in components}
    single = [IndexComponent(d, 1, 1, 0) for d in range(len(shape_of(place))) if d not in found]
    return (*components, *single)


def destroyed_error() -> TaichiRuntimeError:
    """Return the error for a field whose tree was destroyed."""
    return TaichiRuntimeError(
        "this field was in a tree whose memory `destroy()` freed", "make a new field in a new `ti.FieldsBuilder()`"
    )
