"""The contents of copies of a kernel's memory, as arrays with Python indices: its arrays and results.

In: a `Recording` and the bytes after a run. Out: `Values`, one for each array, or for each member of an array of
structs. An array in a tree is shown by the user's indices wherever its cells lie; of a sparse tree the active elements
count, whichever cells of the pools they were given.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ....transpiler.backend.module.interface import ArrayBinding, Interface, TreeAddress
from ....transpiler.ir.snodes import Node, index_components_of, places_of, shape_of, start_offset, top_of
from ....transpiler.ir.types import NUMPY, SCALAR_OF_NUMPY, Struct, Tensor, Type, element_of
from ...arrays.foreign import dense_strides
from ...arrays.memory import STALE, Array
from ...fields.auxiliary_array import AuxiliaryArray
from ...fields.sparse_field_memory import CellMemory
from ...fields.sparse_tree import SparseTree
from ...launch.printing import Reports
from .replicas import Recording, Region
from .values import RESULT, Values

if TYPE_CHECKING:
    from ....transpiler.backend.module.interface import ResultField

PRINTS, FAILURES = "prints", "failed checks"


@dataclass(eq=False, slots=True)
class Located:
    """One array of the kernel in a region. strides: [bytes] of `extents`, the components of an index; those of one
    dimension are adjacent. begin_bytes: of its first element. owner: the field or argument."""

    slot: ArrayBinding
    region: Region
    dtype: np.dtype[Any]
    begin_bytes: int
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    shape: tuple[int, ...]
    element_shape: tuple[int, ...]
    owner: Any = None

    def seen_in(self, contents: Array) -> Array:
        """Return the array in bytes of its region: a view of shape (*extents, *element shape)."""
        full = (*self.extents, *self.element_shape)
        if 0 in full:
            return np.empty(full, self.dtype)
        view: Array = np.ndarray(full, self.dtype, contents.data, self.begin_bytes, self._full_strides)
        return view

    def values(self, contents: Array) -> Iterator[Values]:
        """Yield the numbers by member."""
        whole = self.seen_in(contents).reshape((*self.shape, *self.element_shape))
        yield from members_of(Values(self.slot.name, whole, self.shape, "", self.slot.offset, self.slot.written))

    def mark(self, covered: Array) -> None:
        """Mark the bytes of elements in an array with a byte for each of the region's."""
        full = (*self.extents, *self.element_shape)
        if 0 in full:
            return
        size = self.dtype.itemsize
        view: Array = np.ndarray((*full, size), np.uint8, covered.data, self.begin_bytes, (*self._full_strides, 1))
        view[...] = 1

    @property
    def _full_strides(self) -> tuple[int, ...]:
        inner = dense_strides(self.element_shape, self.dtype.itemsize)
        return (*self.strides, *inner)

    @property
    def item_bytes(self) -> int:
        """Bytes of an element."""
        return prod(self.element_shape) * self.dtype.itemsize


def members_of(values: Values) -> Iterator[Values]:
    """Yield numbers as they are, those of structs member by member; truth values as bytes."""
    names = values.array.dtype.names
    for name in names or ():
        yield from members_of(replace(values, array=values.array[name], suffix=f"{values.suffix}.{name}"))
    if names is None:
        scalar = SCALAR_OF_NUMPY[values.array.dtype]
        array = values.array.view(np.uint8) if values.array.dtype == np.bool_ else values.array
        yield replace(values, array=array, type=scalar.name)


