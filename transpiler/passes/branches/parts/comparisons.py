"""Conditions that combine comparisons of numbers at hand by `and` and `or`: a query."""

from __future__ import annotations

from collections.abc import Iterator

from ....ir.nodes import Block, Statement, blocks
from ....ir.statements import ArgLoad, Const, LocalLoad, LoopIndex, Operation, repeats

EAGER = {"logical_and": "bit_and", "logical_or": "bit_or"}
COMPARISONS = frozenset({"lt", "le", "gt", "ge", "eq", "ne"})
OPERATIONS = frozenset({"add", "sub", "bit_and", "bit_or", "bit_xor", "wrapping_add", "wrapping_sub"})
"""The operations that may compute a number that is compared."""
MOST = 4
"""Comparisons of a condition."""


def blocks_in(statement: Statement) -> Iterator[Block]:
    """Yield the blocks of a statement, and those in them that are in no loop."""
    for block in blocks(statement):
        yield block
        for inner in block:
            if not repeats(inner):
                yield from blocks_in(inner)


def comparisons_of(condition: Statement) -> Iterator[Statement]:
    """Yield what `and` and `or` combine."""
    if isinstance(condition, Operation) and condition.op in EAGER:
        for operand in condition.operands:
            yield from comparisons_of(operand)
    else:
        yield condition


def compares_at_hand(statement: Statement) -> bool:
    """Return whether a value is a comparison of numbers at hand."""
    return (
        isinstance(statement, Operation) and statement.op in COMPARISONS and all(map(_is_at_hand, statement.operands))
    )


def _is_at_hand(value: Statement) -> bool:
    if value.name is not None or isinstance(value, (Const, LocalLoad, LoopIndex, ArgLoad)):
        return True
    return isinstance(value, Operation) and value.op in OPERATIONS and all(map(_is_at_hand, value.operands))
