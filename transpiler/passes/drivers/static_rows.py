"""Leaves static loops over neighbouring elements as loops in C, whose compiler makes vectors of them.

    for j in 0..n                                       for j in 0..n
        for c in static(range(32))               ->         for c in 0..32
            s += q[c] * k[j, c]                                 s += q[c] * k[j, c]

gcc makes vectors of loops, not of straight-line code, which an unrolled loop is. Attention with rows of 32 numbers
took one core 13.7 ms before, 3.8 ms after; the nearest of 512 rows of 16 numbers .77 and .31 ms, of 64 numbers 3.5
and .46 ms (Zen 3, gcc 12).

The loop around gains more where it has vectors itself, and it can have them only if the inner loop is unrolled. So the
loops qualify whose elements are neighbours along the static loop, but a row apart along the loop around. Of loops with
up to 16 iterations gcc unrolls those without a hint, too; those inside of other short loops it takes together with
them, and they stay as they are.
"""

from __future__ import annotations

from ...ir.nodes import Block, Statement, blocks, walk
from ...ir.statements import (
    Alloca,
    ArgLoad,
    ArrayShape,
    Cast,
    Const,
    GlobalLoad,
    GlobalPtr,
    LocalLoad,
    LocalStore,
    LoopIndex,
    MatrixElement,
    MatrixPtr,
    Operation,
    RangeFor,
    While,
    base_pointer,
    is_const,
    repeats,
)
from ...ir.tasks import Kernel
from ...ir.threads import ThreadFor
from ...ir.types import Scalar
from ..analysis.queries import computed_from, is_dense, is_index_of, trip_count
from ..context import PassContext

FEWEST = 8
"""The fewest iterations of a loop that stays: they are a vector of f32."""
UNROLLED = 16
"""The most iterations of a loop that gcc unrolls without a hint."""
PLAIN = (Const, LoopIndex, ArgLoad, ArrayShape, GlobalPtr, MatrixPtr, Alloca, GlobalLoad, LocalLoad, LocalStore, Cast)
OPERATIONS = frozenset({"add", "sub", "mul", "div", "neg", "abs", "sqrt", "bit_and", "bit_or", "bit_xor"})
"""Operations that processors have for vectors."""


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
        if isinstance(statement, RangeFor) and statement.unroll and _is_row(statement, around, is_long, context):
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


def _is_row(loop: RangeFor, around: RangeFor | While, is_long: bool, context: PassContext) -> bool:
    """Return whether the iterations of a static loop are those of a vector, and those around it are not."""
    if len(loop.starts) > 1 or not is_const(loop.steps[0], 1):
        return False
    if (trip_count(loop) or 0) <= (FEWEST - 1 if is_long else UNROLLED):
        return False
    statements = list(walk(loop.body))
    if not all(is_plain(statement) for statement in statements):
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


def is_plain(statement: Statement) -> bool:
    """Return whether a statement is one of numbers that processors have for vectors."""
    if isinstance(statement, (GlobalPtr, MatrixPtr)):
        base = base_pointer(statement)
        return isinstance(base, Alloca) or (isinstance(base, GlobalPtr) and is_dense(base.array))
    if not isinstance(statement, LocalStore) and not (isinstance(statement.type, Scalar) and statement.type.bits > 1):
        return False
    if isinstance(statement, Operation):
        return statement.op in OPERATIONS
    if isinstance(statement, Cast):
        return isinstance(statement.value.type, Scalar)
    return isinstance(statement, (*PLAIN, MatrixElement))


def _is_element(pointer: Statement, loop: RangeFor, varying: set[Statement]) -> bool:
    """Return whether neighbouring iterations access neighbouring elements."""
    if isinstance(pointer, MatrixPtr):
        return pointer.origin not in varying and is_along(pointer.indices, loop, varying)
    return isinstance(pointer, GlobalPtr) and is_along(pointer.indices, loop, varying)


def is_along(indices: list[Statement], loop: RangeFor, varying: set[Statement]) -> bool:
    """Return whether the last index alone is one of a loop, or one of it and what does not vary in it."""
    *outer, last = indices
    if any(index in varying for index in outer):
        return False
    if isinstance(last, Operation) and last.op in ("add", "sub", "wrapping_add", "wrapping_sub"):
        fixed = [operand for operand in last.operands if operand not in varying]
        last = last.operands[0] if fixed != last.operands[:1] or last.op.endswith("sub") else last.operands[1]
        return len(fixed) == 1 and is_index_of(last, loop)
    return is_index_of(last, loop)


def is_combined(
    store: LocalStore, statements: list[Statement], loop: RangeFor, varying: set[Statement], context: PassContext
) -> bool:
    """Return whether iterations store in places of their own, or in a sum that may be one of several sums."""
    variable = base_pointer(store.pointer)
    if variable in statements:
        return isinstance(store.pointer, Alloca)
    if isinstance(store.pointer, MatrixPtr):  # the only place in this array, so nothing comes from other iterations
        places = [s for s in statements if isinstance(s, MatrixPtr) and base_pointer(s) is variable]
        return places == [store.pointer] and store.pointer in varying
    accesses = [s for s in statements if isinstance(s, (LocalLoad, LocalStore)) and base_pointer(s.pointer) is variable]
    others = [access for access in accesses if access is not store]
    value, kind = store.value, store.value.type
    if len(others) != 1 or not isinstance(value, Operation) or value.op not in ("add", "sub"):
        return False
    position = value.operands.index(others[0]) if others[0] in value.operands else None
    is_first = position == 0 or (position == 1 and value.op == "add")
    assert isinstance(kind, Scalar)
    uses = sum(others[0] in computed_from(s) for s in statements if isinstance(s, LocalStore))
    return is_first and uses == 1 and (context.options.fast_math or kind.kind != "float")


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
