"""Sparse nodes: the statements that ask for and change which cells are active, and the arrays that say so.

A sparse tree has auxiliary arrays besides its cells, which are no fields of Python; a kernel has them as `Array`s with
a role. For each node (p: number of the cell of the pool above that it is in, 0 where there is none):

    pointer    numbers[p * cells + cell]: which cell of its pool, 0 where it is not active, 1 where a thread is about to
               activate it; cells 0 and 1 of a pool are zeros that nobody writes, so that reading needs no check
    bitmasked  mask[p * words + cell / 32]: a bit a cell, rows of whole words
    dynamic    lengths[p * lists + list], and numbers[(p * lists + list) * chunks + item / chunk]
    a pool     counters `taken`, `freed`, `highest`, `listed`, `full` and, behind them, `cells`: a stack of the numbers
               to take, and from its capacity on those that were freed (templates/*/lib/sparse.*); `list`, the cells
               that a loop runs over; `words`, the memory of the pool's cells as words

Cell 2 of a pool takes what is stored when the pool is full: an activation that fails gives it, and nothing leads to it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, ClassVar

from .nodes import Effect, Statement, operands, walk
from .snodes import (
    Node,
    cell_components,
    index_components_of,
    places_of,
    pool_above,
    pool_cell_bytes,
    shape_of,
    sparse_above,
    top_of,
)
from .statements import Array, GlobalPtr, RangeFor
from .types import Scalar, i32, u8, u16, u32

if TYPE_CHECKING:
    from .tasks import Kernel

ACTIVATING, SPARE, FIRST_CELL = 1, 2, 3
"""Numbers of cells of a pool: see above, and templates/*/lib/sparse.*."""
COUNTERS = ("taken", "freed", "highest", "listed", "full")
"""What a pool starts with, a word each."""
PIECE = 32
"""Items of a list that one entry of the list of a loop represents: a warp of them."""
IN_VAIN = 1024
"""Cells of a pool that threads may take in vain in one loop: where one is suspended while it activates a cell, others
take over, and give back what they do not need, which can be had again only behind the loop."""
POOL_IS_FULL, LIST_IS_FULL = 1, 2
"""Bits of `full`."""


@dataclass(eq=False, slots=True)
class Activate(Statement):
    """Make a cell of `node`, and those above it that it is in, active; its value is the cell of the pool it is in.

    indices: of the cell, as `node` counts them: as many as its shape has. type: u32, None where no pool is above it
    or its own. A dynamic node becomes as long as it has to be.
    """

    OPERANDS: ClassVar[tuple[str, ...]] = ("indices",)
    EFFECT: ClassVar[Effect] = Effect.READ | Effect.WRITE
    node: Node
    indices: list[Statement]


@dataclass(eq=False, slots=True)
class Deactivate(Statement):
    """Make a cell of `node` inactive; of a dynamic node the whole list, whose indices are those of the node above.

    type: u1 for a bitmasked node, whether this thread did; its cell is then emptied in place. The cells of a pool are
    collected behind the loop.
    """

    OPERANDS: ClassVar[tuple[str, ...]] = ("indices",)
    EFFECT: ClassVar[Effect] = Effect.READ | Effect.WRITE
    node: Node
    indices: list[Statement]


@dataclass(eq=False, slots=True)
class DeactivateEntry(Statement):
    """Make inactive what `entry`, a position in the numbers of `node`, says; made by `collect_cells`."""

    OPERANDS: ClassVar[tuple[str, ...]] = ("entry",)
    EFFECT: ClassVar[Effect] = Effect.READ | Effect.WRITE
    node: Node
    entry: Statement


@dataclass(eq=False, slots=True)
class IsActive(Statement):
    """Whether a cell of `node` is active (u1)."""

    OPERANDS: ClassVar[tuple[str, ...]] = ("indices",)
    EFFECT: ClassVar[Effect] = Effect.READ
    node: Node
    indices: list[Statement]


@dataclass(eq=False, slots=True)
class CellNumber(Statement):
    """The cell of the pool of `node` that an index leads to (u32), which is known to be active.

    It is the same wherever the index is seen, so that it has no effect: the cell is not deactivated in between.
    """

    OPERANDS: ClassVar[tuple[str, ...]] = ("indices",)
    node: Node
    indices: list[Statement]


@dataclass(eq=False, slots=True)
class Append(Statement):
    """Make a list one item longer; its value is the item's place in the list (i32), -1 where the list is full.

    indices: of the list, as the node above counts them. What the item holds is stored by statements behind.
    """

    OPERANDS: ClassVar[tuple[str, ...]] = ("indices",)
    EFFECT: ClassVar[Effect] = Effect.READ | Effect.WRITE
    node: Node
    indices: list[Statement]


@dataclass(eq=False, slots=True)
class Length(Statement):
    """How many items a list has (i32); indices as for Append."""

    OPERANDS: ClassVar[tuple[str, ...]] = ("indices",)
    EFFECT: ClassVar[Effect] = Effect.READ
    node: Node
    indices: list[Statement]


@dataclass(eq=False, slots=True)
class PoolCount(Statement):
    """A counter of a pool (i32) that nothing changes while the task that reads it runs: each task reads it anew."""

    node: Node
    counter: str


@dataclass(eq=False, slots=True)
class CellIndex(Statement):
    """The index along `axis` of the cell that a iteration of `loop` is for; `value` is how it follows from the
    iteration.

    No other iteration of the loop has a cell with the same indices, and the cell is active.
    """

    OPERANDS: ClassVar[tuple[str, ...]] = ("value",)
    value: Statement
    loop: RangeFor
    axis: int


CELL_STATEMENTS = (Activate, Deactivate, IsActive, CellNumber, Append, Length)
"""Those with the indices of a cell, or of a list."""
TOPOLOGY_WRITERS = (Activate, Deactivate, DeactivateEntry, Append)
"""Those after which other cells may be active than before."""


def number_type(node: Node) -> Scalar | None:
    """Return the type of what `Activate` gives: None where a cell of `node` is in no pool."""
    return u32 if node.has_pool or pool_above(node) is not None else None


def counted(statement: Statement) -> Node | None:
    """Return the node whose cells the indices of one of `CELL_STATEMENTS` count; None for the one above a tree."""
    assert isinstance(statement, CELL_STATEMENTS)
    of_list = isinstance(statement, (Append, Length)) or (
        isinstance(statement, Deactivate) and statement.node.kind == "dynamic"
    )
    return statement.node.parent if of_list else statement.node


def indices_of(statement: Statement) -> int:
    """Return how many indices a statement of `CELL_STATEMENTS` has."""
    node = counted(statement)
    return 0 if node is None else len(shape_of(node))


def entries_per_cell(node: Node) -> int:
    """Return how many cells of `node` (chunks, of a dynamic one) are in one cell of the pool above, or in all."""
    return prod(component.extent for component in cell_components(node))


def lists_per_cell(node: Node) -> int:
    """Return how many lists of a dynamic node are in one cell of the pool above, or in all."""
    return prod(component.extent for component in cell_components(node)[:-1])


def mask_words(node: Node) -> int:
    """Return how many words of mask a bitmasked node has in one cell of the pool above, or in all."""
    return -(-entries_per_cell(node) // 32)


def all_cells(node: Node) -> int:
    """Return how many cells of a pool there are if all are active."""
    if node.kind == "dynamic":
        lists = prod(shape_of(node.parent)) if node.parent is not None else 1
        return lists * -(-node.extents[0] // node.chunk)
    return prod(shape_of(node))


def most_cells(pool: Node) -> int:
    """Return how many cells a pool has at most, nobody's included: a loop may free each and take it again."""
    return 2 * all_cells(pool) + IN_VAIN + FIRST_CELL


def pieces_of(node: Node) -> int:
    """Return how many pieces of `PIECE` items a list of a dynamic node has at most."""
    return -(-node.extents[0] // PIECE)


def word_of(node: Node) -> Scalar:
    """Return the type of the words by which a cell of a pool is emptied: the widest of which it has a whole number."""
    size = pool_cell_bytes(node)
    return u32 if size % 4 == 0 else u16 if size % 2 == 0 else u8


UNNAMED = {"pointer": "block", "bitmasked": "bits", "dynamic": "list", "dense": "cells"}


def node_name(kernel: Kernel, node: Node) -> str:
    """Return what the kernel calls a node: as its Python does, else after the first field in it that has a name."""
    names = kernel.trees[top_of(node)].names
    if node in names:
        return names[node]
    fields = [names[place] for place in places_of(node) if place in names]
    return f"{fields[0]}_{UNNAMED[node.kind]}" if fields else UNNAMED[node.kind]


WORDS: dict[type[Statement], str] = {
    Activate: "activate", Deactivate: "deactivate", DeactivateEntry: "deactivate_entry", IsActive: "is_active",
    CellNumber: "cell", Append: "append", Length: "length",
}  # fmt: skip
"""How the text form of the IR calls these statements."""


def sparse_text(kernel: Kernel, statement: Statement, refs: Callable[[list[Statement]], str]) -> str | None:
    """Return the text form of a statement of this module, None for others. refs: the text of operands."""
    if isinstance(statement, CellIndex):
        return f"cell index {refs([statement.value])}"
    if isinstance(statement, PoolCount):
        return f"count {node_name(kernel, statement.node)} {statement.counter}"
    if isinstance(statement, (*CELL_STATEMENTS, DeactivateEntry)):
        return f"{WORDS[type(statement)]} {node_name(kernel, statement.node)} ({refs(operands(statement))})"
    return None


Need = tuple[str, Node]
"""Something a kernel needs of a node: an array ("numbers", "mask", "lengths"), its "pool" and the "capacity" of that, a
look-up ("place" among its numbers or bits, "number", "is_active", "length", "entry") or a change ("activate",
"deactivate", "append")."""
CELL_MEMBERS = ("numbers", "mask", "lengths", "pool", "capacity")
"""Needs that are memory."""


def needed_by(what: str, node: Node) -> list[Need]:
    """Return what something needs of the same node and of those above."""
    pool, outer = pool_above(node), sparse_above(node)[:-1]
    if what in ("activate", "append") and outer:
        above: list[Need] = [("activate", outer[-1])]
    else:
        above = [("number", pool)] if pool is not None and what not in (*CELL_MEMBERS, "entry") else []
    memory = ["mask"] if node.kind == "bitmasked" else ["numbers", "pool", "capacity"]
    own = {
        "number": ["numbers"],
        "is_active": ["mask"] if node.kind == "bitmasked" else ["number"],
        "length": ["lengths"],
        "append": ["lengths", "pool"],
        "entry": memory,
        **dict.fromkeys(("activate", "deactivate"), [*memory, *(["lengths"] if node.kind == "dynamic" else [])]),
    }
    found = [*above, *((member, node) for member in own.get(what, ()))]
    counts_cells = what in ("number", "activate", "deactivate") or (what == "is_active" and node.kind == "bitmasked")
    if pool is not None and counts_cells and not (what == "deactivate" and node.kind == "dynamic"):
        found.insert(0, ("place", node))
    return found


def needs_of(kernel: Kernel) -> dict[Need, None]:
    """Return all that a kernel needs of sparse nodes, each behind what it needs itself."""
    uses: dict[Need, None] = {}

    def add(what: str, node: Node) -> None:
        if (what, node) not in uses:
            for need in needed_by(what, node):
                add(*need)
            uses[what, node] = None

    for root in kernel.roots():
        for statement in walk(root):
            for need in _asked(statement):
                add(*need)
    return uses


def _asked(statement: Statement) -> list[Need]:
    """Return what a statement itself needs."""
    match statement:
        case GlobalPtr(array=Array(role="mask" | "lengths" | "numbers" as role, node=Node() as node)):
            return [(role, node)]
        case GlobalPtr(array=Array(role=role, node=Node() as node)) if role in (*COUNTERS, "cells"):
            return [("pool", node)]
        case GlobalPtr(array=Array(place=Node() as place), cell=None) if (pool := pool_above(place)) is not None:
            return [("number", pool)]
        case PoolCount(node=node, counter=counter):
            return [("capacity" if counter == "capacity" else "pool", node)]
        case DeactivateEntry(node=node):
            return [("entry", node)]
        case Activate() | Deactivate() | IsActive() | CellNumber() | Append() | Length():
            return [("number" if isinstance(statement, CellNumber) else WORDS[type(statement)], statement.node)]
    return []


def needed_indices(leaf: Node) -> list[int]:
    """Return which dimensions of an index matter where the cell of the pool is known that an element is in."""
    return sorted({component.dimension for component in index_components_of(leaf)})


def reached_by(pointer: GlobalPtr) -> list[Statement]:
    """Return what the text of a pointer needs: the indices, or the cell of a pool and those that matter within it."""
    if pointer.cell is None or pointer.array.place is None:
        return pointer.indices
    return [pointer.cell, *(pointer.indices[dimension] for dimension in needed_indices(pointer.array.place))]


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


def place_array(kernel: Kernel, place: Node) -> Array:
    """Return the array of a field by its place: the kernel's, which gets it if it does not use the field otherwise."""
    for array in kernel.arrays:
        if array.place is place:
            return array
    tree = kernel.trees[top_of(place)]
    shape = shape_of(place)
    name = _unique(kernel, tree.names.get(place, "other"))
    array = Array(
        name, tree.elements[place], len(shape), len(kernel.arrays), shape, place=place, role="place", node=place
    )
    tree.names[place] = name
    kernel.arrays.append(array)
    return array


def add_arrays(kernel: Kernel) -> None:
    """Add to a kernel the arrays that its statements on cells need, so that it has memory for them."""
    for what, node in needs_of(kernel):
        if what in ("numbers", "mask", "lengths"):
            sparse_array(kernel, node, what)
        elif what in ("pool", "capacity"):
            for role in ("taken", "freed", "full", "cells"):
                sparse_array(kernel, node, role)


def _unique(kernel: Kernel, name: str) -> str:
    taken = {array.name for array in kernel.arrays}
    unique, number = name, 1
    while unique in taken:
        number += 1
        unique = f"{name}_{number}"
    return unique


def sparse_array(kernel: Kernel, node: Node, role: str) -> Array:
    """Return the array of `node` with a role: the kernel's, which gets it if it has none yet."""
    for array in kernel.arrays:
        if array.node is node and array.role == role:
            return array
    name = node_name(kernel, node)
    ndim, element = {"words": (2, word_of(node)), "list": (1, i32)}.get(role, (0 if role in COUNTERS else 1, u32))
    array = Array(_unique(kernel, f"{name}_{role}"), element, ndim, len(kernel.arrays), role=role, node=node)
    if role == "words":
        array.shape = (most_cells(node), pool_cell_bytes(node) // element.size_bytes)
    elif role in COUNTERS:
        array.shape = ()
    kernel.arrays.append(array)
    return array
