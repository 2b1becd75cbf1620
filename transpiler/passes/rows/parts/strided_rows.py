"""The loop over a row that threads share: each takes iterations that are as many apart as there are threads."""

from __future__ import annotations

from ....ir.builder import Builder
from ....ir.nodes import Statement
from ....ir.statements import Const, If, RangeFor


def stride(builder: Builder, row: RangeFor, lane: Statement, lanes: int) -> None:
    """Add the loop over a row, of which each thread takes every `lanes`th element."""
    start = row.starts[0]
    row.steps = [builder.const(lanes)]
    if isinstance(start, Const):
        row.starts = [lane if start.value == 0 else builder.op("add", start, lane)]
        builder.add(row)
        return
    is_any = builder.op("lt", start, row.ends[0])  # else the sum may wrap: a row from INT_MAX to 0 is empty
    row.starts = [builder.op("add", start, lane)]
    builder.add(If(is_any)).then.statements.append(row)
