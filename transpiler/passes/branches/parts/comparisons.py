"""Conditions and the branches on them: comparisons of numbers at hand that `and` and `or` combine, their variables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ....ir.nodes import Block, Statement, blocks, walk
from ....ir.ops import COMPARISONS
from ....ir.statements import ArgLoad, Const, LocalLoad, LocalStore, LoopIndex, Operation, base_pointer, repeats

EAGER = {"logical_and": "bit_and", "logical_or": "bit_or"}
OPERATIONS = frozenset({"add", "sub", "bit_and", "bit_or", "bit_xor", "wrapping_add", "wrapping_sub"})
"""The operations that may compute a number that is compared."""
MOST = 4
"""Comparisons of a condition."""


def straight_blocks(around: Sequence[Block]) -> Iterator[Block]:
    """Yield blocks, and those in them that are in no loop."""
    for block in around:
        yield block
        for inner in block:
            if not repeats(inner):
                yield from straight_blocks(blocks(inner))


def are_current(loads: Sequence[Statement], block: Block, user: Statement) -> bool:
    """Return whether variables are at a statement of a block what they were when they were loaded there."""
    if not all(load in block.statements for load in loads):
        return False
    first = min(map(block.statements.index, loads))
    variables = {base_pointer(load.pointer) for load in loads if isinstance(load, LocalLoad)}
    between = Block(block.statements[first : block.statements.index(user)])
    return not any(isinstance(s, LocalStore) and base_pointer(s.pointer) in variables for s in walk(between))


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
