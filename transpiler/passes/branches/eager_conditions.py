"""Lets C compute both sides of `and` and `or` in a choice between two values of a serial loop.

    carry = 1 if s < v or (carry > 0 and s == v) else 0

    s < v || (carry > 0 && s == v) ? 1 : 0        ->        (s < v) | ((carry > 0) & (s == v)) ? 1 : 0

gcc makes a jump of `||` and `&&` here, which is guessed wrongly where the numbers are any: sums of 256 bits by four
words took a core 15.7 ms before, 5.5 ms after. Of the sides only comparisons of numbers at hand qualify.

Likewise branches by several floats that guard a quotient, as where boxes overlap or a ray hits a triangle, in
loops with a `break` or `continue`, of which gcc takes one iteration at a time:

    if w > 0 and h > 0 { r = w * h / (a - w * h) }      if (w > 0) + (h > 0) == 2 { r = w * h / (a - w * h) }

gcc 12 splits `&` of a branch into two jumps again, unlike LLVM. Overlaps of 8,192 boxes took a core 92 ms before, 73
ms after.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...ir.builder import Builder
from ...ir.functions import called
from ...ir.nodes import Block, Remark, Statement, blocks, walk
from ...ir.statements import ArgLoad, Cast, Const, If, IfExp, LocalLoad, LoopIndex, Operation, While, repeats
from ...ir.tasks import Kernel
from ...ir.types import Scalar, i32
from ..analysis.queries import leaves_block
from ..context import PassContext

EAGER = {"logical_and": "bit_and", "logical_or": "bit_or"}
COMPARISONS = frozenset({"lt", "le", "gt", "ge", "eq", "ne"})
OPERATIONS = frozenset({"add", "sub", "bit_and", "bit_or", "bit_xor", "wrapping_add", "wrapping_sub"})
"""The operations that may compute a number that is compared."""
MOST = 4
"""Comparisons of a condition."""
QUOTIENTS = frozenset({"div", "rsqrt", "sqrt"})
REMARK = "all are compared: gcc 12 would jump between (eager_conditions)"


def eager_conditions(kernel: Kernel, context: PassContext) -> bool:
    """Replace the operations of such conditions in C."""
    if not context.capabilities.predicts_branches:
        return False
    changed = False
    for root in kernel.roots():
        for block in _in_loops(root):
            for choice in block:
                condition = _condition_of(choice)
                if condition is not None and 1 < len(list(_comparisons(condition))) <= MOST:
                    changed |= _make_eager(condition)
    for block in _one_at_a_time(kernel):
        for branch in [s for s in block if isinstance(s, If) and _guards_quotient(s)]:
            _count(block, branch, context.options.why_comments)
            changed = True
    return changed


def _one_at_a_time(kernel: Kernel) -> Iterator[Block]:
    """Yield the blocks of loops that gcc makes no vectors of, and those of the functions that are called there."""
    tasks = [task for task in kernel.tasks if not (task.as_lanes or task.lane_loops)]
    if len(tasks) < len(kernel.tasks):
        return  # they may call the same functions
    found: dict[Block, None] = {}
    for root in kernel.roots():
        for loop in [s for s in walk(root) if repeats(s)]:
            if any(leaves_block(s) for block in blocks(loop) for s in block):
                inside = list(_blocks_in(loop))
                inside += [inner for function in called(*inside) for inner in _straight(function.body)]
                found.update(dict.fromkeys(inside))
    yield from found


def _straight(block: Block) -> Iterator[Block]:
    """Yield a block of a function, and those in it that are in no loop."""
    yield block
    for statement in block:
        if not repeats(statement):
            for inner in blocks(statement):
                yield from _straight(inner)


def _guards_quotient(branch: If) -> bool:
    """Return whether a branch divides floats if several comparisons of floats at hand hold."""
    condition = branch.condition
    if not isinstance(condition, Operation) or condition.op != "logical_and" or not isinstance(condition.type, Scalar):
        return False
    parts = list(_comparisons(condition))
    if len(parts) > MOST or not all(_is_cheap(part) and _is_of_floats(part) for part in parts):
        return False
    divides = any(isinstance(s, Operation) and s.op in QUOTIENTS for s in walk(branch.then))
    return divides and not any(isinstance(s, Operation) and s.op == "logical_or" for s in _conditions(condition))


def _conditions(condition: Statement) -> Iterator[Statement]:
    """Yield a condition and those that it is made of by `and` and `or`."""
    yield condition
    if isinstance(condition, Operation) and condition.op in EAGER:
        for operand in condition.operands:
            yield from _conditions(operand)


def _is_of_floats(comparison: Statement) -> bool:
    types = [operand.type for operand in comparison.operands] if isinstance(comparison, Operation) else []
    return all(isinstance(type, Scalar) and type.is_float for type in types)


def _count(block: Block, branch: If, has_remarks: bool) -> None:
    """Let a branch count the comparisons that hold."""
    parts = list(_comparisons(branch.condition))
    builder = Builder(Block(), branch.location)
    total: Statement = builder.add(Cast(parts[0], type=i32))
    for part in parts[1:]:
        total = builder.op("add", total, builder.add(Cast(part, type=i32)))
    branch.condition = builder.op("eq", total, builder.const(len(parts), i32))
    if has_remarks:
        branch.remarks = (*branch.remarks, Remark(REMARK, "above", branch.location))
    position = block.statements.index(branch)
    block.statements[position:position] = builder.block.statements


def _in_loops(root: Block) -> Iterator[Block]:
    """Yield the blocks of serial loops, with those inside of them."""
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
    """Yield what `and` and `or` combine."""
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
