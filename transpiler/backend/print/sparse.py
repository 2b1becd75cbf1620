"""Prints the statements on cells of sparse nodes: calls of the functions and macros that `cells.py` writes for them.

block = activate block (i / 4, j / 4)    ->    uint32_t block = activate_block(args, i / 4, j / 4);
is_active block (i, j)                   ->    block_is_active(i, j)
"""

from __future__ import annotations

from collections.abc import Callable

from ...ir.nodes import Statement, walk
from ...ir.sparse import (
    COUNTERS,
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
)
from ...ir.statements import GlobalPtr, GlobalStore
from ...ir.tasks import Kernel, Task
from ..languages.common.syntax_forms import PRIMARY
from ..layout.sparse_functions import SparseSource
from .expressions import WRITERS as VALUES
from .expressions import Expressions, Rendered
from .statements import Statements, print_call


def _texts(e: Expressions) -> SparseSource:
    e.uses_args = True
    assert e.layout.cells is not None
    return e.layout.cells


def _change(what: str) -> Callable[[Statements, Activate | Deactivate | Append], None]:
    """Return what prints a statement that changes what is active."""

    def write(p: Statements, statement: Activate | Deactivate | Append) -> None:
        texts = _texts(p.e)
        p.e.used.cells[what, statement.node] = None
        given = ", ".join([*p.e.language.args, *(p.e.of(index).text for index in statement.indices)])
        print_call(p, statement, Rendered(f"{texts.word(what, statement.node)}({given})"))

    return write


def _deactivate_entry(p: Statements, statement: DeactivateEntry) -> None:
    texts = _texts(p.e)
    p.e.used.cells["entry", statement.node] = None
    p.e.need("deactivate_cell")
    entry = p.e.of(statement.entry).text
    entry = p.e.language.unsigned_argument.format(entry)
    p.emit(f"{texts.deactivate_cell(statement.node, entry)};", statement.location)


def _asked(what: str) -> Callable[[Expressions, Statement], Rendered]:
    """Return what writes a look-up as a macro."""

    def write(e: Expressions, value: Statement) -> Rendered:
        assert isinstance(value, (IsActive, CellNumber, Length))
        texts = _texts(e)
        e.used.cells[what, value.node] = None
        return Rendered(f"{texts.word(what, value.node)}({', '.join(e.of(index).text for index in value.indices)})")

    return write


def _count(e: Expressions, value: PoolCount) -> Rendered:
    texts, node = _texts(e), value.node
    if value.counter == "capacity":
        return Rendered(texts.texts["capacity", node])
    text = texts.of_pool(node, value.counter)
    return Rendered(*e.language.converted("int", text, PRIMARY))


def _index(e: Expressions, value: CellIndex) -> Rendered:
    return e.of(value.value)


def purpose_of(task: Task, kernel: Kernel) -> str:
    """Return what the title of a serial task says that only keeps account of pools, "" for others."""
    stored = [s.pointer for s in walk(task.body) if isinstance(s, GlobalStore)]
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
    Activate: _change("activate"),
    Deactivate: _change("deactivate"),
    Append: _change("append"),
    DeactivateEntry: _deactivate_entry,
}
"""How each of these effects is printed."""

VALUES[IsActive] = _asked("is_active")
VALUES[CellNumber] = _asked("number")
VALUES[Length] = _asked("length")
VALUES[PoolCount] = _count
VALUES[CellIndex] = _index
