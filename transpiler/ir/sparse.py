"""Sparse nodes: the statements that query and change which cells are active, and the arrays that they use."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import TYPE_CHECKING, ClassVar

from ..lazy_dataclasses import dataclass
from .nodes import Effect, Statement, operands
from .snodes import Node, places_of, pool_above, pool_cell_bytes, shape_of, sparse_above, top_of
from .sparse_storage import COUNTERS, max_cells, needed_indices, row_major_type, word_of
from .statements import Array, GlobalPtr, RangeFor
from .types import i32, u32

if TYPE_CHECKING:
    from .tasks import Kernel


@dataclass(eq=False, slots=True)
class Activate(Statement):
    """Activates a cell of `node` and the cells that contain it; the value is the number of its pool cell.

    A list of a dynamic node grows up to the item.

    Attributes:
        node: the sparse node.
        indices: of the cell, one for each dimension of the node.
        type: u32, None if neither the node nor one above it has a pool.
        is_appended: it is the chunk of an item that the iteration has appended, so that the list contains it.
    """

    OPERANDS: ClassVar[tuple[str, ...]] = ("indices",)
    EFFECT: ClassVar[int] = Effect.READ | Effect.WRITE
    node: Node
    indices: list[Statement]
    is_appended: bool = False


@dataclass(eq=False, slots=True)
class Deactivate(Statement):
    """Deactivates a cell of `node`; of a dynamic node a whole list, whose indices are those of the node above.

    type: u1 for a bitmasked node: whether this thread deactivated the cell, which is then cleared in place. The freed
    cells
    of a pool are cleared after the loop.
    """

    OPERANDS: ClassVar[tuple[str, ...]] = ("indices",)
    EFFECT: ClassVar[int] = Effect.READ | Effect.WRITE
    node: Node
    indices: list[Statement]


@dataclass(eq=False, slots=True)
class DeactivateEntry(Statement):
    """Frees the pool cell in `entry`, a position in the numbers of `node`; made by `deactivate_cells`."""

    OPERANDS: ClassVar[tuple[str, ...]] = ("entry",)
    EFFECT: ClassVar[int] = Effect.READ | Effect.WRITE
    node: Node
    entry: Statement


@dataclass(eq=False, slots=True)
class IsActive(Statement):
    """Whether a cell of `node` is active (u1).

    cell: the number of the pool cell around it, of a bitmasked node, where that is known.
    """

    OPERANDS: ClassVar[tuple[str, ...]] = ("indices", "cell")
    EFFECT: ClassVar[int] = Effect.READ
    node: Node
    indices: list[Statement]
    cell: Statement | None = None


@dataclass(eq=False, slots=True)
class CellNumber(Statement):
    """The number of the pool cell of `node` at an index (u32); the cell is known to be active.

    It has no effect: it is the same wherever the index is in scope, since the cell is not deactivated in between.
    """

    OPERANDS: ClassVar[tuple[str, ...]] = ("indices",)
    node: Node
    indices: list[Statement]


@dataclass(eq=False, slots=True)
class Append(Statement):
    """Appends an item to a list; the value is its position in the list (i32), -1 if the list is full.

    indices: of the list, as for the node above. Later statements store the contents of the item.
    """

    OPERANDS: ClassVar[tuple[str, ...]] = ("indices",)
    EFFECT: ClassVar[int] = Effect.READ | Effect.WRITE
    node: Node
    indices: list[Statement]


@dataclass(eq=False, slots=True)
class Length(Statement):
    """The number of items of a list (i32). indices: as for Append."""

    OPERANDS: ClassVar[tuple[str, ...]] = ("indices",)
    EFFECT: ClassVar[int] = Effect.READ
    node: Node
    indices: list[Statement]


@dataclass(eq=False, slots=True)
class PoolCount(Statement):
    """A counter of a pool (i32) that does not change while the task that reads it runs: each task reads it again.

    So it has no effect, and may be the bound of a task's loop; a task that changes it stays before that task.
    """

    node: Node
    counter: str


@dataclass(eq=False, slots=True)
class CellIndex(Statement):
    """The index along `axis` of the cell of the current iteration of `loop`; `value` computes it.

    The cell is active, and no other iteration of the loop has a cell with the same indices.
    """

    OPERANDS: ClassVar[tuple[str, ...]] = ("value",)
    value: Statement
    loop: RangeFor
    axis: int


CELL_STATEMENTS = (Activate, Deactivate, IsActive, CellNumber, Append, Length)
"""Statements with the indices of a cell, or of a list."""
TREE_STATEMENTS = (*CELL_STATEMENTS, DeactivateEntry, PoolCount)
"""Statements that read or write counters and tables of sparse trees, which serial tasks write as arrays."""
TOPOLOGY_WRITERS = (Activate, Deactivate, DeactivateEntry, Append)
"""Statements that may change which cells are active."""


def indexed_node(statement: Statement) -> Node | None:
    """Return the node whose cells the indices of one of `CELL_STATEMENTS` select; None for the root above a tree."""
    assert isinstance(statement, CELL_STATEMENTS)
    of_list = isinstance(statement, (Append, Length)) or (
        isinstance(statement, Deactivate) and statement.node.kind == "dynamic"
    )
    return statement.node.parent if of_list else statement.node


def index_count(statement: Statement) -> int:
    """Return the number of indices of one of `CELL_STATEMENTS`."""
    node = indexed_node(statement)
    return 0 if node is None else len(shape_of(node))


UNNAMED = {"pointer": "block", "bitmasked": "bits", "dynamic": "list", "dense": "cells"}


def node_name(kernel: Kernel, node: Node) -> str:
    """Return the kernel's name of a node: the Python name, else a name made of that of the first named field in it."""
    names = kernel.trees[top_of(node)].names
    if node in names:
        return names[node]
    fields = [names[leaf] for leaf in places_of(node) if leaf in names]
    return f"{fields[0]}_{UNNAMED[node.kind]}" if fields else UNNAMED[node.kind]


