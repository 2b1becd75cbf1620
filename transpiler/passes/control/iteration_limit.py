"""Tells of loops that a driver would end early: lavapipe (Mesa 22.3) silently stops a thread after 65,535 turns.

Its counter is shared by all loops of a thread. A loop whose turns are known is reported when it is compiled; under
`debug` every turn is counted, and a thread that comes near the limit ends with an assertion:

    for k in range(n):     ->    for k in range(n):
        ...                          turns += 1
                                     assert turns < 65000, "..."
                                     ...

Turns that follow from arguments are checked at launch (`TaskSource.serial_turns`).
Source: LP_MAX_TGSI_LOOP_ITERATIONS of Mesa; measured in the project's facts.
"""

from __future__ import annotations

from ...errors import SourceLocation
from ...ir.builder import Builder
from ...ir.functions import Call, Function
from ...ir.nodes import Block, blocks, walk
from ...ir.statements import Alloca, Assert, Const, RangeFor, While
from ...ir.tasks import Kernel
from ...ir.types import i32
from ..context import PassContext

MARGIN = 535
"""The counter stops this much before the driver does, so that the report still gets out."""


def iteration_limit(kernel: Kernel, context: PassContext) -> bool:
    """Warn of loops with more turns than the target takes; under `debug` count them."""
    limit = context.capabilities.loop_iteration_limit
    if limit is None:
        return False
    known: dict[Function, int] = {}
    for task in kernel.tasks:
        longest = _known_turns(task.body, known)
        if longest[0] > limit:
            location = longest[1].location
            context.warnings.append(
                f"{location.describe()}\nA thread of kernel `{kernel.name}` runs {longest[0]:,} turns of serial loops "
                f"here; this driver (lavapipe) silently ends them after {limit:,}. "
                "Hint: use ti.cpu or a GPU, or make the outer loop parallel"
            )
    if not context.options.debug:
        return False
    roots = [(task.body, task.location) for task in kernel.tasks]
    # A function counts anew in each call: it sees its own loops only.
    roots += [(function.body, function.location) for function in kernel.functions]
    changed = [_count_turns(body, location, limit - MARGIN) for body, location in roots]
    return any(changed)


def _known_turns(block: Block, known: dict[Function, int]) -> tuple[int, RangeFor]:
    """Return how many turns the loops in `block` run at least, and the loop that runs most of them.

    known: turns of a call, filled by the way.
    """
    total, longest, most = 0, RangeFor([], [], [], []), 0
    for statement in block.statements:
        turns, loop = 0, longest
        for inner in blocks(statement):
            inner_turns, inner_loop = _known_turns(inner, known)
            if inner_turns > turns:
                turns, loop = inner_turns, inner_loop
        if isinstance(statement, Call):
            if statement.function not in known:
                known[statement.function] = _known_turns(statement.function.body, known)[0]
            turns = known[statement.function]
        if isinstance(statement, RangeFor):
            trips = _trips(statement)
            turns, loop = trips * (1 + turns), statement
        total += turns
        if turns > most:
            longest, most = loop, turns
    return total, longest


def _trips(loop: RangeFor) -> int:
    """Return the turns of a loop with constant bounds, else 0: nothing is known then."""
    trips = 1
    for begin, end, step in zip(loop.begins, loop.ends, loop.steps, strict=True):
        if not (isinstance(begin, Const) and isinstance(end, Const) and isinstance(step, Const)):
            return 0
        trips *= len(range(int(begin.value), int(end.value), int(step.value)))
    return trips


def _count_turns(body: Block, location: SourceLocation, limit: int) -> bool:
    """Count the turns of all loops of a task or function in one variable, and stop at `limit`."""
    loops = [statement for statement in walk(body) if isinstance(statement, RangeFor | While)]
    if not loops:
        return False
    counter = Alloca(type=i32, name="turns", location=location)
    for loop in loops:
        builder = Builder(Block())
        builder.location = loop.location
        turns = builder.op("add", builder.load(counter), builder.const(1))
        builder.store(counter, turns)
        message = f"a thread ran {limit:,} turns of serial loops; this driver (lavapipe) would silently end them soon"
        builder.add(Assert(builder.op("lt", turns, builder.const(limit)), message, [], "iterations"))
        loop.body.statements[:0] = builder.block.statements
    start = Builder(Block())
    start.location = location
    start.add(counter)
    start.store(counter, start.const(0))
    body.statements[:0] = start.block.statements
    return True