class Outputs:
    """The locations of the arrays of one recorded call. located: of all except those in sparse trees, `trees`."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.located: list[Located] = []
        self.trees: list[SparseTree] = []
        self._fields: dict[Any, tuple[str, bool]] = {}
        self.interface = recording.launchable.generated.interface
        pointers = {pointer.slot: pointer for pointer in recording.pointers}
        for number, (slot, owner) in enumerate(zip(self.interface.arrays, recording.owners, strict=True)):
            tree = tree_of(owner)
            if tree is not None:
                self._note_tree(tree, slot, owner)
                continue
            pointer = pointers.get(number if slot.place is None else slot.place.slot)
            if pointer is not None:
                self.located.append(self._locate(number, slot, owner, pointer.address, pointer.region))
        self.located += self._auxiliary_arrays()
        self.sparse_regions = self._regions_of_trees()
        report = next((region for region in recording.regions if region.role == "report"), None)
        self._report = report
        self._reports = None
        if report is not None:
            launchable = recording.launchable
            self._reports = Reports(launchable.session, launchable.generated, bytearray(recording.packed))

    def values(self, contents: dict[Region, Array]) -> dict[str, Values]:
        """Return all numbers by label: of arrays, of sparse fields, of results."""
        return labelled(self._all(contents))

    def _all(self, contents: dict[Region, Array]) -> Iterator[Values]:
        for located in self.located:
            yield from located.values(contents[located.region])
        for tree in self.trees:
            yield from self._sparse_values(tree, contents)
        yield from results(self.interface, contents)

    def texts(self, contents: dict[Region, Array]) -> dict[str, str]:
        """Return what a run printed, and how many of its checks failed."""
        if self._report is None or self._reports is None:
            return {}
        printed, failed = self._reports.read(contents[self._report].tobytes())
        return {PRINTS: printed, FAILURES: str(failed)}

    def only_written(self, region: Region) -> list[Located]:
        """Return the arrays in a region that the kernel writes and does not read, and that share memory with none."""
        here = [located for located in self.located if located.region is region]
        if region in self.sparse_regions or (len(here) > 1 and any(located.slot.place is None for located in here)):
            return []
        return [located for located in here if located.slot.written and not located.slot.read]

    def poisoned(self, region: Region, contents: Array, pattern: int) -> Array:
        """Return contents in which arrays that are only written have the pattern.

        So an element that only one source writes differs, even if the right value was there before.
        """
        chosen = self.only_written(region)
        if not chosen:
            return contents
        changed: Array = contents.copy()
        mask = np.zeros(region.size_bytes, np.uint8)
        for located in chosen:
            located.mark(mask)
        np.putmask(changed, mask != 0, pattern)
        return changed

    def covered(self, region: Region) -> Array:
        """Return which bytes of a region belong to an array of the kernel."""
        mask = np.zeros(region.size_bytes, np.uint8)
        for located in self.located:
            if located.region is region:
                located.mark(mask)
        covered: Array = mask != 0
        return covered

    # --- locations of arrays

    def _locate(self, number: int, slot: ArrayBinding, owner: Any, address: int, region: Region) -> Located:
        element = self._element(slot, owner)
        dtype = element.numpy if isinstance(element, Struct) else element_of(element).numpy
        size = prod(slot.element_shape) * dtype.itemsize
        begin = address - region.begin
        if slot.place is not None:
            extents, strides, shape = parts_of_index(slot.place, self._shape(slot, owner))
            begin += slot.place.begin_bytes
            return Located(slot, region, dtype, begin, extents, strides, shape, slot.element_shape, owner)
        shape, values = self._shape(slot, owner), self.recording.values
        steps = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
        if self.interface.takes_strides(number):
            steps = [values["stride", number, axis] for axis in range(len(shape))]
        begin += values.get(("begin", number), 0) * size
        strides = tuple(step * size for step in steps)
        return Located(slot, region, dtype, begin, shape, strides, shape, slot.element_shape, owner)

    def _auxiliary_arrays(self) -> list[Located]:
        """Return the fields that share a tree with those of the kernel, which it must not change."""
        found: list[Located] = []
        placed = [located for located in self.located if located.slot.place is not None]
        seen = {id(located.owner.describe_node()) for located in placed}
        for located in placed:
            assert located.slot.place is not None
            begin = located.begin_bytes - located.slot.place.begin_bytes
            for number, place in enumerate(places_of(top_of(located.owner.describe_node()))):
                if id(place) not in seen:
                    seen.add(id(place))
                    name = place.name or f"field {number} of the tree"
                    found.append(_neighbour(place, name, located.region, begin))
        return found

    def _element(self, slot: ArrayBinding, owner: Any) -> Type:
        if slot.parameter is not None:
            argument: Any = self.recording.launchable.specialization.arguments[slot.parameter]
            if hasattr(argument, "element"):
                element: Type = argument.element
                return element
        return owner.element  # type: ignore[no-any-return]

    def _shape(self, slot: ArrayBinding, owner: Any) -> tuple[int, ...]:
        shape = tuple(int(extent) for extent in (slot.shape if slot.shape is not None else owner.shape))
        return shape[: slot.ndim]

    # --- sparse trees

    def _note_tree(self, tree: SparseTree, slot: ArrayBinding, owner: Any) -> None:
        if tree not in self.trees:
            self.trees.append(tree)
        if not isinstance(owner, AuxiliaryArray):
            self._fields[owner.memory.place] = slot.name, slot.written

    def _regions_of_trees(self) -> set[Region]:
        handles = {memory.handle for tree in self.trees for memory in tree.all_memory()}
        return {region for region in self.recording.regions if region.handle in handles}

    def _sparse_values(self, tree: SparseTree, contents: dict[Region, Array]) -> Iterator[Values]:
        """Yield the fields of a sparse tree as they were after a run."""
        seen = _as_left(tree, contents)
        for number, place in enumerate(places_of(tree.top)):
            name, _ = self._fields.get(place, (place.name or f"field {number} of the tree", True))
            index, array = CellMemory(seen, place).active_elements()
            shape = shape_of(place)
            keys = np.ravel_multi_index(index, shape) if shape else np.zeros(len(array), np.int64)
            order = np.argsort(keys, kind="stable")
            yield from members_of(Values(name, array[order], shape, keys=keys[order]))


def tree_of(owner: Any) -> SparseTree | None:
    """Return the sparse tree of an array of a kernel, None if it is in none."""
    holder = owner if isinstance(owner, AuxiliaryArray) else getattr(owner, "memory", None)
    tree = getattr(holder, "tree", None)
    return tree if isinstance(tree, SparseTree) else None


def parts_of_index(
    place: TreeAddress, shape: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Return extents and strides of the parts of an index, in the order of the user's dimensions, and the shape."""
    found: list[tuple[int, int]] = []
    for dimension in range(len(shape)):
        own = [(extent, stride) for d, extent, _, stride in place.digits if d == dimension]
        found += own or [(1, 0)]
    return tuple(extent for extent, _ in found), tuple(stride for _, stride in found), shape


