"""Bodies of loops in parts, each of which runs for several neighbouring iterations before the next one."""

from __future__ import annotations

from collections.abc import Callable

from ....ir.nodes import Block, Effect, Statement, count_uses, operands, walk_blocks
from ....ir.statements import Alloca
from ....ir.threads import ThreadFor

CHEAP = frozenset({"add", "sub", "mul", "neg", "min", "max", "bit_and", "bit_or", "bit_xor", "shl", "sar"})
"""Operations that are computed again in each part of the body in place of a variable."""


def split_at(block: Block, outer: set[Statement], split_loop: Callable[[Statement], list[Statement] | None]) -> Block:
    """Return a block whose parts between loops are `ThreadFor`s.

    outer: values that stay outside. split_loop: returns what takes the place of a loop, None for all else.
    """
    result, region = Block(), Block()

    def flush() -> None:
        nonlocal region
        if region.statements:
            result.statements.append(ThreadFor(region, location=region.statements[0].location))
        region = Block()

    for statement in block.statements:
        if statement in outer:
            result.statements.append(statement)
        elif (new := split_loop(statement)) is not None:
            flush()
            result.statements += new
        else:
            region.statements.append(statement)
    flush()
    return result


def drop_unused(body: Block) -> None:
    """Drop the values that were computed again where they are used, and what is empty without them."""
    uses = count_uses(body)
    for block in reversed(list(walk_blocks(body))):
        needed = []
        for statement in reversed(block.statements):
            is_empty = isinstance(statement, ThreadFor) and not statement.body.statements
            is_value = statement.EFFECT == Effect.NONE and not isinstance(statement, Alloca) and not statement.BLOCKS
            if is_empty or (is_value and not uses.get(statement)):
                for operand in operands(statement):
                    uses[operand] -= 1
            else:
                needed.append(statement)
        block.statements = needed[::-1]
