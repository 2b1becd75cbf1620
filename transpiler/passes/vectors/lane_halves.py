"""Converts halves by integers in loops of C, whose compiler makes vectors of these but not of conversions.

    for d in 0..n                                    for d in 0..n
        s += w[d] * (float)k[i, d]           ->          s += w[d] * f32_from_f16(&k[i, d])

gcc 12 makes no vectors of a loop that converts an f16, whatever instructions the processor has for it, and where that
has arithmetic on halves (AVX512-FP16), each conversion waits for the one before it. A row of 64 numbers times another
took one core .39 ms before and .055 ms after, for 4,096 of them; with F16C .28 and .12 ms (gcc 12). Outside of such
loops one conversion by an instruction takes less time, so only loops qualify whose accesses are neighbours and whose
other operations all are some of vectors.
"""

from __future__ import annotations

from ...ir.functions import Reference
from ...ir.nodes import Statement, count_uses, walk
from ...ir.statements import (
    Cast,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    LocalStore,
    Operation,
    RangeFor,
    While,
    is_const,
    repeats,
)
from ...ir.tasks import Kernel
from ...ir.threads import ThreadFor
from ...ir.types import Scalar, f16, f32
from ..analysis.loops.vector_rows import FEWEST, is_along, is_combined, is_plain
from ..analysis.queries import computed_from, is_dense, is_index_of, trip_count
from ..context import PassContext

MORE = frozenset({"min", "max", "at_most", "at_least", "running_min", "running_max", "raw_div"})
"""Operations of vectors that `static_rows` does not look for."""


def lane_halves(kernel: Kernel, context: PassContext) -> bool:
    """Mark the conversions from and to f16 in such loops."""
    if not context.capabilities.vectorizes_loops or f16 not in context.scalars(kernel):
        return False
    changed = False
    for task in kernel.tasks:
        uses = count_uses(task.body)
        loops: list[Statement] = [s for s in walk(task.body) if isinstance(s, RangeFor) and not s.unroll]
        for loop in [*loops, *([task.loop] if task.loop is not None else [])]:
            assert isinstance(loop, RangeFor)
            statements = list(walk(task.body if loop is task.loop else loop.body))
            if not any(isinstance(s, (RangeFor, While, ThreadFor)) and repeats(s) for s in statements):
                for cast in _conversions(loop, statements, uses, context):
                    cast.in_lanes = changed = True
    return changed


def _conversions(
    loop: RangeFor, statements: list[Statement], uses: dict[Statement, int], context: PassContext
) -> list[Cast]:
    """Return the conversions from and to f16 in a loop of which vectors can be made; [] for others."""
    if not is_const(loop.steps[-1], 1) or (trip_count(loop) or FEWEST) < FEWEST:
        return []
    varying = {s for s in statements if any(_is_last_index(value, loop) for value in computed_from(s))}
    if not all(_is_of_lanes(s, statements, loop, varying, context) for s in statements):
        return []
    loads = [s for s in statements if isinstance(s, Cast) and s.type == f32 and s.value in varying]
    loads = [s for s in loads if isinstance(s.value, GlobalLoad) and s.value.type == f16 and uses[s.value] == 1]
    values = [s.value for s in statements if isinstance(s, GlobalStore)]
    stores = [s for s in values if isinstance(s, Cast) and s.type == f16 and s.value.type == f32 and uses[s] == 1]
    known = {*(load.value for load in loads), *stores}
    if any(s.type == f16 and s in varying and s not in known and not isinstance(s, GlobalPtr) for s in statements):
        return []  # not by integers, so there are no vectors
    return [*loads, *stores]


def _is_of_lanes(
    statement: Statement, statements: list[Statement], loop: RangeFor, varying: set[Statement], context: PassContext
) -> bool:
    """Return whether neighbouring iterations can have a statement together."""
    match statement:
        case GlobalLoad(pointer=pointer):
            return is_plain(statement) and (pointer not in varying or _is_along(pointer, loop, varying))
        case GlobalStore(pointer=pointer):
            return pointer in varying and _is_along(pointer, loop, varying)
        case LocalStore(pointer=Reference()):
            return isinstance(statement.value, Operation) and statement.value.op in ("add", "sub")
        case LocalStore():
            return is_combined(statement, statements, loop, varying, context)
        case Operation(op=op) if op in MORE:
            return isinstance(statement.type, Scalar)
    return isinstance(statement, Reference) or is_plain(statement)


def _is_last_index(value: Statement, loop: RangeFor) -> bool:
    return is_index_of(value, loop) and value.axis == len(loop.starts) - 1


def _is_along(pointer: Statement, loop: RangeFor, varying: set[Statement]) -> bool:
    """Return whether neighbouring iterations access neighbouring elements of an array."""
    return isinstance(pointer, GlobalPtr) and is_dense(pointer.array) and is_along(pointer.indices, loop, varying)
