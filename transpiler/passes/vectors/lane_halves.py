"""Converts halves by integers in loops of C, whose compiler makes vectors of these but not of conversions.

    for d in 0..n                                    for d in 0..n
        s += w[d] * (float)k[i, d]           ->          s += w[d] * f32_from_f16(&k[i, d])

gcc 12 makes no vectors of a loop that converts an f16, whatever instructions the processor has for it, and where that
has arithmetic on halves (AVX512-FP16), each conversion waits for the one before it. A row of 64 numbers times another
took one core .39 ms before and .055 ms after, for 4,096 of them; with F16C .28 and .12 ms (gcc 12). Outside of such
loops one conversion by an instruction takes less time, so only loops qualify whose accesses are neighbours and whose
other operations all are some of vectors; among these are loops whose iterations are lanes although each has a loop of
its own (`vector_lanes`, `lane_loops`): sums of five rows of 400,000 halves took 3.7 ms before, .47 ms after.

A kernel that only converts halves is compiled without AVX512-FP16: sums of 400,000 rows of five took 5.7 ms with its
conversions, and take 1.4 ms with those of F16C, whose results are the same.
"""

from __future__ import annotations

from ...ir.functions import Reference
from ...ir.nodes import Statement, count_uses, operands, walk
from ...ir.statements import (
    Alloca,
    Cast,
    Const,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    LocalLoad,
    LocalStore,
    MatrixElement,
    MatrixInit,
    MatrixPtr,
    Operation,
    RangeFor,
    StructElement,
    StructInit,
    StructPtr,
    While,
    is_const,
    repeats,
)
from ...ir.tasks import Kernel, Task
from ...ir.threads import ThreadFor
from ...ir.types import Scalar, element_of, f16, f32, scalars_of
from ..analysis.loops.vector_rows import FEWEST, is_along, is_combined, is_plain
from ..analysis.queries import computed_from, is_dense, is_index_of, trip_count
from ..context import PassContext

MOVES = (
    Alloca, Const, GlobalLoad, GlobalPtr, GlobalStore, LocalLoad, LocalStore, MatrixElement, MatrixInit, MatrixPtr,
    StructElement, StructInit, StructPtr,
)  # fmt: skip
MORE = frozenset(
    {"min", "max", "at_most", "at_least", "running_min", "running_max", "scalar_min", "scalar_max", "raw_div"}
)
"""Operations of vectors that `static_rows` does not look for."""


def lane_halves(kernel: Kernel, context: PassContext) -> bool:
    """Mark the conversions from and to f16 in such loops."""
    if not context.capabilities.vectorizes_loops or f16 not in context.scalars(kernel):
        return False
    changed = False
    for task in kernel.tasks:
        uses = count_uses(task.body)
        for loop, statements in _loops(task):
            for cast in _conversions(task, loop, statements, uses, context):
                cast.in_lanes = changed = True
    everything = list(kernel.statements())
    has_others = any(_is_conversion(s) and not s.in_lanes for s in everything if isinstance(s, Cast))
    kernel.only_converts_halves = has_others and all(map(_only_converts, everything))
    return changed or kernel.only_converts_halves


def _is_conversion(cast: Cast) -> bool:
    """Return whether a half becomes a float, or a float a half; also those of vectors."""
    return {element_of(s.type) for s in (cast, cast.value) if s.type is not None} == {f16, f32}


def _only_converts(statement: Statement) -> bool:
    """Return whether a statement does no more with halves than to move or convert them."""
    types = [s.type for s in (statement, *operands(statement)) if s.type is not None]
    if isinstance(statement, MOVES) or not any(f16 in scalars_of(type) for type in types):
        return True
    return isinstance(statement, Cast) and (statement.bits or _is_conversion(statement))


def _loops(task: Task) -> list[tuple[RangeFor, list[Statement]]]:
    """Return the loops of which vectors may be made, and the statements of their iterations."""
    if task.loop is not None and task.as_lanes:
        return [(task.loop, list(walk(task.body)))]
    if task.loop is not None and task.lane_loops:
        return [(task.loop, list(walk(s.body))) for s in walk(task.body) if isinstance(s, ThreadFor)]
    loops = [(s, list(walk(s.body))) for s in walk(task.body) if isinstance(s, RangeFor) and not s.unroll]
    loops += [(task.loop, list(walk(task.body)))] if task.loop is not None else []
    return [(loop, inside) for loop, inside in loops if not any(_is_loop(s) for s in inside)]


def _is_loop(statement: Statement) -> bool:
    return isinstance(statement, (RangeFor, While, ThreadFor)) and repeats(statement)


def _conversions(
    task: Task, loop: RangeFor, statements: list[Statement], uses: dict[Statement, int], context: PassContext
) -> list[Cast]:
    """Return the conversions from and to f16 in a loop of which vectors can be made; [] for others."""
    if not is_const(loop.steps[-1], 1) or (trip_count(loop) or FEWEST) < FEWEST:
        return []
    varying = {s for s in statements if any(_is_last_index(value, loop) for value in computed_from(s))}
    are_lanes = task.is_in_lanes
    if not are_lanes and not all(_is_of_lanes(s, statements, loop, varying, context) for s in statements):
        return []
    loads = [s for s in statements if isinstance(s, Cast) and s.type == f32 and (are_lanes or s.value in varying)]
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