STATEMENT_NAMES: dict[type[Statement], str] = {
    Activate: "activate", Deactivate: "deactivate", DeactivateEntry: "deactivate_entry", IsActive: "is_active",
    CellNumber: "cell", Append: "append", Length: "length",
}  # fmt: skip
"""Names of the statements in the text form of the IR."""


def format_sparse(kernel: Kernel, statement: Statement, refs: Callable[[list[Statement]], str]) -> str | None:
    """Return the text form of a statement of this module, None for others. refs: the text of operands."""
    if isinstance(statement, CellIndex):
        return f"cell index {refs([statement.value])}"
    if isinstance(statement, PoolCount):
        return f"count {node_name(kernel, statement.node)} {statement.counter}"
    if isinstance(statement, (*CELL_STATEMENTS, DeactivateEntry)):
        return f"{statement_name(statement)} {node_name(kernel, statement.node)} ({refs(operands(statement))})"
    return None


def statement_name(statement: Statement) -> str:
    """Return the name of one of these statements, which is that of the use of its node too."""
    is_appended = isinstance(statement, Activate) and statement.is_appended
    return "reserve" if is_appended else STATEMENT_NAMES[type(statement)]


NodeUse = tuple[str, Node]
"""A use of a node by a kernel, and the node: an array ("numbers", "mask", "lengths"), its "pool" and the "capacity" of
that, a query ("position" among its numbers or bits, "number", "is_active", "is_active_in" a known cell of the pool,
"length", "entry") or a change ("activate", "reserve" for an appended item, "deactivate", "append")."""
CELL_MEMBERS = ("numbers", "mask", "lengths", "pool", "capacity")
"""Uses that are memory."""


