"""Leaves short loops over neighbouring elements as loops in C, whose compiler makes vectors of them.

    for j in 0..n                                       for j in 0..n
        for c in static(range(32))               ->         for c in 0..32
            s += q[c] * k[j, c]                                 s += q[c] * k[j, c]

gcc makes vectors of loops, not of straight-line code, which an unrolled loop is. Attention with rows of 32 numbers
took one core 13.7 ms before, 3.8 ms after; the nearest of 512 rows of 16 numbers .77 and .31 ms, of 64 numbers 3.5
and .46 ms (Zen 3, gcc 12).

The loop around gains more where it has vectors itself, and it can have them only if the inner loop is unrolled. So the
loops qualify whose elements are neighbours along the static loop, but a row apart along the loop around. Of loops with
up to 16 iterations gcc unrolls those without a hint, too, static or not; those inside of other short loops it takes
together with them, and they stay as they are. Distances between 1,200 words of eight times 32 bits, which a function
counts by shifts and masks, as gcc recognizes, took one core 3.6 ms before, 1.1 ms after (Zen 4; LLVM: .72).
"""

from __future__ import annotations

from ...ir.functions import Call
from ...ir.nodes import Block, Effect, Statement, blocks, walk
from ...ir.statements import (
    GlobalLoad,
    GlobalPtr,
    LocalStore,
    MatrixElement,
    MatrixPtr,
    RangeFor,
    Return,
    While,
    base_pointer,
    is_const,
    repeats,
)
from ...ir.tasks import Kernel
from ...ir.threads import ThreadFor
from ...ir.types import Scalar
from ..analysis.loops.vector_rows import FEWEST, is_along, is_combined, is_plain
from ..analysis.queries import computed_from, is_index_of, trip_count
from ..context import PassContext

UNROLLED = 16
"""The most iterations of a loop that gcc unrolls without a hint."""


def static_rows(kernel: Kernel, context: PassContext) -> bool:
    """Take the hint from such loops."""
    if not context.capabilities.vectorizes_loops:
        return False
    changed = False
    for task in kernel.tasks:
        if task.loop is not None and not task.as_lanes:
            changed |= _in_block(task.body, task.loop, False, context)
    return changed


def _in_block(block: Block, around: RangeFor | While, is_long: bool, context: PassContext) -> bool:
    """Take the hint from loops in a block. around: the loop that it belongs to. is_long: it is no short serial one."""
    changed = False
    for statement in block:
        if isinstance(statement, ThreadFor):  # its iterations are the lanes of vectors
            continue
        if isinstance(statement, RangeFor) and _is_unrolled(statement) and _is_row(statement, around, is_long, context):
            statement.unroll = False
            statement.unroll_count = 1 if (trip_count(statement) or 0) <= UNROLLED else 0
            changed = True
        elif isinstance(statement, (RangeFor, While)) and repeats(statement):
            count = trip_count(statement) if isinstance(statement, RangeFor) else None
            changed |= _in_block(statement.body, statement, count is None or count > UNROLLED, context)
        else:
            for body in blocks(statement):
                changed |= _in_block(body, around, is_long, context)
    return changed


def _is_unrolled(loop: RangeFor) -> bool:
    """Return whether gcc unrolls a loop, by a hint or because it is short."""
    return loop.unroll or (not loop.unroll_count and (trip_count(loop) or UNROLLED + 1) <= UNROLLED)


def _is_row(loop: RangeFor, around: RangeFor | While, is_long: bool, context: PassContext) -> bool:
    """Return whether the iterations of a loop are those of a vector, and those around it are not."""
    if len(loop.starts) > 1 or not is_const(loop.steps[0], 1):
        return False
    if (trip_count(loop) or 0) <= (FEWEST - 1 if is_long else UNROLLED):
        return False
    statements = list(walk(loop.body))
    if not all(is_plain(s) or _computes(s) for s in statements):
        return False
    varying = {s for s in statements if any(is_index_of(value, loop) for value in computed_from(s))}
    loads = [s for s in statements if isinstance(s, GlobalLoad) and s.pointer in varying]
    if not loads or not all(_is_element(load.pointer, loop, varying) for load in loads):
        return False
    elements = [s for s in statements if isinstance(s, MatrixElement) and s in varying]
    if not all(is_along(s.indices, loop, varying) for s in elements):
        return False
    if not all(is_combined(s, statements, loop, varying, context) for s in statements if isinstance(s, LocalStore)):
        return False
    places = [s for s in statements if isinstance(s, MatrixPtr) and s in varying]
    if not all(_is_element(place, loop, varying) for place in places):
        return False
    return any(_is_apart(load.pointer, around) for load in loads)


def _computes(statement: Statement) -> bool:
    """Return whether a statement calls a function that only computes a number from numbers."""
    if not isinstance(statement, Call) or statement.EFFECT != Effect.NONE or not isinstance(statement.type, Scalar):
        return False
    inside = walk(statement.function.body)
    return all(is_plain(s) or _computes(s) or (isinstance(s, Return) and len(s.values) == 1) for s in inside)


def _is_element(pointer: Statement, loop: RangeFor, varying: set[Statement]) -> bool:
    """Return whether neighbouring iterations access neighbouring elements."""
    if isinstance(pointer, MatrixPtr):
        return pointer.origin not in varying and is_along(pointer.indices, loop, varying)
    return isinstance(pointer, GlobalPtr) and is_along(pointer.indices, loop, varying)


def _is_apart(pointer: Statement, around: RangeFor | While) -> bool:
    """Return whether the iterations of the loop around a static one access elements that are no neighbours."""
    if isinstance(around, While):
        return True
    base = base_pointer(pointer)
    assert isinstance(base, GlobalPtr)
    outer = base.indices if isinstance(pointer, MatrixPtr) else base.indices[:-1]
    return any(
        is_index_of(value, around) and value.axis == len(around.starts) - 1
        for index in outer
        for value in computed_from(index)
    )
