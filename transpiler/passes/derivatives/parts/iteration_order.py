"""Whether the backward sweep may visit the iterations of a serial loop in their own order.

That reads better than a loop from the last iteration to the first, and is right if no iteration sees what another did:
variables from outside only collect sums, and no element of an array is assigned.
"""

from __future__ import annotations

from itertools import count

from ....ir.functions import Call
from ....ir.nodes import Block, Statement, blocks, count_uses, walk, walk_inside
from ....ir.statements import (
    Array,
    AtomicOp,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    If,
    IfExp,
    LocalLoad,
    LocalStore,
    Operation,
    RangeFor,
    base_pointer,
)

Update = tuple[Statement, bool]
"""What is added to a variable, and whether it is subtracted."""


def find_updates(body: Block) -> dict[Statement, Update]:
    """Return the stores `v = v + x` and `v = v - x` whose load of `v` and whose sum nothing else uses.

    The load is of the value that the store replaces: after `old = v`, `v = old + x` is none if `v` changed in between.
    """
    uses = count_uses(body)
    values = _Values()
    values.block(body)
    found: dict[Statement, Update] = {}
    for store in walk(body):
        load = _updated(store) if isinstance(store, LocalStore) else None
        if load is None or uses[load] != 1 or uses[store.value] != 1:  # type: ignore[attr-defined]
            continue
        if values.loaded[load] != values.replaced[store]:
            continue
        operation = store.value  # type: ignore[attr-defined]
        other = operation.operands[1] if operation.operands[0] is load else operation.operands[0]
        if other.type == load.type:
            found[store] = other, operation.op == "sub"
    return found


def keeps_order(loop: RangeFor, updates: dict[Statement, Update]) -> bool:
    """Return whether the adjoints of a loop's iterations may be computed in the order of the loop.

    updates: those of the kernel; in `s = s + f(s)` both may be one load of `s`, and the store is none.
    """
    inside = list(walk_inside(loop))
    own = set(inside)
    sums: set[Statement] = set()
    loads: list[LocalLoad] = []
    added: set[Array] = set()
    read: set[Array] = set()
    for statement in inside:
        if isinstance(statement, GlobalStore):
            return False
        if isinstance(statement, (AtomicOp, GlobalLoad)):
            base = base_pointer(statement.pointer)
            if isinstance(base, GlobalPtr):
                (added if isinstance(statement, AtomicOp) else read).add(base.array)
        if isinstance(statement, LocalStore) and base_pointer(statement.pointer) not in own:
            load = _updated(statement) if statement in updates else None
            if load is None:
                return False
            sums.add(load)
        elif isinstance(statement, LocalLoad) and base_pointer(statement.pointer) not in own:
            loads.append(statement)
    changed = {base_pointer(load.pointer) for load in sums if isinstance(load, LocalLoad)}
    return not (added & read) and all(load in sums or base_pointer(load.pointer) not in changed for load in loads)


def _updated(store: LocalStore) -> Statement | None:
    """Return the load of `v` if a store is `v = v + x` or `v = v - x`."""
    value = store.value
    if not isinstance(value, Operation) or value.op not in ("add", "sub"):
        return None
    operands = value.operands if value.op == "add" else value.operands[:1]
    for operand in operands:
        if isinstance(operand, LocalLoad) and operand.pointer is store.pointer:
            return operand
    return None


class _Values:
    """Numbers the values of local variables.

    now: the number of each variable's value. changes: variables that changed, and their numbers before. loaded,
    replaced: the number of the value that a statement reads, or replaces.
    """

    def __init__(self) -> None:
        self.numbers = count(1)
        self.now: dict[Statement, int] = {}
        self.changes: list[tuple[Statement, int]] = []
        self.loaded: dict[Statement, int] = {}
        self.replaced: dict[Statement, int] = {}

    def block(self, block: Block) -> None:
        """Number the values in one block and those inside it."""
        for statement in block.statements:
            if isinstance(statement, LocalLoad):
                self.loaded[statement] = self.now.get(base_pointer(statement.pointer), 0)
            elif isinstance(statement, (LocalStore, AtomicOp)):
                variable = base_pointer(statement.pointer)
                self.replaced[statement] = self.now.get(variable, 0)
                self.change(variable)
            elif isinstance(statement, Call):
                for reference in statement.references():
                    self.change(reference)
            elif isinstance(statement, (If, IfExp)):
                self.branches(statement)
            elif statement.BLOCKS:
                self.loop(statement)

    def change(self, variable: Statement) -> None:
        """Give a variable another value."""
        self.changes.append((variable, self.now.get(variable, 0)))
        self.now[variable] = next(self.numbers)

    def branches(self, statement: Statement) -> None:
        """Number the values of branches, each of which starts with those before all."""
        first = len(self.changes)
        changed: dict[Statement, None] = {}
        for inner in blocks(statement):
            self.block(inner)
            while len(self.changes) > first:
                variable, before = self.changes.pop()
                self.now[variable] = before
                changed[variable] = None
        for variable in changed:
            self.change(variable)

    def loop(self, statement: Statement) -> None:
        """Number the values of a loop, which starts with those before it or those of an iteration."""
        inside = list(walk_inside(statement))
        changed = dict.fromkeys(base_pointer(s.pointer) for s in inside if isinstance(s, (LocalStore, AtomicOp)))
        for variable in changed:
            self.change(variable)
        for inner in blocks(statement):
            self.block(inner)
        for variable in changed:
            self.change(variable)
