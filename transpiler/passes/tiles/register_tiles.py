"""Register tiling: lets the threads of a block combine rows and columns of arrays, as products of matrices do.

    for i, j in c {                          for i_tile step 64, j_tile step 64, thread in 0 .. 256 {
        s = 0.0                                  s: 4 x 4 numbers
        for k in range(n) {                      for k_next in 0 .. n + 16 step 16 {
            s += a[i, k] * b[k, j]    ->             a_next, b_next = the elements of these k that the thread loads
        }                                            for k in range(16), row in range(4), column in range(4) {
        c[i, j] = s                                      s[row, column] += a_tile[k, row] * b_tile[k, column]
    }                                                }
                                                     a_tile, b_tile = those of all threads, in shared memory
                                                 }
                                                 for row, column { c[i + row, j + column] = s[row, column] }
                                             }

With one iteration a thread, such a loop waits for two loads for each multiplication, and so loads each element as
often as the other array has columns. A block of 256 threads loads each element of a tile once for 64 iterations, and a
thread combines 4 + 4 numbers 16 times. While it does, the elements of the next tile are loaded: the first iteration
over tiles combines nothing. On CUDA large blocks whose tiles are all whole have two tiles of each array, one for each
of these, and wait once an iteration; the last iteration loads the last tile again, since a condition around the loads
costs more. A product of fields of 4096 x 4096 numbers took an H200 26.5 ms with a thread for each, 12.2 with four rows
a thread (`row_lanes`), 3.1 by tiles, and 2.9 with two.

The order of each sum is that of the source. The serial loop contains numbers and local variables, and loads elements
that depend on its index and on the row, or on its index and on the column; it is the only loop, and no element that it
loads is stored by the iterations.
"""

from __future__ import annotations

from math import gcd, prod

from ...ir.nodes import walk
from ...ir.statements import repeats
from ...ir.tasks import Apart, AtLeast, Choice, Condition, Kernel, Length, MultipleOf, Task
from ...options import Capabilities
from ..analysis.loops.scattered_sums import is_scattered, scattered
from ..analysis.queries import count_along, trip_count
from ..context import PassContext
from ..tasks.parts.copies import copy_of, put_in_place, say_when, split
from .parts.arranged_loops import arrange_axes, arrangements_of
from .parts.conditional_sums import with_whole_sums
from .parts.inner_columns import with_parallel_columns
from .parts.register_plan import (
    FEWEST,
    LARGE,
    LARGE_BUFFERED,
    MANY,
    THIN,
    Plan,
    Shape,
    large_shape,
    plan_of,
)
from .parts.sided_factors import arranged_copy, prepare_serial
from .parts.tiling import Tiling

FEW = 1 << 11
"""The most elements of an array of which blocks have copies in any case (`block_sums`)."""


def register_tiles(kernel: Kernel, context: PassContext) -> bool:
    """Give such loops of GPUs tiles."""
    capabilities, options = context.capabilities, context.options
    if not capabilities.has_shared_memory or capabilities.max_block_dim < LARGE.threads:
        return False
    if options.has_own_block_dim or not options.make_block_local:
        return False
    changed = False
    for task in [task for task in kernel.tasks if not _adds_to_few(task)]:
        plan = _arranged(task, capabilities, options.fast_math)
        if plan is None and _has_serial_loop(task) and with_whole_sums(whole := copy_of(task), options.fast_math):
            plan = _arranged(whole, capabilities, options.fast_math)
            if plan is not None:
                put_in_place(kernel, task, [whole])
                task = whole
        if plan is None and (wider := with_parallel_columns(task)) is not None:
            plan = _arranged(wider[0], capabilities, options.fast_math)
            if plan is not None:
                task = _with_parallel_columns(kernel, task, *wider)
        if plan is not None:
            for own, of_own in _by_size(kernel, task, plan, capabilities, options.fast_math):
                Tiling(kernel, own, of_own).run(options.fast_math and not options.deterministic)
            changed = True
    return changed


def _adds_to_few(task: Task) -> bool:
    """Return whether a task adds to few elements, and values say to which: threads wait for each other there."""
    added = scattered(task, reduces=True)
    return any(prod(array.shape or ()) <= FEW and is_scattered(task, added[array]) for array in added)


