"""Whether the backward sweep may visit the iterations of a serial loop in their own order.

That reads better than a loop from the last iteration to the first, and is right if no iteration sees what another did:
variables from outside only collect sums, and no element of an array is assigned.
"""

from __future__ import annotations

from ...ir.nodes import Block, Statement, blocks, count_uses, walk
from ...ir.statements import (
    Array,
    AtomicOp,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    LocalLoad,
    LocalStore,
    Operation,
    RangeFor,
    base_pointer,
)

Update = tuple[Statement, bool]
"""What is added to a variable, and whether it is subtracted."""


def find_updates(body: Block) -> dict[Statement, Update]:
    """Return the stores `v = v + x` and `v = v - x` whose load of `v` and whose sum nothing else uses."""
    uses = count_uses(body)
    found: dict[Statement, Update] = {}
    for store in walk(body):
        load = _updated(store) if isinstance(store, LocalStore) else None
        if load is None or uses[load] != 1 or uses[store.value] != 1:  # type: ignore[attr-defined]
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
    inside = [statement for block in blocks(loop) for statement in walk(block)]
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
