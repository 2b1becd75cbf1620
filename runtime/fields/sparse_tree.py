"""The memory of a sparse tree: its cells, and auxiliary arrays that record which of them are active.

In: the nodes of a tree. Out: `SparseTree`, which owns a `Memory` for each part and each auxiliary array; for each field
a `CellMemory` with the interface of `Memory`. A store from Python activates; reads of inactive elements give zeros;
operations on whole fields affect active cells only, as in Taichi. Inactive memory is zero, so a tree, or the subtree of
a node, is emptied by zeroing it.

Capacity of a pool: twice as many cells as can be active, since a loop may free each and allocate it again, and some
that threads waste (`ir/sparse.py`), as far as there is memory. If memory takes no space before its first use (the
host's), the limit is that of the system; else it is `device_memory_GB` per tree, divided among its pools from the top
down.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any
from weakref import WeakSet

import numpy as np

from ...transpiler.errors import TaichiRuntimeError
from ...transpiler.ir.snodes import (
    Node,
    axes_of,
    cell_components,
    cell_size_bytes,
    chunks_of,
    index_components_of,
    is_sparse,
    memory_of,
    nodes_of,
    path_to,
    places_of,
    pool_above,
    pool_cell_bytes,
    shape_of,
)
from ...transpiler.ir.sparse_storage import (
    COUNTERS,
    FIRST_CELL,
    LIST_IS_FULL,
    MAX_WASTED_CELLS,
    SPARE,
    activate,
    activate_entry,
    all_cells,
    entries_per_cell,
    lists_per_cell,
    mask_words,
    pieces_of,
    pool_words,
    pools_below,
    row_major_type,
    sparse_below,
)
from ...transpiler.ir.types import Scalar, Tensor, i32, u8, u32
from ..arrays.memory import MAX_ITEMS, Array, Memory
from ..session.session import Session
from .auxiliary_array import AuxiliaryArray
from .sparse_field_memory import CellMemory

MIN_CELLS = 1
MAX_NUMBER = 2**62
MAX_WASTED_BYTES = 1 << 20
"""Upper bound of the memory of a pool for wasted cells."""


class SparseTree:
    """The memory of one sparse tree.

    Attributes:
        parts: the memory of the cells, by the node of their pool, or the top node.
        capacities: cells of each pool.
        arrays: auxiliary arrays of words by node and role; a pool's counters and cells are in one array, "pool".
        dependents: compiled kernels that hold addresses of it.
    """

    def __init__(self, session: Session, top: Node, owner: str, dependents: WeakSet[Any]) -> None:
        self.session, self.top, self._owner, self.dependents = session, top, owner, dependents
        self.mirrored = not session.device.host_memory
        for node in nodes_of(top):
            _check_count(node)
        self.pools = pools_below(top)
        self.capacities = _capacities(session, top)
        self.parts: dict[Node, Memory] = {}
        self.arrays: dict[tuple[Node, str], Memory] = {}
        for part in _parts(top):
            if part is top and not part.has_pool:
                self.parts[part] = self._allocate(max(1, cell_size_bytes(top)), shape_of(top) or (1,))
            else:
                self.parts[part] = self._allocate(max(1, pool_cell_bytes(part)), (self.cells_of(part),))
        for node in nodes_of(top):
            self._make_arrays(node)
        session.watch(self)

    def cells_of(self, part: Node) -> int:
        """Return how many cells the memory of a part has, including the reserved ones."""
        return self.capacities[part] + FIRST_CELL if part.has_pool else 1

    def _rows(self, node: Node) -> int:
        pool = pool_above(node)
        return 1 if pool is None else self.cells_of(pool)

    def _make_arrays(self, node: Node) -> None:
        rows = self._rows(node)
        if node.kind == "bitmasked":
            self._make(node, "mask", u32, rows * mask_words(node))
        if node.kind == "dynamic":
            self._make(node, "lengths", u32, rows * lists_per_cell(node))
        if node.has_pool:
            self._make(node, "numbers", u32, rows * entries_per_cell(node))
            self._make(node, "pool", u32, len(COUNTERS) + 2 * self.capacities[node])
            listed = self.capacities[node]
            if node.kind == "dynamic":
                listed = pieces_of(node) * (prod(shape_of(node.parent)) if node.parent is not None else 1)
            self._make(node, "list", row_major_type(node), listed)

    def _make_lists(self, node: Node) -> None:
        """Make what a loop that changes which cells of a node are active needs, unless it is there."""
        if (node, "ends") in self.arrays or (node, "list") in self.arrays and node.kind == "bitmasked":
            return
        if node.kind == "bitmasked":
            self._make(node, "pool", u32, len(COUNTERS))
            self._make(node, "list", row_major_type(node), self._rows(node) * entries_per_cell(node))
        else:
            self._make(node, "ends", i32, prod(shape_of(node.parent)) if node.parent is not None else 1)

    def _make(self, node: Node, role: str, element: Scalar, count: int) -> None:
        self.arrays[node, role] = Memory(self.session, element, (max(1, count),), self._owner, self._is_lazy)

    def _allocate(self, cell_bytes: int, shape: tuple[int, ...]) -> Memory:
        """Return memory for cells."""
        return Memory(self.session, Tensor((cell_bytes,), u8), shape, self._owner, self._is_lazy)

    @property
    def _is_lazy(self) -> bool:
        return self.session.device.lazy_memory

    # --- for compiled kernels

    def sparse_memory(self, node: Node, role: str) -> AuxiliaryArray:
        """Return the array of a node with a role (`ir/sparse.py`) for a compiled kernel."""
        if role in ("place", "words"):
            part = memory_of(node) if role == "place" else node
            return AuxiliaryArray(self, self.parts[part])
        if role == "ends" or (node.kind == "bitmasked" and role != "mask"):
            self._make_lists(node)
        if role in COUNTERS:
            return AuxiliaryArray(self, self.arrays[node, "pool"], 4 * COUNTERS.index(role))
        if role == "cells":
            capacity = self.capacities[node]
            return AuxiliaryArray(self, self.arrays[node, "pool"], 4 * len(COUNTERS), (2 * capacity,), capacity)
        memory = self.arrays[node, role]
        return AuxiliaryArray(self, memory, 0, memory.shape)

    # --- words, for `ir.sparse_storage`

    def capacity(self, pool: Node) -> int:
        """Return the capacity of a pool in cells."""
        return self.capacities[pool]

    def get(self, node: Node, role: str, position: Any = 0) -> Any:
        """Return a word, or the words at an array of positions."""
        memory, position = self._word(node, role, position)
        if isinstance(position, np.ndarray):
            return self._all(memory)[position].astype(np.int64)
        return int(_ready(memory, (position,))[position])

    def set(self, node: Node, role: str, value: int, position: int = 0) -> None:
        """Change a word."""
        memory, position = self._word(node, role, position)
        _ready(memory, (position,))[position] = value
        if memory.mirrored:
            memory.mark((position,))

    def _word(self, node: Node, role: str, position: Any) -> tuple[Memory, Any]:
        if role in COUNTERS:
            return self.arrays[node, "pool"], COUNTERS.index(role)
        if role == "cells":
            return self.arrays[node, "pool"], len(COUNTERS) + position
        return self.arrays[node, role], position

    def _all(self, memory: Memory) -> Array:
        """Return an array for reading."""
        if not self.mirrored:
            memory.refresh_lazily()
            return memory.view
        return memory.read_all()

    def words_of(self, node: Node, role: str) -> Array:
        """Return all words of an array for reading."""
        return self._all(self.arrays[node, role])

    # --- cells

    def activate(self, node: Node, index: Sequence[int]) -> int:
        """Activate a cell from Python. Raises: TaichiRuntimeError if the pool is full."""
        cell = activate(self, node, index)
        if cell == SPARE:
            self.check()
        return cell

    def check(self) -> None:
        """Raise the errors of earlier launches. Raises: TaichiRuntimeError for a pool or list that was full."""
        if self.is_freed:
            return
        for pool in self.pools:
            found = self.get(pool, "full")
            if found:
                self.set(pool, "full", 0)
                raise self._full(pool, found)

    def _full(self, pool: Node, found: int) -> TaichiRuntimeError:
        if found & LIST_IS_FULL:
            return TaichiRuntimeError(
                f"a list of `{describe(pool)}` was full: it takes {pool.extents[0]} items, and what was appended "
                "beyond is lost",
                "give the dynamic node a larger dimension",
            )
        what, size = ("chunks", pool.chunk) if pool.kind == "dynamic" else ("cells", 0)
        of = f" of {size} items" if size else ""
        remedy = (
            "use less memory elsewhere"
            if self.session.device.lazy_memory
            else "`ti.init(device_memory_GB=...)` makes it larger"
        )
        return TaichiRuntimeError(
            f"the pool of `{describe(pool)}` was full: it has room for {self.capacities[pool]:,} active {what}{of} of "
            f"{pool_cell_bytes(pool):,} bytes, and what was stored in others is lost. "
            "Cells that were active are as they were.",
            f"{remedy}, or deactivate cells that are not needed: other cells use their memory after that loop",
        )

    def deactivate_all(self, node: Node) -> None:
        """Deactivate all cells of the sparse nodes at and below `node`."""
        if not node.is_sparse:
            for child in node.children:
                self.deactivate_all(child)
            return
        inside = list(nodes_of(node))
        for inner in inside:  # before their pools forget how many cells were used
            for role in ("mask", "lengths", "numbers"):
                if (inner, role) in self.arrays:
                    self._zero_rows(inner, self.arrays[inner, role])
        for inner in inside:
            if inner.has_pool:
                self._empty_pool(inner)
        if node.kind == "bitmasked":
            self._zero_cells(node)

    def _used(self, pool: Node) -> int:
        """Return how many cells of a pool were ever in use."""
        return int(max(self.get(pool, "taken"), self.get(pool, "highest")))

    def _zero_rows(self, node: Node, memory: Memory) -> None:
        """Zero an array with a row for each cell of the pool above; of lazy memory only rows of used cells."""
        pool = pool_above(node)
        if self.mirrored or pool is None:
            memory.fill(np.array(0, np.uint32))
            return
        used = self._used(pool)
        memory.refresh_lazily()
        memory.view.reshape(self._rows(node), -1)[: used + FIRST_CELL] = 0

    def _empty_pool(self, pool: Node) -> None:
        """Zero the cells of a pool and mark all as free; of lazy memory only the used part is written."""
        part, words = self.parts[pool], self.arrays[pool, "pool"]
        if self.mirrored:
            part.fill(np.zeros(part.element.shape, np.uint8))  # type: ignore[union-attr]
            words.fill(np.array(0, np.uint32))
            return
        words.refresh_lazily()
        used = self._used(pool)
        part.refresh_lazily()
        part.view[: used + FIRST_CELL] = 0
        capacity, first = self.capacities[pool], len(COUNTERS)
        words.view[: first + used] = 0
        words.view[first + capacity : first + capacity + used] = 0

    def _zero_cells(self, node: Node) -> None:
        """Zero the fields in the cells of a bitmasked node that are stored in the same part as the node."""
        part = self.parts[memory_of(node)]
        if node is self.top:
            if self.mirrored:
                part.fill(np.zeros(part.element.shape, np.uint8))  # type: ignore[union-attr]
            else:
                part.refresh_lazily()
                part.view[...] = 0
            return
        for place in places_of(node):
            if memory_of(place) is memory_of(node):
                self.field_memory(place).zero_all()

    def field_memory(self, place: Node) -> CellMemory:
        """Return the memory of the field at a place node."""
        return CellMemory(self, place)

    def fill_holes(self, node: Node) -> None:
        """Activate the missing chunks of lists up to their lengths."""
        lists, chunks, outer = lists_per_cell(node), chunks_of(node), pool_above(node)
        cells = np.zeros(1, np.int64) if outer is None else self.active_cells(outer)[0]
        rows = (cells[:, None] * lists + np.arange(lists)).ravel()
        lengths = self.words_of(node, "lengths")[rows]
        numbers = self.words_of(node, "numbers").reshape(-1, chunks)[rows]
        starts = np.arange(chunks) * node.chunk
        for row, chunk in np.argwhere((starts < lengths[:, None]) & (numbers < FIRST_CELL)).tolist():
            if activate_entry(self, node, int(rows[row]) * chunks + chunk) == SPARE:
                self.check()

    def active_cells(self, pool: Node) -> tuple[Array, list[Array]]:
        """Return the numbers of the active cells of a pool, and their indices, an array per dimension.

        Cells of a dynamic node are chunks, whose index is that of their first item.
        """
        outer = pool_above(pool)
        components = cell_components(pool)
        extents = [component.extent for component in components]
        numbers = self._all(self.arrays[pool, "numbers"]).reshape(-1, *extents)
        if outer is not None:
            rows, above = self.active_cells(outer)
            numbers = numbers[rows]
        found = np.nonzero(numbers >= FIRST_CELL)
        index = [np.zeros(len(found[0]), np.int64) for _ in axes_of(pool)]
        if outer is not None:
            for dimension, axis in enumerate(axes_of(pool)):
                if axis in axes_of(outer):
                    position = axes_of(outer).index(axis)
                    ratio = shape_of(pool)[dimension] // shape_of(outer)[position]
                    index[dimension] += above[position][found[0]] * ratio
        for component, part in zip(components, found[1:], strict=True):
            index[component.dimension] += part * component.weight
        return numbers[found].astype(np.int64), index

    def all_memory(self) -> list[Memory]:
        """Return all memory that it consists of."""
        return [*self.parts.values(), *self.arrays.values()]

    def end(self) -> None:
        """Free all memory."""
        for memory in self.all_memory():
            memory.end()

    @property
    def size_bytes(self) -> int:
        """Bytes of all of it; on devices with lazy memory most of them may never be used."""
        return sum(memory.size_bytes for memory in self.all_memory())

    @property
    def is_freed(self) -> bool:
        """Whether the memory was freed."""
        return any(memory.is_freed for memory in self.parts.values())


def _ready(memory: Memory, index: tuple[int, ...]) -> Array:
    """Return the view of a memory, up to date at `index`."""
    if memory.epoch != memory.session.epoch:
        memory.refresh()
    if memory.partial:
        memory.load(index)
    return memory.view


def describe(node: Node) -> str:
    """Return a node as its `repr` shows it, with all above it."""
    return " => ".join(["ti.root", *(f"{above.kind} {list(shape_of(above))}" for above in path_to(node))])


def _parts(top: Node) -> list[Node]:
    """Return the top of a tree, unless it is a pool, and the pools of the tree, outer ones first."""
    return [*([] if top.has_pool else [top]), *pools_below(top)]


def _check_count(node: Node) -> None:
    """Check that cells can be numbered. Raises: TaichiRuntimeError if there are too many.

    Below a pool, cells are numbered as they come alive, so that only extents are limited; items of lists are counted.
    """
    if node.kind == "place" or not is_sparse(node):
        return
    shape, is_counted = shape_of(node), node.kind == "dynamic" or pool_above(node) is None
    if max(shape, default=0) > MAX_ITEMS or prod(shape) > (MAX_ITEMS if is_counted else MAX_NUMBER):
        most = f"at most {MAX_ITEMS} can be numbered" + ("" if is_counted else " along an axis")
        raise TaichiRuntimeError(
            f"`{describe(node)}` has {prod(shape)} cells, and {most}",
            "put more of them into the cells of a node below" if is_counted else "use smaller extents",
        )


def _capacities(session: Session, top: Node) -> dict[Node, int]:
    """Return the capacity of each pool of a tree in cells."""
    pools = pools_below(top)
    left = session.device.lazy_bytes() if session.device.lazy_memory else int(session.config.device_memory_GB * 2**30)
    found: dict[Node, int] = {}
    for position, pool in enumerate(pools):
        outer = pool_above(pool)
        most = all_cells(pool) if outer is None else min(all_cells(pool), found[outer] * entries_per_cell(pool))
        size = max(1, pool_cell_bytes(pool)) + 12 + 4 * sum(map(_auxiliary_words, sparse_below(pool)))
        numbered = MAX_ITEMS // _items_per_cell(pool) - FIRST_CELL
        wanted = 2 * most + min(MAX_WASTED_CELLS, MAX_WASTED_BYTES // size)
        found[pool] = max(MIN_CELLS, min(wanted, left // (len(pools) - position) // size, numbered))
        left -= found[pool] * size
    return found


def _auxiliary_words(node: Node) -> int:
    """Return how many auxiliary words a sparse node has for each cell of the pool above it."""
    found = mask_words(node) if node.kind == "bitmasked" else entries_per_cell(node)
    return found + (lists_per_cell(node) if node.kind == "dynamic" else 0)


def _items_per_cell(pool: Node) -> int:
    """Return how many items of a cell emitted source addresses by one number: elements of a field, or words."""
    own = [place for place in places_of(pool) if memory_of(place) is pool]
    auxiliary = [_auxiliary_words(node) for node in sparse_below(pool)]
    return max(
        1,
        pool_words(pool),
        *auxiliary,
        *(prod(component.extent for component in index_components_of(place)) for place in own),
    )
