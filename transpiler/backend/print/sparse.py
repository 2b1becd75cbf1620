"""Prints the statements on cells of sparse nodes: calls of the functions and macros of `SparseSource`.

block = activate block (i / 4, j / 4)    ->    uint32_t block = activate_block(args, i / 4, j / 4);
is_active block (i, j)                   ->    block_is_active(i, j)
"""

from __future__ import annotations

from collections.abc import Callable

from ...ir.nodes import Statement, walk
from ...ir.sparse import (
    Activate,
    Append,
    CellIndex,
    CellNumber,
    Deactivate,
    DeactivateEntry,
    IsActive,
    Length,
    PoolCount,
    node_name,
    statement_name,
)
from ...ir.sparse_storage import COUNTERS
from ...ir.statements import GlobalPtr, GlobalStore
from ...ir.tasks import Kernel, Task
from ..languages.common.syntax_forms import PRIMARY, Rendered
from ..layout.sparse_functions import SparseSource, indices_inside
from .expressions import WRITERS as VALUES
from .expressions import Expressions
from .statements import Statements, print_call


def _nodes(e: Expressions) -> SparseSource:
    e.uses_args = True
    assert e.layout.cells is not None
    return e.layout.cells


def _change(p: Statements, statement: Activate | Deactivate | Append) -> None:
    """Print a statement that changes activity."""
    nodes, change = _nodes(p.e), statement_name(statement)
    p.e.used.cells[change, statement.node] = None
    arguments = ", ".join([*p.e.language.args, *(p.e.of(index).source for index in statement.indices)])
    print_call(p, statement, Rendered(f"{nodes.identifier(change, statement.node)}({arguments})"))


def _deactivate_entry(p: Statements, statement: DeactivateEntry) -> None:
    nodes = _nodes(p.e)
    p.e.used.cells["entry", statement.node] = None
    p.e.need("deactivate_cell")
    entry = p.e.of(statement.entry).source
    entry = p.e.language.unsigned_argument.format(entry)
    p.emit(f"{nodes.deactivate_cell(statement.node, entry)};", statement.location)


def _query(what: str) -> Callable[[Expressions, Statement], Rendered]:
    """Return the printer of a query as a macro call."""

    def write(e: Expressions, value: Statement) -> Rendered:
        assert isinstance(value, (CellNumber, Length))
        nodes = _nodes(e)
        e.used.cells[what, value.node] = None
        return Rendered(
            f"{nodes.identifier(what, value.node)}({', '.join(e.of(index).source for index in value.indices)})"
        )

    return write


def _is_active(e: Expressions, value: IsActive) -> Rendered:
    """Print a test as a macro call; one in a known cell of a pool takes the indices that matter inside it."""
    nodes, what = _nodes(e), "is_active" if value.cell is None else "is_active_in"
    e.used.cells[what, value.node] = None
    arguments = [e.of(index).source for index in value.indices]
    if value.cell is not None:
        arguments = [e.of(value.cell).source, *indices_inside(value.node, arguments)]
    return Rendered(f"{nodes.identifier(what, value.node)}({', '.join(arguments)})")


def _count(e: Expressions, value: PoolCount) -> Rendered:
    nodes, node = _nodes(e), value.node
    if value.counter == "capacity":
        return Rendered(nodes.expressions["capacity", node])
    counter = nodes.of_pool(node, value.counter)
    return Rendered(*e.language.converted("int", counter, PRIMARY))


def _index(e: Expressions, value: CellIndex) -> Rendered:
    return e.of(value.value)


def purpose_of(task: Task, kernel: Kernel) -> str:
    """Return the end of the title of a serial task that only updates counters of pools, "" for other tasks."""
    stored = [s.pointer for s in walk(task.body) if s.__class__ is GlobalStore]
    arrays = [pointer.array for pointer in stored if isinstance(pointer, GlobalPtr)]
    if not arrays or len(arrays) < len(stored) or not all(array.role in COUNTERS for array in arrays):
        return ""
    lists = dict.fromkeys(a.node for a in arrays if a.role == "listed" and a.node is not None)
    pools = dict.fromkeys(a.node for a in arrays if a.role != "listed" and a.node is not None)
    texts = [
        f"{what} {', '.join(node_name(kernel, n) for n in nodes)}"
        for what, nodes in (("counts the cells of", pools), ("empties the list of", lists))
        if nodes
    ]
    return f", {' and '.join(texts)}"


WRITERS: dict[type, Callable[..., None]] = {
    Activate: _change,
    Deactivate: _change,
    Append: _change,
    DeactivateEntry: _deactivate_entry,
}
"""How each of these effects is printed."""

VALUES[IsActive] = _is_active
VALUES[CellNumber] = _query("number")
VALUES[Length] = _query("length")
VALUES[PoolCount] = _count
VALUES[CellIndex] = _index