def required_uses(what: str, node: Node) -> list[NodeUse]:
    """Return the uses that a use requires, of the same node and of those above."""
    pool, outer = pool_above(node), sparse_above(node)[:-1]
    if what in ("activate", "reserve", "append") and outer:
        above: list[NodeUse] = [("activate", outer[-1])]
    else:
        by_cell = (*CELL_MEMBERS, "entry", "is_active_in")
        above = [("number", pool)] if pool is not None and what not in by_cell else []
    memory = ["mask"] if node.kind == "bitmasked" else ["numbers", "pool", "capacity"]
    own = {
        "number": ["numbers"],
        "is_active": ["mask"] if node.kind == "bitmasked" else ["number"],
        "is_active_in": ["mask"],
        "length": ["lengths"],
        "append": ["lengths", "pool"],
        "entry": memory,
        "reserve": memory,
        **dict.fromkeys(("activate", "deactivate"), [*memory, *(["lengths"] if node.kind == "dynamic" else [])]),
    }
    required = [*above, *((member, node) for member in own.get(what, ()))]
    counts_cells = what in ("number", "activate", "reserve", "deactivate", "is_active_in") or (
        what == "is_active" and node.kind == "bitmasked"
    )
    if pool is not None and counts_cells and not (what == "deactivate" and node.kind == "dynamic"):
        required.insert(0, ("position", node))
    return required


def node_uses(kernel: Kernel) -> dict[NodeUse, None]:
    """Return all uses of sparse nodes by a kernel, each after those that it requires."""
    uses: dict[NodeUse, None] = {}

    def add(what: str, node: Node) -> None:
        if (what, node) not in uses:
            for use in required_uses(what, node):
                add(*use)
            uses[what, node] = None

    for statement in kernel.statements():
        for use in _direct_uses(statement):
            add(*use)
    return uses


def _direct_uses(statement: Statement) -> list[NodeUse]:
    """Return the uses of sparse nodes by one statement, without those that they require."""
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
        case IsActive(cell=Statement(), node=node):
            return [("is_active_in", node)]
        case Activate() | Deactivate() | IsActive() | CellNumber() | Append() | Length():
            use = "number" if isinstance(statement, CellNumber) else statement_name(statement)
            return [(use, statement.node)]
    return []


def address_operands(pointer: GlobalPtr) -> list[Statement]:
    """Return the operands of an element's address: the indices, or the pool cell and the indices within it."""
    if pointer.cell is None or pointer.array.place is None:
        return pointer.indices
    return [pointer.cell, *(pointer.indices[dimension] for dimension in needed_indices(pointer.array.place))]


def leaf_array(kernel: Kernel, leaf: Node) -> Array:
    """Return the kernel's array of a field by its place node; it is added if the kernel does not use the field."""
    for array in kernel.arrays:
        if array.place is leaf:
            return array
    tree = kernel.trees[top_of(leaf)]
    shape = shape_of(leaf)
    name = unique_name(tree.names.get(leaf, "other"), {array.name for array in kernel.arrays})
    array = Array(name, tree.elements[leaf], len(shape), len(kernel.arrays), shape, place=leaf, role="place", node=leaf)
    tree.names[leaf] = name
    kernel.arrays.append(array)
    return array


def add_arrays(kernel: Kernel) -> None:
    """Add the auxiliary arrays that the statements on cells of a kernel use."""
    for what, node in node_uses(kernel):
        if what in ("numbers", "mask", "lengths"):
            sparse_array(kernel, node, what)
        elif what in ("pool", "capacity"):
            for role in ("taken", "freed", "full", "cells") if node.has_pool else ("taken",):
                sparse_array(kernel, node, role)


def unique_name(name: str, taken: Container[str]) -> str:
    """Return a name, with a number from 2 on if it is taken."""
    unique, number = name, 1
    while unique in taken:
        number += 1
        unique = f"{name}_{number}"
    return unique


def sparse_array(kernel: Kernel, node: Node, role: str) -> Array:
    """Return the kernel's array of `node` with a role; it is added if the kernel has none yet."""
    for array in kernel.arrays:
        if array.node is node and array.role == role:
            return array
    name = node_name(kernel, node)
    ndim, element = {"words": (2, word_of(node)), "list": (1, row_major_type(node)), "ends": (1, i32)}.get(
        role, (0 if role in COUNTERS else 1, u32)
    )
    own_name = unique_name(f"{name}_{role}", {array.name for array in kernel.arrays})
    array = Array(own_name, element, ndim, len(kernel.arrays), role=role, node=node)
    if role == "words":
        array.shape = (max_cells(node), pool_cell_bytes(node) // element.size_bytes)
    elif role in COUNTERS:
        array.shape = ()
    kernel.arrays.append(array)
    return array
