"""Extracts the bits of `x >> 2` in sums of loops, for drivers that leave out some of these sums.

    for k in 0..6:                      for k in 0..6:
        $3 = sar $1, 2          ->          $3 = shifted $1, 2     (GLSL: a function that extracts the upper bits)
        $4 = add $2, $3                     $4 = add $2, $3

NVIDIA's driver 580.159 runs two to four of the iterations, however many there are, of such a loop of constant bounds in
which the sum is under a condition of the index, and one of something else, where x is the same in all iterations. Sums
of extracted bits are right, and so are those of other operations but conversions of a 32-bit x to i16 and back.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeGuard

from ...ir.nodes import Effect, Statement, has_effect, reads, walk
from ...ir.statements import (
    Const,
    GlobalLoad,
    IfExp,
    LocalLoad,
    LocalStore,
    LoopIndex,
    MatrixInit,
    Operation,
    RangeFor,
    While,
    base_pointer,
)
from ...ir.tasks import Kernel
from ...ir.types import element_of
from ..context import PassContext

SUMS = frozenset({"add", "sub"})
EXTRACTED = {"sar": "shifted", "shr": "shifted_bits"}


def added_shifts(kernel: Kernel, context: PassContext) -> bool:
    """Rename the right shifts by a constant that a loop adds to a variable, if they may be the same each time."""
    if not context.capabilities.miscompiles_integers:
        return False
    loops = [s for s in kernel.statements() if isinstance(s, RangeFor | While)]
    shifts = {shift for loop in loops for shift in _added_in(loop)}
    for shift in shifts:
        shift.op = EXTRACTED[shift.op]
    return bool(shifts)


def _added_in(loop: RangeFor | While) -> Iterator[Operation]:
    """Yield the right shifts that the body adds to variables and elements, and that it does not change."""
    inside = list(walk(loop.body))
    stored = {base_pointer(s.pointer) for s in inside if isinstance(s, LocalStore)}
    for total in inside:
        if not (isinstance(total, Operation) and total.op in SUMS):
            continue
        first, second = total.operands
        for before, added in ((first, second), (second, first)):
            if isinstance(before, LocalLoad | GlobalLoad):
                yield from (s for s in _choices(added) if _is_shift(s) and not _changes(s, loop, stored))


def _choices(value: Statement) -> Iterator[Statement]:
    """Yield a value, or those of which a condition chooses it."""
    if isinstance(value, IfExp):
        results = (block.result for block in (value.then, value.otherwise))
        yield from (choice for result in results if result is not None for choice in _choices(result))
    elif isinstance(value, Operation) and value.op == "select":
        yield from (s for operand in value.operands[1:] for s in _choices(operand))
    else:
        yield value


def _is_shift(value: Statement) -> TypeGuard[Operation]:
    if not isinstance(value, Operation) or value.op not in EXTRACTED or value.type is None:
        return False
    count = value.operands[1]
    parts = count.elements if isinstance(count, MatrixInit) else [count]
    return element_of(value.type).bits == 32 and all(isinstance(c, Const) and 0 < int(c.value) < 32 for c in parts)


def _changes(value: Statement, loop: RangeFor | While, stored: set[Statement]) -> bool:
    """Return whether a value may differ from iteration to iteration. stored: the variables that the body sets."""
    waiting, seen = [value], {value}
    while waiting:
        part = waiting.pop()
        if isinstance(part, LoopIndex) and part.loop is loop:
            return True
        if (isinstance(part, LocalLoad) and base_pointer(part.pointer) in stored) or has_effect(part, Effect.WRITE):
            return True
        new = [value for value in reads(part) if value not in seen]
        seen.update(new)
        waiting += new
    return False
