"""Reports loops that a driver would end early: lavapipe (Mesa 22.3) silently ends loops after 65,535 iterations.

Its counter is shared by all loops of 8 threads. The device finds out whether that happened
(`devices/vulkan/lavapipe/limits.py`) and raises an error, which names the task. This pass adds where: a loop with
a known trip count is reported when it is compiled; under `debug` every iteration of a thread is counted, and one that
comes near the limit stops with an assertion:

    for k in range(n):     ->    for k in range(n):
        ...                          iterations += 1
                                     assert iterations < 65000, "..."
                                     ...

Trip counts that depend on arguments are checked at launch (`TaskSource.serial_turns`).
Source: LP_MAX_TGSI_LOOP_ITERATIONS of Mesa; the limit was also measured.
"""

from __future__ import annotations

from ...errors import SourceLocation
from ...ir.builder import Builder
from ...ir.functions import Call, Function
from ...ir.nodes import Block, blocks, walk
from ...ir.statements import Alloca, Assert, RangeFor, While, repeats
from ...ir.tasks import Kernel
from ...ir.types import i32
from ..analysis.queries import trip_count
from ..context import PassContext

MARGIN = 535
"""The counter stops this many iterations before the driver does, so that the failure is still reported."""


def iteration_limit(kernel: Kernel, context: PassContext) -> bool:
    """Warn of loops with more iterations than the target supports; under `debug` count them."""
    limit = context.capabilities.loop_iteration_limit
    if limit is None:
        return False
    known: dict[Function, int] = {}
    for task in kernel.tasks:
        longest = _known_iterations(task.body, known)
        if longest[0] > limit:
            location = longest[1].location
            context.warnings.append(
                f"{location.describe()}\nA thread of kernel `{kernel.name}` runs {longest[0]:,} iterations of serial "
                f"loops here; this driver (lavapipe) ends them after {limit:,}, and the launch fails. "
                "Hint: use ti.cpu or a GPU, or make the outer loop parallel"
            )
    if not context.options.debug:
        return False
    roots = [(task.body, task.location) for task in kernel.tasks]
    # A function counts only the iterations of its own loops, from zero in each call.
    roots += [(function.body, function.location) for function in kernel.functions]
    changed = [_count_iterations(body, location, limit - MARGIN) for body, location in roots]
    return any(changed)


def _known_iterations(block: Block, known: dict[Function, int]) -> tuple[int, RangeFor]:
    """Return the known number of iterations of the loops in `block`, and the loop with most of them.

    known: iterations of a call of each function; this function adds missing ones.
    """
    total, longest, most = 0, RangeFor([], [], [], []), 0
    for statement in block.statements:
        iterations, loop = 0, longest
        for inner in blocks(statement):
            inner_iterations, inner_loop = _known_iterations(inner, known)
            if inner_iterations > iterations:
                iterations, loop = inner_iterations, inner_loop
        if isinstance(statement, Call):
            if statement.function not in known:
                known[statement.function] = _known_iterations(statement.function.body, known)[0]
            iterations = known[statement.function]
        if isinstance(statement, RangeFor):
            count = trip_count(statement) or 0  # of a loop of unknown length
            iterations, loop = count * (int(repeats(statement)) + iterations), statement
        total += iterations
        if iterations > most:
            longest, most = loop, iterations
    return total, longest


def _count_iterations(body: Block, location: SourceLocation, limit: int) -> bool:
    """Count the iterations of all loops of a task or function in one variable, and stop at `limit`."""
    loops = [statement for statement in walk(body) if isinstance(statement, (RangeFor, While)) and repeats(statement)]
    if not loops:
        return False
    counter = Alloca(type=i32, name="iterations", location=location)
    for loop in loops:
        builder = Builder(Block(), loop.location)
        iterations = builder.op("add", builder.load(counter), builder.const(1))
        builder.store(counter, iterations)
        message = (
            f"a thread ran {limit:,} iterations of serial loops; this driver (lavapipe) would silently end them soon"
        )
        builder.add(Assert(builder.op("lt", iterations, builder.const(limit)), message, [], "iterations"))
        loop.body.statements[:0] = builder.block.statements
    start = Builder(Block(), location)
    start.add(counter)
    start.store(counter, start.const(0))
    body.statements[:0] = start.block.statements
    return True
