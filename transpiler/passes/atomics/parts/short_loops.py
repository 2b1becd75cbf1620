"""Local arrays with an element for each combination of indices of short loops."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from math import prod

from ....ir.builder import Builder
from ....ir.nodes import Block, Statement, blocks, operands, walk
from ....ir.statements import Const, LoopIndex, RangeFor, While, is_const
from ....ir.types import Tensor, Type, element_of, i32
from ...analysis.linear import Index
from ...analysis.queries import count_along, trip_count

MOST_BYTES = 256
"""The most bytes of the local arrays for a loop: a thread has up to 255 registers of 4 bytes."""
MOST_STATEMENTS = 4096
"""The most statements that the iterations of a short loop run: GPUs unroll it."""


def short_loops(block: Block) -> dict[RangeFor, None]:
    """Return the loops in a block whose few iterations have constant bounds, and those in them, outer ones first."""
    outer = [s for s in block if isinstance(s, RangeFor) and _statements(Block([s])) <= MOST_STATEMENTS]
    found = [s for s in walk(Block(list(outer))) if isinstance(s, RangeFor)]
    return dict.fromkeys(s for s in found if s.starts[0].type == i32 and all(is_const(step, 1) for step in s.steps))


def axes_in(value: Statement, loops: Iterable[RangeFor]) -> tuple[Index, ...]:
    """Return the loops, of some, whose indices a value is computed from, with their axes, in their order."""
    found, pending = set[Index](), [value]
    while pending:
        one = pending.pop()
        if isinstance(one, LoopIndex):
            found.add((one.loop, one.axis))
        pending += operands(one)
    return tuple((loop, axis) for loop in loops for axis in range(len(loop.starts)) if (loop, axis) in found)


def array_of(kind: Type, axes: Sequence[Index]) -> Tensor:
    """Return the type of an array with a number, or one for each component, for each combination of indices."""
    shape = [_count(index) for index in axes] + (list(kind.shape) if isinstance(kind, Tensor) else [])
    return Tensor(tuple(shape) if len(shape) <= 2 else (prod(shape),), element_of(kind))


def components(kind: Type) -> list[tuple[int, ...]]:
    """Return the components of a type, [()] for a number."""
    return list(product(*map(range, kind.shape))) if isinstance(kind, Tensor) else [()]


def element_at(
    builder: Builder,
    array: Statement,
    axes: Sequence[Index],
    indices: Sequence[Statement],
    kind: Type,
    part: Sequence[int],
) -> Statement:
    """Return a pointer to the element of a component for some indices."""
    assert isinstance(array.type, Tensor)
    extents = [_count(index) for index in axes] + (list(kind.shape) if isinstance(kind, Tensor) else [])
    places = [_from_start(builder, *pair) for pair in zip(axes, indices, strict=True)]
    places += [builder.const(number) for number in part]
    if len(extents) > len(array.type.shape):
        place = places[0]
        for extent, other in zip(extents[1:], places[1:], strict=True):
            place = builder.op("add", builder.op("mul", place, builder.const(extent)), other)
        places = [place]
    return builder.element_ptr(array, places)


def loops_over(builder: Builder, axes: Sequence[Index]) -> tuple[Builder, list[Statement]]:
    """Add loops over the same indices; return a builder in the innermost one, and the indices."""
    indices: list[Statement] = []
    for loop in dict.fromkeys(loop for loop, _ in axes):
        assert isinstance(loop, RangeFor)
        own = [axis for other, axis in axes if other is loop]
        starts, ends, steps = ([builder.again(of[axis]) for axis in own] for of in (loop.starts, loop.ends, loop.steps))
        copied = RangeFor(
            starts, ends, steps, [loop.names[axis] for axis in own], unroll=loop.unroll, location=loop.location
        )
        builder.add(copied)
        builder = Builder(copied.body, builder.location)
        indices += [builder.add(LoopIndex(copied, axis, type=i32)) for axis in range(len(own))]
    return builder, indices


def _count(index: Index) -> int:
    loop, axis = index
    assert isinstance(loop, RangeFor)
    return count_along(loop, axis) or 0


def _from_start(builder: Builder, axis: Index, index: Statement) -> Statement:
    loop, number = axis
    assert isinstance(loop, RangeFor)
    start = loop.starts[number]
    assert isinstance(start, Const)
    return index if start.value == 0 else builder.op("sub", index, builder.const(int(start.value)))


def _statements(block: Block) -> int:
    """Return how many statements all iterations of loops in a block run; many if a loop has no constant bounds."""
    total = 0
    for statement in block:
        count = trip_count(statement) if isinstance(statement, RangeFor) else 1
        if count is None or isinstance(statement, While):
            return MOST_STATEMENTS + 1
        total += 1 + count * sum(map(_statements, blocks(statement)))
    return total
