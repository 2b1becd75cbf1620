"""Unrolling of serial loops in tasks with few threads: a thread has the loads of 16 iterations under way (CUDA).

    for k in 0 .. 256 { v += f(p[k]) }        ->        for k in 0 .. 256 unroll 16 { v += f(p[k]) }

NVRTC unrolls such a loop four times. That is enough where many warps run alternately; 16,384 threads are four warps on
each multiprocessor of an H200, which wait for the loads of four iterations together. The velocities of 16,384 parts of
vortices took 3.13 ms before and 1.22 after, filters with feedback of 4,096 channels .153 and .067.

Only of loops with a known number of iterations, few operations, and loads whose places depend on no other load in the
loop: those of lists of neighbours took 1.8 of the time.
"""

from __future__ import annotations

from ...ir.functions import reachable
from ...ir.nodes import Effect, Remark, Statement, walk
from ...ir.statements import (
    AtomicOp,
    Break,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    RangeFor,
    While,
    base_pointer,
    is_const,
)
from ...ir.tasks import Kernel, Task
from ..analysis.queries import FEW_THREADS, computed_from, count_operations, trip_count
from ..context import PassContext

AHEAD = 16
SHORTEST = 2 * AHEAD
"""The fewest iterations of a serial loop."""
MOST = 96
"""The most operations of an iteration, on single numbers."""
REMARK = "few threads: each has the loads of 16 iterations under way (loads_ahead)"


def loads_ahead(kernel: Kernel, context: PassContext) -> bool:
    """Mark the innermost serial loops of such tasks."""
    if not context.capabilities.has_launch_bounds:
        return False
    changed = False
    for task in kernel.tasks:
        if task.loop is None or trip_count(task.loop) not in FEW_THREADS:
            continue
        for loop in [s for s in walk(task.body) if isinstance(s, RangeFor) and _is_long(s)]:
            if _loads_ahead(task, loop):
                loop.unroll_count, changed = AHEAD, True
                loop.remarks = (*loop.remarks, Remark(REMARK, "above", loop.location))
    return changed


def _is_long(loop: RangeFor) -> bool:
    """Return whether a loop runs often, in steps of 1, and has no hint."""
    is_plain = len(loop.starts) == 1 and is_const(loop.steps[0], 1) and not (loop.unroll or loop.unroll_count)
    return is_plain and (trip_count(loop) or 0) >= SHORTEST


def _loads_ahead(task: Task, loop: RangeFor) -> bool:
    """Return whether a loop loads, and the loads of an iteration wait for nothing of those before it."""
    inside = list(reachable(loop.body))
    if any(map(_waits, inside)) or sum(map(count_operations, inside)) > MOST:
        return False
    loads = {s: base_pointer(s.pointer) for s in inside if isinstance(s, GlobalLoad)}
    stores = [base_pointer(s.pointer) for s in inside if isinstance(s, GlobalStore)]
    read = [place.array for place in loads.values() if isinstance(place, GlobalPtr)]
    written = [place.array for place in stores if isinstance(place, GlobalPtr)]
    if len(read) + len(written) < len(loads) + len(stores) or all(array.is_shared for array in read):
        return False
    if any(task.may_share(array, other) for array in read for other in written):
        return False
    return all(loads.keys().isdisjoint(computed_from(place)) for place in loads.values())


def _waits(statement: Statement) -> bool:
    """Return whether loads behind a statement wait for it, or there are many of it."""
    return isinstance(statement, (AtomicOp, Break, RangeFor, While)) or bool(statement.EFFECT & Effect.FENCE)
