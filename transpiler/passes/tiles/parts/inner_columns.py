"""Parallel loops over the rows of a product of matrices, whose columns are a serial loop inside.

    for t in x {                                     for t, e in n, m {
        for e in m {                                     s = 0.0
            s = 0.0                           ->         for d in k { s += x[t, d] * w[d, e] }
            for d in k { s += x[t, d] * w[d, e] }    }
            ...
        }
    }

In: a task. Out: what it consists of; a task for the products alone, or with what is done with each of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....ir.builder import Builder
from ....ir.nodes import Block, Statement, operands, reads, walk
from ....ir.statements import (
    Alloca,
    Array,
    Const,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    If,
    IfExp,
    LocalLoad,
    LocalStore,
    RangeFor,
    base_pointer,
    is_const,
    repeats,
)
from ....ir.tasks import Apart, Task
from ....lazy_dataclasses import dataclass
from ...analysis.queries import base_array, given_length, is_index_of, leaves_block, names_of
from ...tasks.parts.copies import copy_of
from .arranged_loops import VALUES
from .tiled_loops import add_bound, take_names


@dataclass(eq=False, slots=True)
class Rows:
    """A loop over rows.

    Attributes:
        columns: the serial loop inside.
        sums: the loop that computes one element.
        own: what `sums` needs of the statements before it in `columns`.
        is_alone: whether these may be computed where `sums` is alone.
    """

    columns: RangeFor
    sums: RangeFor
    own: list[Statement]
    is_alone: bool

    @property
    def accumulators(self) -> list[Alloca]:
        """What `sums` adds to."""
        return [s for s in self.own if isinstance(s, Alloca)]

    @property
    def loaded(self) -> set[Array]:
        """The arrays from which `sums` loads, and what it starts with."""
        inside = [*self.own, *walk(self.sums.body)]
        pointers = [base_pointer(s.pointer) for s in inside if isinstance(s, GlobalLoad)]
        return {pointer.array for pointer in pointers if isinstance(pointer, GlobalPtr)}


def rows_of(task: Task) -> Rows | None:
    """Return the parts of a task that is such a loop, else None."""
    loops = [s for s in task.body.statements if repeats(s)]
    if task.loop is None or len(loops) != 1 or not isinstance(loops[0], RangeFor):
        return None
    columns = loops[0]
    inner = [s for s in walk(columns.body) if repeats(s)]
    sums = inner[0] if inner else None
    if not isinstance(sums, RangeFor) or sums not in columns.body.statements or not _is_plain(columns):
        return None
    if any(s not in set(walk(sums.body)) for s in inner[1:]) or any(map(leaves_block, columns.body)):
        return None
    before = columns.body.statements[: columns.body.statements.index(sums)]
    own = _needed(sums, before)
    return Rows(columns, sums, own or [], own is not None)


def _is_plain(columns: RangeFor) -> bool:
    """Return whether a serial loop counts up by one from a constant to what the launch knows."""
    is_one = len(columns.starts) == 1 and columns.cells is None and is_const(columns.steps[0], 1)
    end = columns.ends[0] if columns.ends else None
    if not is_one or not isinstance(columns.starts[0], Const) or end is None:
        return False
    return int(columns.starts[0].value) >= 0 and (isinstance(end, Const) or given_length(end) is not None)


def _needed(sums: RangeFor, before: Sequence[Statement]) -> list[Statement] | None:
    """Return which of the statements before a loop it needs: variables, what they start with, and values.

    None if one is not to be computed where the loop is alone.
    """
    inside = set(walk(sums.body))
    used = {value for statement in (sums, *inside) for value in reads(statement)} - inside
    own: list[Statement] = []
    for statement in reversed(before):
        is_start = isinstance(statement, LocalStore) and statement.pointer in used
        if is_start or statement in used:
            if not isinstance(statement, (*VALUES, Alloca, LocalStore, GlobalPtr, GlobalLoad)):
                return None
            own.append(statement)
            used.update(operands(statement))
        elif any(isinstance(o, Alloca) and o in used for s in walk(Block([statement])) for o in operands(s)):
            return None
    return own[::-1]


def products_of(task: Task) -> Task | None:
    """Return a task that computes the products alone, the columns of which are the last axis of its loop.

    None if they need more of an iteration than values.
    """
    made = copy_of(task)
    rows, loop = rows_of(made), made.loop
    assert rows is not None and loop is not None
    _add_columns(made, rows.columns)
    known: set[Statement] = set()
    for statement in made.body.statements:
        if isinstance(statement, VALUES) and known.issuperset(operands(statement)):
            known.add(statement)
    outer = [s for s in made.body.statements if s in known]
    made.body.statements[:] = [*outer, *rows.own, rows.sums]
    known.update(walk(made.body))
    return made if all(known.issuperset(reads(s)) for s in walk(made.body)) else None


def _add_columns(task: Task, columns: RangeFor) -> None:
    """Let the columns be the last axis of the loop of a task."""
    loop = task.loop
    assert loop is not None
    builder, names = Builder(task.prologue, loop.location), take_names(task)
    loop.starts.append(builder.again(columns.starts[0]))
    loop.ends.append(builder.again(columns.ends[0]))
    loop.steps.append(add_bound(task, 1))
    loop.names = [*names, *names_of(columns)]
    for statement in walk(columns.body):
        if is_index_of(statement, columns):
            statement.loop, statement.axis = loop, len(names)


def with_parallel_columns(task: Task) -> tuple[Task, list[Apart]] | None:
    """Return a task whose loop has the columns as an axis, and what must hold for it; None if that cannot be."""
    rows = rows_of(task)
    apart = None if rows is None else _must_be_apart(task, rows.columns)
    if apart is None:
        return None
    made = copy_of(task)
    rows = rows_of(made)
    assert rows is not None
    _add_columns(made, rows.columns)
    values = [s for s in made.body.statements if isinstance(s, VALUES)]
    made.body.statements[:] = [*values, *rows.columns.body.statements]
    return made, apart


def _must_be_apart(task: Task, columns: RangeFor) -> list[Apart] | None:
    """Return which arrays must share no memory for the columns to be independent of each other.

    None if they are not so: a task does something else, or a column stores to elements that are not its own.
    """
    loop, inside = task.loop, list(walk(columns.body))
    assert loop is not None
    if not all(isinstance(s, VALUES) or s is columns for s in task.body.statements):
        return None
    allowed = (*VALUES, GlobalPtr, GlobalLoad, GlobalStore, Alloca, LocalLoad, LocalStore, RangeFor, If, IfExp)
    if not all(isinstance(s, allowed) for s in inside):
        return None
    pointers = [base_pointer(s.pointer) for s in inside if isinstance(s, (GlobalLoad, GlobalStore))]
    accessed = {pointer.array: None for pointer in pointers if isinstance(pointer, GlobalPtr)}
    stored = {array: None for s in inside if isinstance(s, GlobalStore) if (array := base_array(s.pointer)) is not None}
    for pointer in pointers:
        if not isinstance(pointer, GlobalPtr) or pointer.array.place is not None:
            return None
        if pointer.array in stored and not _is_own(pointer, loop, columns):
            return None
    pairs = [(one, other) for one in stored for other in accessed if other is not one]
    return [Apart(*pair) for pair in pairs if pair[0].may_alias and pair[1].may_alias]


def _is_own(pointer: GlobalPtr, loop: RangeFor, columns: RangeFor) -> bool:
    """Return whether an element is that of an iteration and a column alone: all of their indices are among its own."""
    axes = {index.axis for index in pointer.indices if is_index_of(index, loop)}
    return len(axes) == len(loop.starts) and any(is_index_of(index, columns) for index in pointer.indices)
