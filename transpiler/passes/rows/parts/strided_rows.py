"""The loop over a row that threads share: each takes iterations that are as many apart as there are threads."""

from __future__ import annotations

from ....ir.builder import Builder
from ....ir.nodes import Remark, Statement
from ....ir.statements import Const, If, RangeFor

GUARD = "an empty row may start at any number, too great for a sum with `lane`"
"""A row from INT_MAX to 0 is empty; INT_MAX + 1 is less than 0."""


def stride(builder: Builder, row: RangeFor, lane: Statement, lanes: int, explains: bool) -> None:
    """Add the loop over a row, of which each thread takes every `lanes`th element. explains: with comments."""
    start = row.starts[0]
    row.steps = [builder.const(lanes)]
    if isinstance(start, Const):
        row.starts = [lane if start.value == 0 else builder.op("add", start, lane)]
        builder.add(row)
        return
    guard = builder.add(If(builder.op("lt", start, row.ends[0])))
    guard.remarks = (Remark(GUARD, "above"),) if explains else ()
    row.starts = [builder.op("add", start, lane)]
    guard.then.statements.append(row)
