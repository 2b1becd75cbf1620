"""The auxiliary arrays of sparse nodes, which record the active cells, and what each statement on cells does to them.

The auxiliary arrays of a sparse tree are stored separately from its cells and are no fields of Python; a kernel has
them as `Array`s with a role. For each node (p: number of the pool cell that contains the node's cells, 0 if none):

    pointer    numbers[p * cells + cell]: number of its pool cell; 0: not active; 1: a thread is activating it. Cells 0
               and 1 of a pool are always zero and are never written, so that reading needs no check
    bitmasked  mask[p * words + cell / 32]: one bit per cell, rows of whole words
    dynamic    lengths[p * lists + list], and numbers[(p * lists + list) * chunks + item / chunk]
    a pool     counters `taken`, `freed`, `highest`, `listed`, `full`, followed by `cells`: a stack of the numbers that
               can be allocated, and from its capacity on those that were freed (templates/*/lib/sparse.*); `list`: the
               cells that a loop runs over; `words`: the memory of the pool's cells as words

For a loop that changes which cells are active, bitmasked nodes have a `pool` of counters and a `list` too, and dynamic
nodes `ends`: the length of each list before the loop.

Cell 2 of a pool takes the stores when the pool is full: a failed activation returns it, and no entry refers to it.

The functions from `WordAccess` on are the reference semantics of the statements on cells, for the interpreter and for
access from Python scope. They do the same as those of `templates/*/lib/sparse.*` and
`backend/layout/sparse_functions.py`, one thread at a time. Input: a node, the index of a cell from 0, and the auxiliary
arrays, which they change. Output: numbers of cells of pools.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Protocol

from .snodes import (
    IndexComponent,
    Node,
    axes_of,
    cell_components,
    chunks_of,
    index_components_of,
    pool_above,
    pool_cell_bytes,
    shape_of,
    sparse_above,
)
from .types import Scalar, i32, i64, u8, u16, u32

ACTIVATING, SPARE, FIRST_CELL = 1, 2, 3
"""Reserved numbers of pool cells, and the first that is allocated: see above, and templates/*/lib/sparse.*."""
COUNTERS = ("taken", "freed", "highest", "listed", "full")
"""Counters at the start of a pool, one word each."""
PIECE = 32
"""Items of a dynamic list that one entry of a loop's list represents: one warp."""
MAX_WASTED_CELLS = 1024
"""Pool cells that threads may allocate and not use in one loop: if a thread is suspended while it activates a cell,
others take over. They free the cells that they do not need, which can be allocated again only after the loop."""
POOL_IS_FULL, LIST_IS_FULL = 1, 2
"""Bits of `full`."""


def number_type(node: Node) -> Scalar | None:
    """Return the type of the value of `Activate`: None if cells of `node` are in no pool."""
    return u32 if node.has_pool or pool_above(node) is not None else None


def row_major_type(node: Node) -> Scalar:
    """Return the type of row-major numbers of cells, active or not."""
    return i32 if prod(shape_of(node)) < 2**31 else i64


def entries_per_cell(node: Node) -> int:
    """Return how many cells of `node` (chunks, if dynamic) are in one cell of the pool above, or in total."""
    return prod(component.extent for component in cell_components(node))


def lists_per_cell(node: Node) -> int:
    """Return how many lists of a dynamic node are in one cell of the pool above, or in total."""
    return prod(component.extent for component in cell_components(node)[:-1])


def mask_words(node: Node) -> int:
    """Return the number of mask words of a bitmasked node in one cell of the pool above, or in total."""
    return -(-entries_per_cell(node) // 32)


def all_cells(node: Node) -> int:
    """Return the number of cells of a pool if all are active."""
    if node.kind == "dynamic":
        lists = prod(shape_of(node.parent)) if node.parent is not None else 1
        return lists * -(-node.extents[0] // node.chunk)
    return prod(shape_of(node))


def max_cells(pool: Node) -> int:
    """Return the maximum capacity of a pool, reserved numbers included: a loop may free and allocate every cell."""
    return 2 * all_cells(pool) + MAX_WASTED_CELLS + FIRST_CELL


def pieces_of(node: Node) -> int:
    """Return the maximum number of pieces of `PIECE` items in a list of a dynamic node."""
    return -(-node.extents[0] // PIECE)


def word_of(node: Node) -> Scalar:
    """Return the type of the words by which a pool cell is cleared: the widest whose size divides that of the cell."""
    size = pool_cell_bytes(node)
    return u32 if size % 4 == 0 else u16 if size % 2 == 0 else u8


def needed_indices(leaf: Node) -> list[int]:
    """Return the dimensions of an index that select an element within a known cell of the pool."""
    return sorted({component.dimension for component in index_components_of(leaf)})


def sparse_below(node: Node) -> list[Node]:
    """Return the sparse nodes below `node` that are in the same pool as its cells."""
    nodes: list[Node] = []
    for child in node.children:
        if child.is_sparse:
            nodes.append(child)
        if not child.has_pool:
            nodes += sparse_below(child)
    return nodes


def pools_below(node: Node) -> list[Node]:
    """Return the nodes with a pool at and below `node`, each before those inside its cells."""
    pools = [node] if node.has_pool else []
    for child in node.children:
        pools += pools_below(child)
    return pools


def pool_words(pool: Node) -> int:
    """Return how many words, of type `word_of`, a cell of a pool has."""
    return pool_cell_bytes(pool) // word_of(pool).size_bytes


class WordAccess(Protocol):
    """Access to the 32-bit words of the auxiliary arrays of a tree, by node and role (`ir/sparse.py`)."""

    def get(self, node: Node, role: str, position: int = 0) -> int:
        """Return the word at a position."""

    def set(self, node: Node, role: str, value: int, position: int = 0) -> None:
        """Change the word at a position."""

    def capacity(self, pool: Node) -> int:
        """Return the number of cells of a pool."""


def scaled(node: Node, above: Node, index: Sequence[Any]) -> list[Any]:
    """Return the index of the cell of `above` that contains a cell of `node`. Indices may be arrays of indices."""
    shape, axes = shape_of(node), axes_of(node)
    indices = []
    for axis, extent in zip(axes_of(above), shape_of(above), strict=True):
        dimension = axes.index(axis)
        indices.append(index[dimension] // (shape[dimension] // extent))
    return indices


def cell_above(words: WordAccess, node: Node, indexed: Node, index: Sequence[int]) -> int:
    """Return the number of the pool cell that contains a cell of `node`, 0 if it is in no pool.

    index: of the cell, in the axes of `indexed`.
    """
    pool = pool_above(node)
    return 0 if pool is None else number_of(words, pool, scaled(indexed, pool, index))


def number_of(words: WordAccess, node: Node, index: Sequence[int]) -> int:
    """Return the number of a cell of a node in its pool; less than `FIRST_CELL` if the cell is not active."""
    return words.get(node, "numbers", _entry(node, index, cell_above(words, node, node, index)))


def is_active(words: WordAccess, node: Node, index: Sequence[int]) -> bool:
    """Return whether a cell of a pointer or bitmasked node is active."""
    if node.kind == "pointer":
        return number_of(words, node, index) >= FIRST_CELL
    word, bit = _bit(node, index, cell_above(words, node, node, index))
    return (words.get(node, "mask", word) & bit) != 0


def activate(words: WordAccess, node: Node, index: Sequence[int]) -> int:
    """Activate a cell and all cells that contain it.

    Returns: the number of the pool cell that it is, or that contains it.
    """
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


def activate_entry(words: WordAccess, node: Node, entry: int) -> int:
    """Allocate a pool cell for an entry of `numbers` that has none; return the number in the entry."""
    number = words.get(node, "numbers", entry)
    if number < FIRST_CELL:
        number = _take(words, node)
        if number != SPARE:
            words.set(node, "numbers", number, entry)
    return number


def append(words: WordAccess, node: Node, index: Sequence[int]) -> int:
    """Append an item to a list; return its position, or -1 if the list is full.

    index: of the cell of the node above.
    """
    cell = 0
    outer = sparse_above(node)[:-1]
    if outer:
        assert node.parent is not None
        cell = activate(words, outer[-1], scaled(node.parent, outer[-1], index))
        if cell == SPARE:
            return -1
    list_number = list_number_of(node, index, cell)
    length = words.get(node, "lengths", list_number)
    if length >= node.extents[0]:
        words.set(node, "full", words.get(node, "full") | LIST_IS_FULL)
        return -1
    words.set(node, "lengths", length + 1, list_number)
    return length


def length_of(words: WordAccess, node: Node, index: Sequence[int]) -> int:
    """Return the number of items of a list. index: of the cell of the node above."""
    cell = 0 if node.parent is None else cell_above(words, node, node.parent, index)
    return words.get(node, "lengths", list_number_of(node, index, cell))


def deactivate(words: WordAccess, node: Node, index: Sequence[int]) -> bool:
    """Deactivate a cell, or all cells of a list; return whether it was active. The caller clears its contents."""
    indexed = node.parent if node.kind == "dynamic" else node
    cell = 0 if indexed is None else cell_above(words, node, indexed, index)
    if node.kind == "bitmasked":
        word, bit = _bit(node, index, cell)
        old = words.get(node, "mask", word)
        words.set(node, "mask", old & ~bit, word)
        return bool(old & bit)
    if node.kind == "pointer":
        return deactivate_entry(words, node, _entry(node, index, cell))
    list_number = list_number_of(node, index, cell)
    words.set(node, "lengths", 0, list_number)
    chunks = range(list_number * chunks_of(node), (list_number + 1) * chunks_of(node))
    return sum(deactivate_entry(words, node, entry) for entry in chunks) > 0


def deactivate_entry(words: WordAccess, node: Node, entry: int) -> bool:
    """Free the pool cell of an entry of `numbers`; return whether it had one."""
    number = words.get(node, "numbers", entry)
    if number < FIRST_CELL:
        return False
    words.set(node, "numbers", 0, entry)
    freed = words.get(node, "freed")
    words.set(node, "cells", number, words.capacity(node) + freed)
    words.set(node, "freed", freed + 1)
    return True


def list_number_of(node: Node, index: Sequence[int], cell: int) -> int:
    """Return the number of a list. index: of the cell of the node above."""
    if node.parent is None:
        return 0
    (own,) = node.axes
    above = dict(zip(axes_of(node.parent), index, strict=True))
    full = [above.get(axis, 0) * (node.extents[0] if axis == own else 1) for axis in axes_of(node)]
    return _linear(cell_components(node)[:-1], full, cell, lists_per_cell(node))


def _take(words: WordAccess, pool: Node) -> int:
    taken = words.get(pool, "taken")
    if taken >= words.capacity(pool):
        words.set(pool, "full", words.get(pool, "full") | POOL_IS_FULL)
        return SPARE
    words.set(pool, "taken", taken + 1)
    return words.get(pool, "cells", taken) or FIRST_CELL + taken


def _entry(node: Node, index: Sequence[int], cell: int) -> int:
    return _linear(cell_components(node), index, cell, entries_per_cell(node))


def _bit(node: Node, index: Sequence[int], cell: int) -> tuple[int, int]:
    """Return the position of a cell's word in the mask, and the cell's bit."""
    own = _linear(cell_components(node), index, 0, 0)
    return cell * mask_words(node) + own // 32, 1 << own % 32


def _linear(components: Sequence[IndexComponent], index: Sequence[int], cell: int, per_cell: int) -> int:
    """Return the linear number of an index that consists of `components`.

    per_cell: how many such numbers one cell of the pool above has.
    """
    number = cell * per_cell
    weight = 1
    for component in reversed(components):
        number += index[component.dimension] // component.weight % component.extent * weight
        weight *= component.extent
    return number
