"""Lets C compute both sides of `and` and `or` in a choice between two values of a serial loop.

    carry = 1 if s < v or (carry > 0 and s == v) else 0

    s < v || (carry > 0 && s == v) ? 1 : 0        ->        (s < v) | ((carry > 0) & (s == v)) ? 1 : 0

gcc makes a jump of `||` and `&&` here, which is guessed wrongly where the numbers are any: sums of 256 bits by four
words took a core 15.7 ms, and 5.5 so. Of the sides only comparisons of numbers at hand qualify.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...ir.nodes import Block, Statement, blocks, walk
from ...ir.statements import ArgLoad, Const, IfExp, LocalLoad, LoopIndex, Operation, While, repeats
from ...ir.tasks import Kernel
from ...ir.types import Scalar
from ..context import PassContext

EAGER = {"logical_and": "bit_and", "logical_or": "bit_or"}
COMPARISONS = frozenset({"lt", "le", "gt", "ge", "eq", "ne"})
OPERATIONS = frozenset({"add", "sub", "bit_and", "bit_or", "bit_xor", "wrapping_add", "wrapping_sub"})
"""Of the numbers that are compared."""
MOST = 4
"""Comparisons of a condition."""


def eager_conditions(kernel: Kernel, context: PassContext) -> bool:
    """Replace the operations of such conditions in C."""
    if not context.capabilities.blocks_as_loops or context.capabilities.blocks_in_lockstep:
        return False
    changed = False
    for root in kernel.roots():
        for block in _in_loops(root):
            for choice in block:
                condition = _condition_of(choice)
                if condition is not None and 1 < len(list(_comparisons(condition))) <= MOST:
                    changed |= _make_eager(condition)
    return changed


def _in_loops(root: Block) -> Iterator[Block]:
    """Return the blocks of serial loops, with those inside of them."""
    for statement in walk(root):
        if repeats(statement) and not isinstance(statement, While):
            yield from (block for block in _blocks_in(statement))


def _blocks_in(statement: Statement) -> Iterator[Block]:
    for block in blocks(statement):
        yield block
        for inner in block:
            if not repeats(inner):
                yield from _blocks_in(inner)


def _condition_of(statement: Statement) -> Operation | None:
    """Return the condition of a choice between two numbers at hand, None if it is no `and` or `or`."""
    condition: Statement
    if isinstance(statement, IfExp):
        if any(not isinstance(s, Const) and s.BLOCKS for block in blocks(statement) for s in block):
            return None
        condition = statement.condition
    elif isinstance(statement, Operation) and statement.op == "select":
        condition = statement.operands[0]
    else:
        return None
    is_lazy = isinstance(condition, Operation) and condition.op in EAGER and isinstance(condition.type, Scalar)
    return condition if is_lazy and all(map(_is_cheap, _comparisons(condition))) else None  # type: ignore[return-value]


def _comparisons(condition: Statement) -> Iterator[Statement]:
    """Return what `and` and `or` combine."""
    if isinstance(condition, Operation) and condition.op in EAGER:
        for operand in condition.operands:
            yield from _comparisons(operand)
    else:
        yield condition


def _is_cheap(statement: Statement) -> bool:
    """Return whether a value is a comparison of numbers at hand."""
    return (
        isinstance(statement, Operation) and statement.op in COMPARISONS and all(map(_is_at_hand, statement.operands))
    )


def _is_at_hand(value: Statement) -> bool:
    if value.name is not None or isinstance(value, (Const, LocalLoad, LoopIndex, ArgLoad)):
        return True
    return isinstance(value, Operation) and value.op in OPERATIONS and all(map(_is_at_hand, value.operands))


def _make_eager(condition: Statement) -> bool:
    if not isinstance(condition, Operation) or condition.op not in EAGER:
        return False
    condition.op = EAGER[condition.op]
    for operand in condition.operands:
        _make_eager(operand)
    return True
