"""Widening of induction variables: counts the iterations of a loop over neighbours in one axis by 64 bits, in C.

    for i in range(4, n - 4) {                for (long long i = 4; i < n - 4; i++) {
        for k in static(range(9)) {     ->        for (int k = 0; k < 9; k++) {
            s += x[i + k - 4]                         s += x(i + k - 4);

An index of 32 bits may wrap (`-fwrapv`) in one of nine neighbours and not in the next, so that gcc 12 takes them for
elements anywhere, and makes no vectors of the loop, or tests first whether some wrap. Windows of nine of 40,000
floats took one core .105 ms before, .014 ms after (.22 ms if the loop over the window is not static); three neighbours
.030 ms before, .006 ms after.

A loop qualifies that uses its index only in sums with small numbers, which are indices of arrays with one axis: where
such a sum leaves 32 bits there is no element, wrapped or not. Other uses of the index would have to be 32 bits wide.
"""

from __future__ import annotations

from ...ir.nodes import Statement, operands, walk, walk_blocks
from ...ir.statements import Const, GlobalPtr, LoopIndex, Operation, RangeFor, While, is_const
from ...ir.tasks import Kernel, Task
from ...ir.types import i32
from ..analysis.queries import is_index_of, trip_count
from ..context import PassContext

FARTHEST = 1 << 16
"""Number that is added to an index, or subtracted from it, at most."""


def wide_counters(kernel: Kernel, context: PassContext) -> bool:
    """Mark the tasks of such loops."""
    if not context.capabilities.vectorizes_loops:
        return False
    for task in kernel.tasks:
        task.wide_counter = _is_plain(task) and _counts_places(task)
    return any(task.wide_counter for task in kernel.tasks)


def _is_plain(task: Task) -> bool:
    """Return whether a task is a loop over one axis, one iteration after another."""
    loop = task.loop
    if loop is None or len(loop.starts) > 1 or not is_const(loop.steps[0], 1) or loop.cells is not None or loop.order:
        return False
    loops = [s for s in walk(task.body) if isinstance(s, (RangeFor, While))]
    if any(isinstance(inner, While) or trip_count(inner) is None for inner in loops):  # it has no vectors in any case
        return False
    others = task.reductions or task.private or task.synchronizes or task.lane_loops or task.choices
    return loop.starts[0].type == i32 and not others


def _counts_places(task: Task) -> bool:
    """Return whether the index of a loop is only used to access elements, and neighbours of these."""
    loop = task.loop
    statements = list(walk(task.body))
    sums: set[Statement] = {s for s in statements if is_index_of(s, loop)}
    has_neighbours = False
    for statement in statements:
        if not any(operand in sums for operand in operands(statement)):
            continue
        if isinstance(statement, Operation) and statement.op in ("add", "sub") and statement.type == i32:
            added = [operand for operand in statement.operands if operand not in sums]
            if (
                len(added) != 1
                or (statement.op == "sub" and added[0] is statement.operands[0])
                or not _is_near(added[0])
            ):
                return False
            sums.add(statement)
            has_neighbours = True
        elif not isinstance(statement, GlobalPtr) or len(statement.indices) != 1 or statement.is_flat:
            return False
    results = [block.result for block in walk_blocks(task.body)]
    return has_neighbours and not any(result in sums for result in results)


def _is_near(value: Statement) -> bool:
    """Return whether a value is a small number: a constant, or an index of a loop with constant bounds."""
    if isinstance(value, LoopIndex) and isinstance(value.loop, RangeFor) and value.axis == 0:
        bounds = [value.loop.starts[0], value.loop.ends[0]]
        return all(isinstance(bound, Const) and abs(bound.value) <= FARTHEST for bound in bounds)
    if isinstance(value, Operation) and value.op in ("add", "sub"):
        return all(map(_is_near, value.operands))
    return isinstance(value, Const) and abs(value.value) <= FARTHEST
