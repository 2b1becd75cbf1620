"""Nests of loops of one axis, in place of a loop of several."""

from __future__ import annotations

from ....ir.nodes import Block, walk
from ....ir.statements import RangeFor
from ...analysis.queries import is_index_of, names_of


def nest_of(loop: RangeFor) -> list[RangeFor]:
    """Return a nest of loops in place of one, the outermost first. The innermost has its body."""
    nest: list[RangeFor] = []
    body = loop.body
    for axis in reversed(range(len(loop.starts))):
        bounds = ([loop.starts[axis]], [loop.ends[axis]], [loop.steps[axis]])
        own = RangeFor(*bounds, [names_of(loop)[axis]], body, loop.serialize, loop.block_dim, location=loop.location)
        own.unroll, own.unroll_count = loop.unroll, loop.unroll_count
        nest.insert(0, own)
        body = Block([own])
    for statement in walk(loop.body):
        if is_index_of(statement, loop):
            statement.loop, statement.axis = nest[statement.axis], 0
    return nest
