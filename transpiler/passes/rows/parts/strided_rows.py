"""The loop over a row that threads share: each takes iterations that are as many apart as there are threads."""

from __future__ import annotations

from ....ir.builder import Builder
from ....ir.nodes import Effect, Remark, Statement, walk
from ....ir.statements import ArrayShape, Break, Const, Continue, If, LoopIndex, Operation, RangeFor, is_const
from ....ir.types import Scalar, i32
from ...analysis.intervals import Interval, interval_of
from ...analysis.queries import names_of, trip_count
from ...analysis.value_ranges import I32_MAX
from ...tiles.parts.tiled_loops import replace_indices

GUARD = "an empty row may start at any number, too great for a sum with `lane`"
"""A row from INT_MAX to 0 is empty; INT_MAX + 1 is less than 0."""


def has_exits(row: RangeFor) -> bool:
    """Return whether a statement of the body is about the loop."""
    return any(isinstance(statement, (Break, Continue)) for statement in walk(row.body))


def add_iteration(builder: Builder, row: RangeFor, index: Statement) -> None:
    """Add the one iteration of a thread in place of a loop."""
    index.hint = index.hint or names_of(row)[0]
    replace_indices(row.body, row, {0: index})
    first = next((statement for statement in row.body.statements if statement.EFFECT & Effect.WRITE), None)
    if first is not None:
        first.remarks = (*row.remarks, *first.remarks)
    builder.block.statements += row.body.statements


def stride(builder: Builder, row: RangeFor, lane: Statement, lanes: int) -> None:
    """Add the loop over a row, of which each thread takes every `lanes`th element."""
    start = row.starts[0]
    if trip_count(row) == lanes and start.type == i32 and is_const(row.steps[0], 1) and not has_exits(row):
        index = lane if is_const(start, 0) else builder.op("add", start, lane)
        add_iteration(builder, row, index)
        return
    row.steps = [builder.const(lanes)]
    if isinstance(start, Const):
        row.starts = [lane if start.value == 0 else builder.op("add", start, lane)]
        builder.add(row)
        return
    guard = builder.add(If(builder.op("lt", start, row.ends[0])))
    guard.remarks = (Remark(GUARD, "above", guard.location),)
    row.starts = [builder.op("add", start, lane)]
    guard.then.statements.append(row)


def stride_by_steps(builder: Builder, row: RangeFor, lane: Statement, lanes: int) -> None:
    """Add the loop over a row with any steps, of which each thread takes every `lanes`th iteration."""
    (start,), (step,) = row.starts, row.steps
    assert isinstance(step, Const)
    by, block, reach = int(step.value), builder.block, abs(int(step.value)) * (lanes - 1)
    low, high = interval_in_loops(start)
    if high > I32_MAX - reach if by > 0 else low < reach - I32_MAX:
        guard = builder.add(If(builder.op("lt" if by > 0 else "gt", start, row.ends[0])))
        guard.remarks = (Remark(GUARD, "above", row.location),)
        block = guard.then
    elif by == 1 and (isinstance(start, Const) or trip_count(row) == lanes):
        stride(builder, row, lane, lanes)
        return
    with builder.into(block):
        distance = lane if abs(by) == 1 else builder.op("mul", lane, builder.const(abs(by)))
        row.starts = [builder.op("add" if by > 0 else "sub", start, distance)]
        row.steps = [builder.const(by * lanes)]
        builder.add(row)


def interval_in_loops(value: Statement) -> Interval:
    """Return between which numbers a value is, of constants, extents and the indices of loops."""
    every = (-I32_MAX - 1, I32_MAX)
    match value:
        case Const(value=number):
            return int(number), int(number)
        case ArrayShape():
            return 0, I32_MAX
        case LoopIndex(loop=RangeFor() as loop, axis=axis) if isinstance(loop.steps[axis], Const):
            start, end = interval_in_loops(loop.starts[axis]), interval_in_loops(loop.ends[axis])
            if loop.steps[axis].value > 0:  # type: ignore[attr-defined]
                return start[0], max(start[0], end[1] - 1)
            return min(start[1], end[0] + 1), start[1]
        case Operation(op=op, operands=parts, type=Scalar() as kind) if all(part.type == i32 for part in parts):
            return interval_of(op, i32, [interval_in_loops(part) for part in parts], kind) or every
    return every