def _has_serial_loop(task: Task) -> bool:
    """Return whether a loop over several axes has another one inside."""
    return task.loop is not None and len(task.loop.starts) > 1 and any(map(repeats, walk(task.body)))


def _arranged(task: Task, capabilities: Capabilities, is_fast: bool) -> Plan | None:
    """Arrange the axes of a task as those of a product of matrices, if it is one; return the plan for a copy of it.

    The copy has one serial loop, while the task may still have several, for launches of few iterations.
    """
    for arrangement in arrangements_of(task):
        plan = plan_of(arranged_copy(task, arrangement, is_fast), capabilities)
        if plan is not None:
            arrange_axes(task, arrangement)
            return plan
    return None


def _with_parallel_columns(kernel: Kernel, task: Task, wider: Task, conditions: list[Apart]) -> Task:
    """Replace a task by one whose loop has one axis more; leave it for launches for which this would be wrong."""
    if not conditions:
        put_in_place(kernel, task, [wider])
        return wider
    choice = Choice(list(conditions))
    task.unless, wider.when = [*task.unless, choice], [*wider.when, choice]
    say_when(wider, task, conditions)
    put_in_place(kernel, task, [task, wider])
    return wider


def _by_size(
    kernel: Kernel, task: Task, plan: Plan, capabilities: Capabilities, is_fast: bool
) -> list[tuple[Task, Plan]]:
    """Return the tasks that get tiles, with their plans: several if only the launch knows how long the loop is.

    plan: of a copy of the task with one serial loop. One task more stays as it was, for few iterations.
    """
    if not plan.is_of_any_size:
        prepare_serial(task, is_fast)
        return [_planned(task, plan.shape, capabilities)]
    every, end = tuple(map(Length, range(len(plan.loop.starts)))), plan.serial_end
    few = split(task, *_at_least(plan, THIN), AtLeast(every, FEWEST), *plan.is_long)
    before = f"{task.launches}; " if task.launches else ""
    few.launches = f"{before}for fewer than {FEWEST:,} iterations, or {THIN} along an axis{' or inside' if end else ''}"
    task.launches = f"{before}for {FEWEST:,} iterations and more"
    prepare_serial(task, is_fast)
    task, plan = _planned(task, plan.shape, capabilities)
    found, shape = [(task, plan)], large_shape(plan, capabilities)
    if shape is not None and trip_count(plan.loop) is None:
        medium = split(task, *_at_least(plan, shape.extent), AtLeast(every, MANY))
        medium.launches = f"{before}for {FEWEST:,} to {MANY - 1:,} iterations, or {shape.extent} along an axis"
        task.launches = f"{before}for {MANY:,} iterations and more"
        found.insert(0, _planned(medium, plan.shape, capabilities))
        plan.shape = shape
        if capabilities.has_large_threads and plan.may_be_whole(LARGE_BUFFERED):
            found.insert(1, _planned(_with_whole_tiles(task, plan), shape, capabilities))
    put_in_place(kernel, task, [few, *(own for own, _ in found)])
    return found


def _at_least(plan: Plan, length: int) -> list[Condition]:
    """Return the conditions that rows and columns are so long, if only the launch knows that."""
    unknown = [axis for axis in (plan.row, plan.column) if count_along(plan.loop, axis) is None]
    return [AtLeast((Length(axis),), length) for axis in unknown]


def _planned(task: Task, shape: Shape, capabilities: Capabilities) -> tuple[Task, Plan]:
    """Return a task that has a plan, with a plan for a shape."""
    plan = plan_of(task, capabilities)
    assert plan is not None
    plan.shape = shape
    return task, plan


def _with_whole_tiles(task: Task, plan: Plan) -> Task:
    """Let a task have whole tiles, which are double-buffered; return one for the launches in which some are not."""
    shape = plan.shape = LARGE_BUFFERED
    plan.is_whole = True
    axes = [(Length(axis), shape.extent) for axis in (plan.row, plan.column) if count_along(plan.loop, axis) is None]
    depth = shape.depth // gcd(shape.depth, plan.serial_factor)
    serial = [] if plan.serial_end is None else [(plan.serial_end, depth)]
    other = split(task, *(MultipleOf(length, divisor) for length, divisor in [*axes, *serial]))
    other.launches = f"{task.launches}, if a tile is not whole"
    task.launches += ", by whole tiles"
    return other
