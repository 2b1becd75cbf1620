"""Unrolls static loops in the IR."""

from __future__ import annotations

from collections.abc import Callable

from ....ir.constants import constant_range
from ....ir.nodes import Block, Statement, blocks, clone, replace_uses, walk, walk_blocks
from ....ir.statements import Break, Const, Continue, LoopIndex, RangeFor
from ....ir.types import i32
from ...analysis.queries import is_index_of

MAX_ITERATIONS = 32
"""The most iterations of a loop that is unrolled: each gets an accumulator."""


def unroll_where(block: Block, is_wanted: Callable[[RangeFor, list[int]], bool]) -> bool:
    """Unroll short static loops in a block and the blocks in it. is_wanted: asked with the values of the index."""
    if not [statement for statement in block.statements if statement.BLOCKS]:
        return False  # most
    changed = False
    result: list[Statement] = []
    for statement in block.statements:
        for inner in blocks(statement) if statement.BLOCKS else ():
            changed |= unroll_where(inner, is_wanted)
        if isinstance(statement, RangeFor) and (values := _values_of(statement)) and is_wanted(statement, values):
            for value in values:
                result += iteration_of(statement, value)
            changed = True
        else:
            result.append(statement)
    block.statements = result
    return changed


def _values_of(loop: RangeFor) -> list[int]:
    """Return the values of the index of a short static loop that runs to its end, none for others."""
    values = constant_range(loop)
    if values is None or not loop.unroll or len(loop.starts) > 1 or len(values) > MAX_ITERATIONS:
        return []
    return [] if any(isinstance(s, (Break, Continue)) for s in walk(loop.body)) else list(values)


def iteration_of(loop: RangeFor, value: int) -> list[Statement]:
    """Return a copy of the body for one value of the index."""
    number = Const(value, type=i32, location=loop.location)
    return [number, *iteration_at(loop, number)]


def iteration_at(
    loop: RangeFor, index: Statement, copied_as: dict[Statement, Statement] | None = None
) -> list[Statement]:
    """Return a copy of the body of a loop of one axis, with a value in place of the index.

    copied_as: receives the copy of each statement.
    """
    mapping: dict[Statement, Statement] = {} if copied_as is None else copied_as
    copies = [clone(statement, mapping) for statement in loop.body.statements]
    indices: dict[Statement, Statement] = {copied: index for copied in mapping.values() if is_index_of(copied, loop)}
    for copied in mapping.values():  # indices of loops inside refer to their copies
        if isinstance(copied, LoopIndex) and isinstance(own := mapping.get(copied.loop), RangeFor):
            copied.loop = own
    body = Block(copies)
    for inner in walk_blocks(body):
        inner.drop(indices)
    replace_uses(body, indices)
    return body.statements