def _neighbour(node: Node, name: str, region: Region, begin: int) -> Located:
    """Return the location of a field of a tree that the kernel does not use. begin: of the tree in its region."""
    element = node.element
    assert element is not None
    shape = shape_of(node)
    place = TreeAddress(-1, start_offset(node), tuple(tuple(component) for component in index_components_of(node)))
    inner = element.shape if isinstance(element, Tensor) else ()
    dtype = element.numpy if isinstance(element, Struct) else element_of(element).numpy
    slot = ArrayBinding(name, str(element), inner, len(shape), shape, None, True, False, (), place)
    extents, strides, _ = parts_of_index(place, shape)
    return Located(slot, region, dtype, begin + place.begin_bytes, extents, strides, shape, inner)


def labelled(numbers: Iterable[Values]) -> dict[str, Values]:
    """Return numbers by label; labels that occur again get a number."""
    found: dict[str, Values] = {}
    for values in numbers:
        label, count = values.label, 2
        while label in found:
            label, count = f"{values.label} ({count})", count + 1
        found[label] = values
    return found


def results(interface: Interface, contents: dict[Region, Array]) -> Iterator[Values]:
    """Yield what the kernel returned."""
    result = next((region for region in contents if region.role == "result"), None)
    for number, place in enumerate(interface.results if result is not None else ()):
        assert result is not None
        name = f"{RESULT}[{number}]" if len(interface.results) > 1 else RESULT
        yield from _results(place, name, "", contents[result])


def _results(place: ResultField, name: str, suffix: str, contents: Array) -> Iterator[Values]:
    for member, inner in place.members:
        yield from _results(inner, name, f"{suffix}.{member}", contents)
    if place.type in NUMPY:
        view: Array = np.ndarray(place.shape, NUMPY[place.type], contents.data, place.offset_bytes)
        yield from members_of(Values(name, view.reshape((1, *place.shape)), (1,), suffix))


# --- a sparse tree in copies of its memory


@dataclass(eq=False, slots=True)
class _Seen:
    """A copy of one `Memory` of a sparse tree, as `SparseTree` and `CellMemory` use it."""

    session: Any
    element: Type
    shape: tuple[int, ...]
    view: Array
    epoch: int = STALE
    mirrored: bool = False
    partial: bool = False
    is_freed: bool = False

    def refresh(self) -> None:
        """Do nothing: a copy does not change."""

    refresh_lazily = refresh


def _as_left(tree: SparseTree, contents: dict[Region, Array]) -> SparseTree:
    """Return the tree as it was after a run, for reading."""
    by_handle = {region.handle: data for region, data in contents.items() if region.handle is not None}
    seen = copy.copy(tree)  # shares the nodes, is in no list of a session and owns nothing
    seen.mirrored = False
    seen.parts = {node: _seen(memory, by_handle) for node, memory in tree.parts.items()}
    seen.arrays = {key: _seen(memory, by_handle) for key, memory in tree.arrays.items()}
    return seen


def _seen(memory: Any, by_handle: dict[Any, Array]) -> Any:
    data = by_handle.get(memory.handle)
    if data is None:  # the launch does not reach it
        memory.refresh_lazily()
        view = memory.view if not memory.mirrored else memory.read_all()
    else:
        scalar = element_of(memory.element).numpy
        tensor = memory.element.shape if isinstance(memory.element, Tensor) else ()
        view = np.ndarray((*memory.shape, *tensor), scalar, data.data)
    return _Seen(memory.session, memory.element, memory.shape, view)
