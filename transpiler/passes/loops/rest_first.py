"""Runs serial loops over lists in groups, first what is left of a division by their size, with a condition each (CUDA).

                                             rest = number of iterations % 8
    for k in start .. end { s += f(x[k]) }   for n in 0 .. 7 unroll { if n < rest { s += f(x[start + n]) } }
                                             for group in start + rest .. end by 8 {
                                                 for k in group .. group + 8 unroll { s += f(x[k]) }
                                             }

All loads of a group are under way together. NVRTC makes groups of four by itself, and runs the up to three iterations
that are left one by one, each after the other's loads. Rows of sparse matrices and lists of neighbours are short, so
that these are a large part of their time: rows of 27 elements, shared by four threads, which have groups of four, took
an H200 .162 ms before and .140 after. The order of the iterations stays.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...ir.builder import Builder
from ...ir.nodes import Block, Effect, Remark, Statement, blocks, walk
from ...ir.statements import (
    ALL,
    Alloca,
    AtomicOp,
    Const,
    GlobalLoad,
    GlobalStore,
    If,
    LoopIndex,
    RangeFor,
    repeats,
)
from ...ir.tasks import Kernel
from ...ir.types import i32
from ..analysis.queries import computed_from, count_operations
from ..context import PassContext
from .parts.unrolled import iteration_at

TOGETHER, TOGETHER_ALONE = 4, 8
"""Iterations whose loads are under way together, where threads share a list, and where one has it alone."""
MOST_STEP = 8
"""The greatest step: more threads share rows that are long."""
MOST = 24
"""The most operations of an iteration, on single numbers: the machine code has them 7 or 15 times."""
REMARK = (
    "first what is left of a division by {count}: loads of up to {count} iterations are under way together (rest_first)"
)


def rest_first(kernel: Kernel, context: PassContext) -> bool:
    """Split such loops of parallel tasks."""
    if not context.capabilities.has_launch_bounds or context.options.debug:
        return False
    changed = False
    for task in kernel.tasks:
        if task.loop is None:
            continue
        for block in _outside_of_loops(task.body):
            for loop in [s for s in block.statements if isinstance(s, RangeFor) and _is_list(s)]:
                block.replace(loop, _split(loop))
                changed = True
    return changed


def _outside_of_loops(block: Block) -> Iterator[Block]:
    """Yield a block and those of branches in it: lists of a loop are as short, and code for each costs more."""
    yield block
    for branch in [s for s in block.statements if isinstance(s, If)]:
        for inner in blocks(branch):
            yield from _outside_of_loops(inner)


def _is_list(loop: RangeFor) -> bool:
    """Return whether a loop has bounds that were loaded, a short step, and iterations that load and are cheap."""
    step = loop.steps[0]
    is_plain = len(loop.starts) == 1 and not (loop.unroll or loop.unroll_count or loop.exact_ends)
    if not is_plain or loop.starts[0].type != i32 or not isinstance(step, Const):
        return False
    if step.value not in (1, 2, 4, MOST_STEP) or not any(map(_is_loaded, (loop.starts[0], loop.ends[0]))):
        return False
    inside = list(walk(loop.body))
    if any(map(_keeps_order, inside)) or sum(map(count_operations, inside)) > MOST:
        return False
    return any(isinstance(s, GlobalLoad) for s in inside)


def _is_loaded(bound: Statement) -> bool:
    return any(isinstance(s, GlobalLoad) for s in computed_from(bound))


def _keeps_order(statement: Statement) -> bool:
    """Return whether later loads wait for a statement."""
    is_slow = isinstance(statement, (AtomicOp, GlobalStore)) or repeats(statement)
    return is_slow or bool(statement.EFFECT & (Effect.FENCE | Effect.CONTROL) and not isinstance(statement, If))


def _split(loop: RangeFor) -> list[Statement]:
    """Return the statements that replace a loop."""
    (end,), step = loop.ends, _step(loop)
    count = TOGETHER if step > 1 else TOGETHER_ALONE
    builder = Builder(Block(), loop.location)
    variable = builder.add(Alloca(type=i32, name="first", location=loop.location))
    builder.store(variable, loop.starts[0])
    start = builder.load(variable)
    length = builder.op("sub", end, start)
    if step > 1:
        length = builder.op("sar", builder.shifted(length, step - 1), builder.const(step.bit_length() - 1))
    rest = builder.op("bit_and", length, builder.const(count - 1))
    rest = builder.op("select", builder.op("lt", start, end), rest, builder.const(0))  # `end - start` may be negative
    rest.name = "rest"
    remark = Remark(REMARK.format(count=count), "above", loop.location)
    _rest_of(builder, loop, start, rest, count - 1).remarks = (*loop.remarks, remark)
    after = _after(builder, start, rest, step)
    groups = RangeFor([after], [end], [builder.const(count * step)], ["group"], unroll_count=1, location=loop.location)
    end.name = end.name or f"end_{loop.names[0]}"
    builder.add(groups)
    with builder.into(groups.body):
        group = builder.add(LoopIndex(groups, 0, type=i32))
        past = builder.shifted(group, count * step)
        inner = RangeFor([group], [past], list(loop.steps), list(loop.names), unroll_count=ALL, location=loop.location)
        builder.add(inner)
        with builder.into(inner.body) as body:
            index = builder.add(LoopIndex(inner, 0, type=i32))
            body.statements += iteration_at(loop, index)
    return builder.block.statements


def _rest_of(builder: Builder, loop: RangeFor, start: Statement, rest: Statement, most: int) -> RangeFor:
    """Add an unrolled loop over the first iterations, up to `most`."""
    zero, end, one = (builder.const(number) for number in (0, most, 1))
    unrolled = builder.add(RangeFor([zero], [end], [one], ["left"], unroll=True, location=loop.location))
    with builder.into(unrolled.body):
        number = builder.add(LoopIndex(unrolled, 0, type=i32))
        branch = builder.add(If(builder.op("lt", number, rest), location=loop.location))
        with builder.into(branch.then) as body:
            index = _after(builder, start, number, _step(loop))
            index.name = loop.names[0]
            body.statements += iteration_at(loop, index)
    return unrolled


def _after(builder: Builder, start: Statement, number: Statement, step: int) -> Statement:
    """Return the index so many iterations after `start`."""
    return builder.op("add", start, builder.op("mul", number, builder.const(step)) if step > 1 else number)


def _step(loop: RangeFor) -> int:
    step = loop.steps[0]
    assert isinstance(step, Const)
    return int(step.value)
