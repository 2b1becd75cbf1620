"""The memory of one field of a sparse tree, of which only the active cells have values.

In: a `SparseTree` and the place node of a field. Out: `CellMemory`, with the interface of `Memory`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Protocol

import numpy as np

from ...transpiler.ir.snodes import (
    Node,
    axes_of,
    index_components_of,
    memory_of,
    pool_above,
    pool_cell_bytes,
    position_of,
    shape_of,
    sparse_above,
    start_offset,
)
from ...transpiler.ir.sparse_storage import FIRST_CELL, WordAccess, is_active, length_of, number_of, scaled
from ...transpiler.ir.types import Struct, Tensor, element_of
from ..arrays.memory import STALE, Array, Memory, bytes_of
from ..arrays.suballocation import SuballocatedMemory


class Tree(WordAccess, Protocol):
    """The part of `SparseTree` that it needs. parts: the memory of cells, by their node."""

    parts: dict[Node, Memory]

    def activate(self, node: Node, index: Sequence[int]) -> int:
        """Activate a cell."""

    def check(self) -> None:
        """Raise the errors of earlier launches."""

    def fill_holes(self, node: Node) -> None:
        """Activate the missing chunks of lists."""

    def active_cells(self, pool: Node) -> tuple[Array, list[Array]]:
        """Return the numbers of the active cells of a pool, and their indices."""


class CellMemory(SuballocatedMemory):
    """The memory of one field of a sparse tree, with the interface of `Memory`.

    view: strided, shape (cell of the pool, *index components, *element shape), with one cell if there is no pool.
    locate: returns the position in it of an index counted from 0; an element that is not active is zero there.
    locate_to_store: the same, after activating the cell.
    """

    partial = is_scattered = True
    epoch = STALE
    """So each access calls `refresh` and `load`, which forward to the memory of the cells."""

    __slots__ = ("_start", "_components", "_dtype", "_strides", "_tensor", "place", "pool", "tree")

    def __init__(self, tree: Tree, place: Node) -> None:
        assert place.element is not None
        super().__init__(tree.parts[memory_of(place)], place.element, shape_of(place))
        self.tree, self.place, self.pool = tree, place, pool_above(place)
        self._components, self._start = index_components_of(place), start_offset(place)
        self._dtype = self.element.numpy if isinstance(self.element, Struct) else element_of(self.element).numpy
        self._tensor = self.element.shape if isinstance(self.element, Tensor) else ()
        steps = [self._dtype.itemsize * prod(self._tensor[axis + 1 :]) for axis in range(len(self._tensor))]
        cell_bytes = 0 if self.pool is None else pool_cell_bytes(self.pool)
        self._strides = (cell_bytes, *(component.stride_bytes for component in self._components), *steps)
        self.view = self._seen_in(self.whole.view)

    # --- elements

    def locate(self, index: Sequence[int]) -> tuple[int, ...]:
        """Return the position of an element in the view; one that is not active is zero there."""
        own = position_of(self._components, index)
        if self.pool is None:
            return 0, *own
        self.tree.check()
        return (number_of(self.tree, self.pool, scaled(self.place, self.pool, index)), *own)

    def locate_to_store(self, index: Sequence[int]) -> tuple[int, ...]:
        """Activate the cell of an element; return its position. Raises: TaichiRuntimeError if the pool is full."""
        cell = self._activate(index)
        own = position_of(self._components, index)
        return 0 if self.pool is None else cell, *own

    def _activate(self, index: Sequence[int]) -> int:
        """Activate the cell of an element; return its number in its pool, 0 for a field outside sparse nodes."""
        above = sparse_above(self.place)
        return self.tree.activate(above[-1], scaled(self.place, above[-1], index)) if above else 0

    # --- whole fields

    def read_all(self) -> Array:
        """Return the field as a new array, shape (*shape, *element shape): zeros for inactive elements."""
        index, position, count = self._active()
        values = np.zeros((*self.shape, *self._tensor), self._dtype)
        values[index] = self._seen_in(self._read(count))[position]
        return values

    def write_all(self, values: Array) -> None:
        """Set the active elements from an array of shape (*shape, *element shape), converting its number type."""
        self._store(lambda index: np.asarray(values)[index])

    def fill(self, value: Array) -> None:
        """Set every active element to `value`, an array of the element's type and shape."""
        self._store(lambda index: value)

    def copy_from(self, other: Any) -> None:
        """Copy another memory of equal shape, converting its number type; this activates all cells, as in Taichi."""
        self._activate_all()
        self.write_all(other.read_all())

    def zero_all(self) -> None:
        """Zero all elements, active or not."""
        count = self._used_cells()
        memory = self._read(count)
        self._seen_in(memory)[...] = np.zeros((), self._dtype)
        self._write(memory)

    def end(self) -> None:
        """Empty the view; the tree frees the memory."""
        self.view = np.empty((0,), self._dtype)

    def _store(self, values: Callable[[Any], Any]) -> None:
        if self.pool is not None and self.pool.kind == "dynamic":
            self.tree.fill_holes(self.pool)
        index, position, count = self._active()
        memory = self._read(count)
        self._seen_in(memory)[position] = np.asarray(values(index)).astype(self._dtype, casting="unsafe", copy=False)
        self._write(memory)

    def _active(self) -> tuple[Any, Any, int]:
        """Return the indices of all active elements, their positions in the view, and how many cells the pool uses."""
        self.tree.check()
        count = 1
        if self.pool is None:
            index: list[Any] = [part.ravel() for part in np.indices(self.shape)]
            position: list[Any] = [np.zeros(prod(self.shape), np.int64), *position_of(self._components, index)]
        else:
            numbers, origin = self.tree.active_cells(self.pool)
            count = int(numbers.max(initial=FIRST_CELL - 1)) + 1
            inside = [part.ravel() for part in np.indices([component.extent for component in self._components])]
            position = [np.repeat(numbers, inside[0].size if inside else 1)]
            position += [np.tile(part, numbers.size) for part in inside]
            index = [np.repeat(first, inside[0].size if inside else 1) for first in self._scaled_up(origin)]
            for component, part in zip(self._components, position[1:], strict=True):
                index[component.dimension] += part * component.weight
        above = sparse_above(self.place)
        if above and (above[-1] is not self.pool or self.pool.kind == "dynamic"):
            keep = self._are_active(above[-1], index)
            index, position = [part[keep] for part in index], [part[keep] for part in position]
        return tuple(index), tuple(position), count

    def active_elements(self) -> tuple[tuple[Array, ...], Array]:
        """Return the indices of all active elements, an array per dimension, and the elements."""
        index, position, _ = self._active()
        return index, self.view[position]

    def _activate_all(self) -> None:
        above = sparse_above(self.place)
        if above:
            index = [part.ravel() for part in np.indices(self.shape)]
            cells = np.stack(scaled(self.place, above[-1], index))[:, ~self._are_active(above[-1], index)]
            for cell in np.unique(cells, axis=1).T.tolist():
                self.tree.activate(above[-1], cell)

    def _scaled_up(self, origin: list[Array]) -> list[Array]:
        """Return the indices of the first elements of cells of the pool."""
        assert self.pool is not None
        above, count = axes_of(self.pool), origin[0].size if origin else 1
        indices = []
        for dimension, axis in enumerate(axes_of(self.place)):
            if axis not in above:
                indices.append(np.zeros(count, np.int64))
                continue
            position = above.index(axis)
            indices.append(origin[position] * (self.shape[dimension] // shape_of(self.pool)[position]))
        return indices

    def _are_active(self, lowest: Node, index: list[Array]) -> Array:
        """Return whether each element is active, for arrays of indices."""
        own = scaled(self.place, lowest, index)
        if lowest.kind != "dynamic":
            return np.asarray(is_active(self.tree, lowest, own))  # arrays all through
        axis = axes_of(lowest).index(lowest.axes[0])
        item = own[axis]
        above = [] if lowest.parent is None else scaled(lowest, lowest.parent, own)
        if lowest.parent is not None and lowest.axes[0] in axes_of(lowest.parent):
            item = item % lowest.extents[0]
        return np.asarray(item < length_of(self.tree, lowest, above))

    def _used_cells(self) -> int:
        if self.pool is None:
            return self.whole.shape[0]
        return int(self.tree.active_cells(self.pool)[0].max(initial=FIRST_CELL - 1)) + 1

    def _read(self, count: int) -> Array:
        """Return the bytes of the first `count` cells of the pool, or of the whole if there is no pool."""
        if not self.mirrored:
            self.whole.refresh_lazily()
            return self.whole.view
        cells = np.empty(
            (count if self.pool is not None else self.whole.shape[0], *self.whole.view.shape[1:]), np.uint8
        )
        self.whole.read_bytes(0, bytes_of(cells))
        return cells

    def _write(self, memory: Array) -> None:
        if self.mirrored:
            self.whole.write_bytes(0, bytes_of(memory))

    def _seen_in(self, memory: Array) -> Array:
        """Return the view of the field over the bytes of all cells, or of the first ones."""
        cells = 1 if self.pool is None else memory.shape[0]
        shape = (cells, *(component.extent for component in self._components), *self._tensor)
        view: Array = np.ndarray(shape, self._dtype, memory.data, self._start, self._strides)
        return view

    def _bytes_at(self, position: Sequence[int]) -> tuple[int, int]:
        """Return the byte range of the element at a position in the memory of the cells."""
        start = self._start + sum(stride * part for stride, part in zip(self._strides, position, strict=False))
        return start, start + self.element.size_bytes
