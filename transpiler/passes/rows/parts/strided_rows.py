"""The loop over a row that threads share: each takes iterations that are as many apart as there are threads."""

from __future__ import annotations

from ....ir.builder import Builder
from ....ir.nodes import Effect, Remark, Statement, walk
from ....ir.statements import Break, Const, Continue, If, RangeFor, is_const
from ....ir.types import i32
from ...analysis.queries import names_of, trip_count
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
