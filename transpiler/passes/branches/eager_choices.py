"""Branch-free choices: C computes both sides of `and` and `or` in a choice between two values of a serial loop.

    carry = 1 if s < v or (carry > 0 and s == v) else 0

    s < v || (carry > 0 && s == v) ? 1 : 0        ->        (s < v) | ((carry > 0) & (s == v)) ? 1 : 0

gcc makes a jump of `||` and `&&` here, which is guessed wrongly where the numbers are any: sums of 256 bits by four
words took a core 15.7 ms before, 5.5 ms after. Of the sides only comparisons of numbers at hand qualify. Branches are
for `eager_conditions`.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...ir.nodes import Block, Statement, blocks, walk
from ...ir.statements import Const, IfExp, Operation, While, repeats
from ...ir.tasks import Kernel
from ...ir.types import Scalar
from ..context import PassContext
from .parts.comparisons import EAGER, MOST, compares_at_hand, comparisons_of, straight_blocks


def eager_choices(kernel: Kernel, context: PassContext) -> bool:
    """Replace the operations of the conditions of such choices."""
    if not context.capabilities.predicts_branches:
        return False
    changed = False
    for root in kernel.roots():
        for block in _in_loops(root):
            for choice in block:
                condition = _condition_of(choice)
                if condition is not None and 1 < len(list(comparisons_of(condition))) <= MOST:
                    _make_eager(condition)
                    changed = True
    return changed


def _in_loops(root: Block) -> Iterator[Block]:
    """Yield the blocks of serial loops, with those inside of them."""
    for statement in walk(root):
        if repeats(statement) and not isinstance(statement, While):
            yield from straight_blocks(blocks(statement))


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
    return condition if is_lazy and all(map(compares_at_hand, comparisons_of(condition))) else None  # type: ignore[return-value]


def _make_eager(condition: Statement) -> None:
    """Let a condition, and those that it is made of, compute both sides."""
    if isinstance(condition, Operation) and condition.op in EAGER:
        condition.op = EAGER[condition.op]
        for operand in condition.operands:
            _make_eager(operand)
