"""Finds what a loop carries from one iteration to the next in local variables.

    for t in range(n) {
        s = .9 * s + x[t]          `s` is carried, and stored in an array in the same iteration
        y[t] = s
    }

Sums alone are no obstacle to vectors; what else is carried is one, so that passes ask here.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....ir.nodes import Block, Statement, blocks, reads, walk, walk_inside
from ....ir.statements import (
    Alloca,
    GlobalStore,
    LocalLoad,
    LocalStore,
    MatrixElement,
    MatrixInit,
    Operation,
    RangeFor,
    base_pointer,
)


def carried_variables(loop: RangeFor) -> set[Statement]:
    """Return the variables of a loop that an iteration stores, and may read before that."""
    statements = list(walk(loop.body))
    own, always = set(statements), set(loop.body)
    read, written, stored = set[Statement](), set[Statement](), set[Statement]()
    for statement in statements:
        if isinstance(statement, LocalLoad) and base_pointer(statement.pointer) not in own | written:
            read.add(base_pointer(statement.pointer))
        elif isinstance(statement, LocalStore):
            variable = base_pointer(statement.pointer)
            stored.add(variable)
            if statement in always and statement.pointer is variable:
                written.add(variable)
    return read & stored


def uses_carried(loop: RangeFor) -> bool:
    """Return whether what depends on a carried variable is stored in an array, or itself in another variable."""
    carried = carried_variables(loop)
    if not carried:
        return False
    statements = set(walk(loop.body))
    stores = [s for s in statements if isinstance(s, LocalStore) and base_pointer(s.pointer) not in statements]
    if any(_is_moved(store.value, carried) for store in stores):
        return True
    if not any(isinstance(s, GlobalStore) for s in statements):
        return False
    reached, count = set(carried), 0
    while len(reached) > count:  # an iteration may store at its end what the next one reads at its start
        count = len(reached)
        reached.update(list(_dependent(loop.body, reached, False)))
    return any(isinstance(s, GlobalStore) and s in reached for s in statements)


def _is_moved(value: Statement, carried: set[Statement]) -> bool:
    """Return whether a value, or a component of it, is what a carried variable was."""
    parts = value.elements if isinstance(value, MatrixInit) else [value]
    values = [part.value if isinstance(part, MatrixElement) else part for part in parts]
    return any(isinstance(value, LocalLoad) and base_pointer(value.pointer) in carried for value in values)


def _dependent(block: Block, reached: set[Statement], is_chosen: bool) -> Iterator[Statement]:
    """Yield the statements that use one of `reached`, and the variables that they change. is_chosen: a branch does."""
    for statement in block:
        uses = is_chosen or any(value in reached for value in reads(statement))
        if uses:
            yield statement
            if isinstance(statement, LocalStore):
                yield base_pointer(statement.pointer)
        for inner in blocks(statement):
            yield from _dependent(inner, reached, uses)


def carries_values(loop: Statement) -> bool:
    """Return whether iterations of a loop need what earlier ones have stored, other than sums."""
    statements = list(walk_inside(loop))
    own = {s for s in statements if isinstance(s, Alloca)}
    loaded = {base_pointer(s.pointer) for s in statements if isinstance(s, LocalLoad)} - own
    stores = [s for s in statements if isinstance(s, LocalStore) and base_pointer(s.pointer) in loaded]
    return any(not isinstance(s.value, Operation) or s.value.op not in ("add", "sub") for s in stores)
