"""Lets no parallel loop end before it starts, so that the number of its iterations does not wrap.

    for i in $a .. $b { ... }    ->    for i in $a .. max($b, $a) { ... }

A loop from 2147483647 to -2147483648, the bounds of a box around nothing, is empty. What is between them is 1 in
numbers of 32 bits: GPUs launched a thread. For OpenMP gcc counts the iterations of a loop in such numbers, too.
Bounds whose difference certainly fits stay: `range(n)`, `range(1, x.shape[0] - 1)`. On GPUs, whose sources count
iterations, steps are counted in unsigned numbers from a start that is not behind the end.
"""

from __future__ import annotations

from ...ir.builder import Builder
from ...ir.statements import Const, RangeFor, is_const
from ...ir.tasks import Kernel, Task
from ...ir.types import i32
from ..analysis.loops.stretches import interval_in
from ..context import PassContext

I32_MIN, I32_MAX = i32.limits


def empty_loops(kernel: Kernel, context: PassContext) -> bool:
    """Limit the ends of the loops of tasks by their starts where the difference may wrap."""
    if not context.capabilities.wraps_integers:
        return False
    changed = False
    for task in kernel.tasks:
        loop = task.loop
        if loop is None or loop.cells is not None or loop.order:
            continue
        for axis in range(len(loop.starts)):
            if _may_wrap(loop, axis, not context.capabilities.blocks_as_loops):
                _limit(task, loop, axis)
                changed = True
    return changed


def _may_wrap(loop: RangeFor, axis: int, counts: bool) -> bool:
    """Return whether a loop may end so far before it starts that the distance is no i32.

    counts: whether sources count iterations, in unsigned numbers if these may be far apart; a loop of C does not.
    """
    start, end, step = loop.starts[axis], loop.ends[axis], loop.steps[axis]
    if not isinstance(step, Const) or start.type != i32 or end.type != i32:
        return False
    (low, high), size = (start, end) if step.value > 0 else (end, start), abs(int(step.value))
    first, last = interval_in(low, loop), interval_in(high, loop)
    if last[0] - first[1] < I32_MIN:
        return True
    is_counted = (
        counts and size > 1 and not is_const(low, 0) and not (isinstance(start, Const) and isinstance(end, Const))
    )
    return is_counted and last[0] < first[1] and last[1] - first[0] + size > I32_MAX


def _limit(task: Task, loop: RangeFor, axis: int) -> None:
    step = loop.steps[axis]
    assert isinstance(step, Const)
    builder = Builder(task.prologue, loop.location)
    known = set(task.prologue.statements)
    bounds = (loop.ends[axis], loop.starts[axis])
    end, start = (bound if bound in known else builder.again(bound) for bound in bounds)
    loop.ends[axis] = builder.op("max" if step.value > 0 else "min", end, start)
