"""Finds the statements of which gcc 12 makes no vectors (SIMD), whatever else they compute.

It makes vectors of the iterations of a loop only if their number is known before it runs and none of them calls the C
library or has an atomic operation, and of a loop around others only where a pass asks for it (`vector_lanes`,
`lane_loops`, `lane_whiles`).
"""

from __future__ import annotations

from collections.abc import Iterator

from ....ir.functions import Call, reachable
from ....ir.nodes import Block, Statement, blocks, operands, walk
from ....ir.ops import LIBRARY
from ....ir.statements import (
    AtomicOp,
    Break,
    IfExp,
    LocalLoad,
    LocalStore,
    Operation,
    RangeFor,
    While,
    base_pointer,
    repeats,
)
from ....ir.tasks import Kernel
from ....ir.threads import ThreadFor

LOGICAL = ("logical_and", "logical_or")


def scalar_places(kernel: Kernel) -> set[Statement]:
    """Return these statements of a kernel's tasks, and of the functions that only such statements call."""
    own = [block for task in kernel.tasks for block in task.roots()]
    found = {s for block in own for s in _inside(block, _has_no_vectors(block))}
    functions = set(kernel.functions)
    while True:
        scalars = found | {s for f in kernel.functions for s in _inside(f.body, f in functions)}
        calls = [s for block in kernel.roots() for s in walk(block) if isinstance(s, Call)]
        left = functions - {call.function for call in calls if call not in scalars}
        if left == functions:
            return scalars
        functions = left


def _inside(block: Block, is_scalar: bool) -> Iterator[Statement]:
    """Yield these statements of a block. is_scalar: those that are in no loop inside are among them."""
    for statement in block:
        if is_scalar:
            yield statement
        if isinstance(statement, (RangeFor, While)) and repeats(statement):
            inside = _ends_anytime(statement) or _has_no_vectors(statement.body) or _exchanges(statement.body)
        else:
            inside = is_scalar and not isinstance(statement, ThreadFor)
        for inner in blocks(statement):
            yield from _inside(inner, inside)


def _has_no_vectors(body: Block) -> bool:
    """Return whether something in the body of a loop keeps its iterations from being lanes."""
    statements = list(reachable(body))
    if any(isinstance(s, ThreadFor) for s in statements):
        return False
    return any(
        isinstance(s, AtomicOp)
        or (isinstance(s, Operation) and s.op in LIBRARY)
        or (isinstance(s, (RangeFor, While)) and repeats(s) and _ends_anytime(s))
        for s in statements
    )


def _ends_anytime(loop: RangeFor | While) -> bool:
    """Return whether a loop has a `break`, or its condition is not about a variable that counts."""
    return _breaks(loop.body) or (isinstance(loop, While) and not _counts(loop))


def _breaks(block: Block) -> bool:
    return any(
        isinstance(s, Break) or (not isinstance(s, (RangeFor, While)) and any(map(_breaks, blocks(s)))) for s in block
    )


def _counts(loop: While) -> bool:
    """Return whether the condition is about a variable alone that changes by the same number in each iteration."""
    if any(isinstance(s, IfExp) or (isinstance(s, Operation) and s.op in LOGICAL) for s in walk(loop.condition)):
        return False  # `not done and k < 20`
    inside = [s for body in (loop.condition, loop.body) for s in walk(body)]
    stores = [s for s in inside if isinstance(s, LocalStore)]
    compared = {s.pointer for s in walk(loop.condition) if isinstance(s, LocalLoad)}
    stored = [s.pointer for s in stores]
    changing = {s for s in inside if operands(s) and not (isinstance(s, LocalLoad) and s.pointer not in stored)}
    counts = [s for s in stores if s.pointer in compared and stored.count(s.pointer) == 1 and _is_sum(s, changing)]
    return any(s in loop.body.statements for s in counts)


def _is_sum(store: LocalStore, changing: set[Statement]) -> bool:
    """Return whether a variable takes its last value and a number that is the same in all iterations."""
    if not isinstance(store.value, Operation):
        return False
    others = [o for o in store.value.operands if not (isinstance(o, LocalLoad) and o.pointer is store.pointer)]
    return len(others) < len(store.value.operands) and not any(o in changing for o in others)


def _exchanges(body: Block) -> bool:
    """Return whether an iteration sorts: it stores the lesser of two numbers, or the greater, for later iterations.

    Compilers make vectors of a variable that takes one of both, and is the least of all at the end.
    """
    own = list(walk(body))
    inside, pairs = set(own), set[frozenset[object]]()
    for value in own:
        if isinstance(value, Operation) and value.op == "min":
            pairs.add(_compared(value))
    others = {_compared(v) for v in own if isinstance(v, Operation) and v.op == "max"}
    stored = [s.value for s in own if isinstance(s, LocalStore) and base_pointer(s.pointer) not in inside]
    return any(isinstance(v, Operation) and v.op in ("min", "max") and _compared(v) in pairs & others for v in stored)


def _compared(extreme: Operation) -> frozenset[object]:
    """Return what an extreme compares: places that are loaded, or values."""
    return frozenset(_place(o.pointer) if isinstance(o, LocalLoad) else o for o in extreme.operands)


def _place(pointer: Statement) -> object:
    return (base_pointer(pointer), *operands(pointer)[1:]) if pointer.OPERANDS else pointer
