"""Unrolls the loops over the columns of a window, whose elements `wide_accesses` takes from vectors.

    for p, q in static(ndrange((-1, 2), (-1, 2))) {          for p in static(range(-1, 2)) {
        if i + p < n { t += u[i + p, j + q] }          ->        if i + p < n {
    }                                                                t += u[i + p, j - 1]
                                                                     t += u[i + p, j]
                                                                     t += u[i + p, j + 1]
                                                                 }
                                                             }

In: the body of a loop over i and j. Out: a copy of it without those loops whose index is added to j; None if it has no
such loop, or one that stays: with more iterations than there are elements near j, or with one that may end it.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....ir.constants import constant_range
from ....ir.nodes import Block, Effect, Statement, blocks, operands, walk
from ....ir.statements import Break, Continue, GlobalPtr, If, LoopIndex, RangeFor
from ...analysis.queries import has_else
from ...loops.parts.nests import nest_of
from ...loops.parts.unrolled import iteration_of
from ...tasks.parts.copies import copy_of_block
from .widenable import AWAY, COUNTS

MOST = 2 * AWAY * max(COUNTS) + 1
"""Columns of a window: from two vectors before an element to two after it."""


def unrolled_columns(body: Block, outer: RangeFor) -> Block | None:
    """Return a copy of the body of a loop without loops over columns, None if there is none, or one that stays."""
    if not any(isinstance(statement, RangeFor) for statement in walk(body)):
        return None
    wanted = set(_columns(body, outer))
    if not wanted or not all(_is_short(loop, axis) and _is_innermost(loop, axis, wanted) for loop, axis in wanted):
        return None
    mapping: dict[Statement, Statement] = {}
    copied = copy_of_block(body, mapping)
    _unroll(copied, {(mapping[loop], axis) for loop, axis in wanted})
    return copied


def _columns(body: Block, outer: RangeFor) -> Iterator[tuple[RangeFor, int]]:
    """Yield the loops, and their axes, whose indices are in a sum with the last one of the outer loop."""
    own = outer, len(outer.starts) - 1
    for pointer in walk(body):
        if isinstance(pointer, GlobalPtr) and pointer.indices:
            found = _indices_in(pointer.indices[-1])
            if own in found:
                yield from (axis for axis in found if axis[0] is not outer)


def _indices_in(value: Statement) -> set[tuple[RangeFor, int]]:
    """Return the loops, and their axes, whose indices a value is computed from."""
    seen, pending = set[Statement](), [value]
    while pending:
        one = pending.pop()
        if one not in seen:
            seen.add(one)
            pending += [*operands(one), *(block.result for block in blocks(one) if block.result is not None)]
    return {(s.loop, s.axis) for s in seen if isinstance(s, LoopIndex) and isinstance(s.loop, RangeFor)}


def _is_short(loop: RangeFor, axis: int) -> bool:
    """Return whether a loop has a few iterations along an axis, and runs to its end."""
    if any(isinstance(statement, (Break, Continue)) for statement in walk(loop.body)):
        return False
    indices = constant_range(loop, axis)
    return indices is not None and len(indices) <= MOST


def _is_innermost(loop: RangeFor, axis: int, wanted: set[tuple[RangeFor, int]]) -> bool:
    """Return whether all loops inside one are unrolled, too: of others there would be several."""
    inside = [(loop, other) for other in range(axis + 1, len(loop.starts))]
    inside += [(s, other) for s in walk(loop.body) if isinstance(s, RangeFor) for other in range(len(s.starts))]
    return wanted.issuperset(inside)


def _unroll(block: Block, wanted: set[tuple[Statement, int]]) -> None:
    """Unroll loops along axes, those inside others first."""
    result: list[Statement] = []
    for statement in block.statements:
        for inner in blocks(statement):
            _unroll(inner, wanted)
        axes = {axis for loop, axis in wanted if loop is statement}
        result += _unrolled(statement, axes) if axes and isinstance(statement, RangeFor) else [statement]
    block.statements = result


def _unrolled(loop: RangeFor, axes: set[int]) -> list[Statement]:
    """Return a loop as one for each axis, of which some are unrolled."""
    inside = loop.body.statements
    for axis, one in reversed(list(enumerate(nest_of(loop)))):
        one.body.statements = inside
        values = (constant_range(one) if axis in axes else None) or ()
        inside = [s for value in values for s in iteration_of(one, value)] if axis in axes else [one]
    return inside


def join_branches(block: Block) -> None:
    """Join branches with the same condition that follow one another, as those of columns that were one branch."""
    joined: list[Statement] = []
    last: If | None = None
    for statement in block.statements:
        for inner in blocks(statement):
            join_branches(inner)
        if isinstance(statement, If) and not has_else(statement):
            if last is not None and last.condition is statement.condition:
                last.then.statements += statement.then.statements
                continue
            last = statement
        elif last is not None and statement.EFFECT == Effect.NONE and not blocks(statement):
            joined.insert(joined.index(last), statement)
            continue
        else:
            last = None
        joined.append(statement)
    block.statements = joined
