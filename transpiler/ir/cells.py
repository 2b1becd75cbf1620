"""What the statements on cells of sparse nodes mean, in Python: for the interpreter, and for access from Python scope.

The same as the functions of `templates/*/lib/sparse.*` and those that `backend/layout/sparse_functions.py` writes, one
thread at a time. In: a node, the index of a cell counted from 0, and the words of the auxiliary arrays. Out: numbers of
cells of pools; the words, changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from .snodes import IndexComponent, Node, axes_of, cell_components, chunks_of, pool_above, shape_of, sparse_above
from .sparse import FIRST_CELL, LIST_IS_FULL, POOL_IS_FULL, SPARE, entries_per_cell, lists_per_cell, mask_words


class Words(Protocol):
    """The auxiliary arrays of a tree, by node and role (`ir/sparse.py`)."""

    def get(self, node: Node, role: str, place: int = 0) -> int:
        """Return a word."""

    def set(self, node: Node, role: str, value: int, place: int = 0) -> None:
        """Change a word."""

    def capacity(self, pool: Node) -> int:
        """Return how many cells a pool has."""


def scaled(node: Node, above: Node, index: Sequence[Any]) -> list[Any]:
    """Return the index of the cell of `above` in which a cell of `node` lies; of arrays of indices, arrays."""
    shape, axes = shape_of(node), axes_of(node)
    indices = []
    for axis, extent in zip(axes_of(above), shape_of(above), strict=True):
        dimension = axes.index(axis)
        indices.append(index[dimension] // (shape[dimension] // extent))
    return indices


def cell_above(words: Words, node: Node, counted: Node, index: Sequence[int]) -> int:
    """Return the cell of the pool that something of `node` is in, 0 without a pool. index: as `counted` counts it."""
    pool = pool_above(node)
    return 0 if pool is None else number_of(words, pool, scaled(counted, pool, index))


def number_of(words: Words, node: Node, index: Sequence[int]) -> int:
    """Return which cell of its pool a cell of a node has, less than `FIRST_CELL` where it is not active."""
    return words.get(node, "numbers", _entry(node, index, cell_above(words, node, node, index)))


def is_active(words: Words, node: Node, index: Sequence[int]) -> bool:
    """Return whether a cell of a pointer or bitmasked node is active."""
    if node.kind == "pointer":
        return number_of(words, node, index) >= FIRST_CELL
    word, bit = _bit(node, index, cell_above(words, node, node, index))
    return (words.get(node, "mask", word) & bit) != 0


def activate(words: Words, node: Node, index: Sequence[int]) -> int:
    """Make a cell active, with all above it that it is in; return the cell of the pool that it is, or is in."""
    cell = 0
    outer = sparse_above(node)[:-1]
    if outer:
        cell = activate(words, outer[-1], scaled(node, outer[-1], index))
        if cell == SPARE:
            return SPARE
    if node.kind == "bitmasked":
        word, bit = _bit(node, index, cell)
        words.set(node, "mask", words.get(node, "mask", word) | bit, word)
        return cell
    if node.kind == "dynamic":
        list_number = _linear(cell_components(node)[:-1], index, cell, lists_per_cell(node))
        item = index[axes_of(node).index(node.axes[0])] % node.extents[0]
        words.set(node, "lengths", max(words.get(node, "lengths", list_number), item + 1), list_number)
    return activate_entry(words, node, _entry(node, index, cell))


def activate_entry(words: Words, node: Node, entry: int) -> int:
    """Take a cell of the pool for a position of the numbers, where none is yet; return which it has."""
    number = words.get(node, "numbers", entry)
    if number < FIRST_CELL:
        number = _take(words, node)
        if number != SPARE:
            words.set(node, "numbers", number, entry)
    return number


def append(words: Words, node: Node, index: Sequence[int]) -> int:
    """Make a list longer; return the place of the item, -1 where it is full. index: of the cell of the node above."""
    cell = 0
    outer = sparse_above(node)[:-1]
    if outer:
        assert node.parent is not None
        cell = activate(words, outer[-1], scaled(node.parent, outer[-1], index))
        if cell == SPARE:
            return -1
    list_number = row_of(node, index, cell)
    length = words.get(node, "lengths", list_number)
    if length >= node.extents[0]:
        words.set(node, "full", words.get(node, "full") | LIST_IS_FULL)
        return -1
    words.set(node, "lengths", length + 1, list_number)
    return length


def length_of(words: Words, node: Node, index: Sequence[int]) -> int:
    """Return how many items a list has. index: of the cell of the node above."""
    cell = 0 if node.parent is None else cell_above(words, node, node.parent, index)
    return words.get(node, "lengths", row_of(node, index, cell))


def deactivate(words: Words, node: Node, index: Sequence[int]) -> bool:
    """Make a cell, or a list, inactive; what it held is emptied by others. Return whether it was active."""
    counted = node.parent if node.kind == "dynamic" else node
    cell = 0 if counted is None else cell_above(words, node, counted, index)
    if node.kind == "bitmasked":
        word, bit = _bit(node, index, cell)
        old = words.get(node, "mask", word)
        words.set(node, "mask", old & ~bit, word)
        return bool(old & bit)
    if node.kind == "pointer":
        return deactivate_entry(words, node, _entry(node, index, cell))
    list_number = row_of(node, index, cell)
    words.set(node, "lengths", 0, list_number)
    chunks = range(list_number * chunks_of(node), (list_number + 1) * chunks_of(node))
    return sum(deactivate_entry(words, node, entry) for entry in chunks) > 0


def deactivate_entry(words: Words, node: Node, entry: int) -> bool:
    """Remove the cell at a position of the numbers; return whether there was one."""
    number = words.get(node, "numbers", entry)
    if number < FIRST_CELL:
        return False
    words.set(node, "numbers", 0, entry)
    freed = words.get(node, "freed")
    words.set(node, "cells", number, words.capacity(node) + freed)
    words.set(node, "freed", freed + 1)
    return True


def row_of(node: Node, index: Sequence[int], cell: int) -> int:
    """Return the number of a list. index: of the cell of the node above."""
    if node.parent is None:
        return 0
    (own,) = node.axes
    above = dict(zip(axes_of(node.parent), index, strict=True))
    full = [above.get(axis, 0) * (node.extents[0] if axis == own else 1) for axis in axes_of(node)]
    return _linear(cell_components(node)[:-1], full, cell, lists_per_cell(node))


def _take(words: Words, pool: Node) -> int:
    taken = words.get(pool, "taken")
    if taken >= words.capacity(pool):
        words.set(pool, "full", words.get(pool, "full") | POOL_IS_FULL)
        return SPARE
    words.set(pool, "taken", taken + 1)
    return words.get(pool, "cells", taken) or FIRST_CELL + taken


def _entry(node: Node, index: Sequence[int], cell: int) -> int:
    return _linear(cell_components(node), index, cell, entries_per_cell(node))


def _bit(node: Node, index: Sequence[int], cell: int) -> tuple[int, int]:
    """Return the word of a cell in the mask, and its bit in it."""
    own = _linear(cell_components(node), index, 0, 0)
    return cell * mask_words(node) + own // 32, 1 << own % 32


def _linear(components: Sequence[IndexComponent], index: Sequence[int], cell: int, per_cell: int) -> int:
    """Return a number among those that `components` give. per_cell: how many there are in one cell of the pool above."""
    number = cell * per_cell
    weight = 1
    for component in reversed(components):
        number += index[component.dimension] // component.weight % component.extent * weight
        weight *= component.extent
    return number
