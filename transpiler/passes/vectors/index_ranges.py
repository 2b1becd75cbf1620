"""Value ranges for the compiler: the source says in which range an index is that threads share, in C.

    #pragma omp parallel for                     #pragma omp parallel for
    for (int i = 0; i < n; i++) {                for (int i = 0; i < n; i++) {
        task(args, i);                    ->         ASSUME(0 <= i && i < n);
    }                                                task(args, i);

Where threads share a loop, gcc 12 computes the first and the last iteration of each, and no longer knows that the index
is below n. Since integers wrap (`-fwrapv`), so may `2 * i`, and each of the elements `x[i * 256 + k]` of a serial loop:
gcc loads them one by one, or gathers them. Correlations of 2,000 frames of 1,024 floats with 400 shifts took one core
1,357 ms before and 76 after (Taichi: 68), spectra of 1,500 frames 95 and 12 (26; both Intel Xeon).

An axis qualifies whose bounds are constants, and whose index is a term or a factor, in 32 bits, of the last index of an
array, which changes in the innermost loops, too: the index of another loop is a term, or iterations of it may become
lanes. Where only the launch knows the bounds, nobody knows whether something wraps.
"""

from __future__ import annotations

from ...ir.nodes import Statement, operands, walk
from ...ir.statements import Const, GlobalPtr, LoopIndex, Operation, RangeFor, While, is_const
from ...ir.tasks import Kernel, Task
from ...ir.types import i32
from ..analysis.queries import trip_count
from ..context import PassContext

LINEAR = frozenset({"add", "sub", "mul", "shl", "neg"})
"""Operations whose results gcc follows from one iteration to the next, if they do not wrap."""


def index_ranges(kernel: Kernel, context: PassContext) -> bool:
    """Mark the axes of such loops."""
    if not context.capabilities.vectorizes_loops:
        return False
    for task in kernel.tasks:
        task.ranged_axes = () if task.wide_counter else _ranged_axes(task)
    return any(task.ranged_axes for task in kernel.tasks)


def _ranged_axes(task: Task) -> tuple[int, ...]:
    loop = task.loop
    if loop is None or loop.order or task.synchronizes:
        return ()
    last = {len(loop.starts) - 1}
    serial = [s for s in walk(task.body) if isinstance(s, (RangeFor, While))]
    if task.lane_loops or any(isinstance(s, While) or trip_count(s) is None for s in serial):
        last = set()  # gcc knows it, or makes no vectors of these iterations
    used: set[int] = set()
    for pointer in [s for s in walk(task.body) if isinstance(s, GlobalPtr) and s.indices]:
        found = _terms(pointer.indices[-1])  # along which elements are neighbours
        axes = {s.axis for s in found if s.loop is loop}
        used |= axes if len(found) > 1 else axes & last
    if task.lane_loops:
        used.discard(len(loop.starts) - 1)  # which is that of a lane
    return tuple(axis for axis in sorted(used) if _is_known(loop, axis))


def _terms(index: Statement) -> set[LoopIndex]:
    """Return the indices of loops that are terms and factors of a number, if it is computed in 32 bits."""
    pending, seen = [index], {index}
    while pending:
        value = pending.pop()
        if isinstance(value, Operation) and value.op in LINEAR and value.type == i32:
            pending += [operand for operand in operands(value) if operand not in seen]
            seen.update(pending)
    return {s for s in seen if isinstance(s, LoopIndex) and s is not index}


def _is_known(loop: RangeFor, axis: int) -> bool:
    """Return whether a loop counts up from a constant to another one."""
    bounds = (loop.starts[axis], loop.ends[axis])
    return all(isinstance(bound, Const) for bound in bounds) and is_const(loop.steps[axis], 1)
