"""Skips top-level statements after an early return without making the parallel loops among them serial.

    if c: return                      $g = not c
    x[0] = 1                    ->    if $g { x[0] = 1 }
    for i in range(n): ...            for i in 0..select($g, n, 0): ...

Part of `lower`. Variables and values without effect stay outside the guard, where all can see them.
"""

from __future__ import annotations

from ...errors import SourceLocation
from ...ir.builder import Builder
from ...ir.nodes import Block, Effect, Statement, has_effect, operands, replace_uses, walk_blocks
from ...ir.statements import Alloca, Const, If, MatrixElement, RangeFor, StructFor
from ..sparse.struct_for import as_range_for, rebind_indices


def predicate_rest(result: list[Statement], rest: list[Statement], flag: Alloca, location: SourceLocation) -> None:
    """Append `rest` to `result` so that its effects happen only while the variable `flag` is false."""
    builder = Builder(Block(result))
    builder.location = location
    spilled = _Spilled(rest)
    segment: list[Statement] = []
    for statement in [*rest, None]:
        loop = statement if isinstance(statement, (RangeFor, StructFor)) and not statement.serialize else None
        if (statement is None or loop is not None) and segment:
            spilled.before(builder, segment)
            goes_on = builder.op("logical_not", builder.load(flag))
            builder.add(If(goes_on, Block(spilled.stored(segment))))
            segment = []
        if loop is not None:
            spilled.before(builder, [loop])
            _guard_loop(builder, loop, flag)
        elif statement is not None:
            (result if statement in spilled.free else segment).append(statement)


def _guard_loop(builder: Builder, loop: RangeFor | StructFor, flag: Alloca) -> None:
    """Append the loop with an empty range if the flag is set."""
    if isinstance(loop, StructFor):
        before, new = as_range_for(loop)
        builder.block.statements += before
        rebind_indices(loop.body, {loop: new})
        new.over, new.order = None, ()  # its extents are no longer those of the array
        loop = new
    loop.ends[0] = builder.op("select", builder.load(flag), loop.begins[0], loop.ends[0])
    builder.add(loop)


class _Spilled:
    """Values made under one guard and read under another: they go through variables.

    free: statements that need no guard. places: variable for each such value.
    """

    def __init__(self, rest: list[Statement]) -> None:
        self.free: set[Statement] = set()
        self.places: dict[Statement, Alloca] = {}
        segment_of: dict[Statement, int] = {}
        number = 0
        for statement in rest:
            if isinstance(statement, (RangeFor, StructFor)) and not statement.serialize:
                number += 1
            elif _is_free(statement, segment_of):
                self.free.add(statement)
            else:
                segment_of[statement] = number
            for value in _reads(statement):
                if segment_of.get(value, number) != number or (value in segment_of and statement not in segment_of):
                    self.places.setdefault(value, Alloca(type=value.type, name=value.name, location=value.location))

    def before(self, builder: Builder, statements: list[Statement]) -> None:
        """Append the variables that `statements` fill, and loads of those that they read."""
        builder.block.statements += [self.places[value] for value in statements if value in self.places]
        mapping: dict[Statement, Statement] = {}
        for statement in statements:
            for value in _reads(statement):
                if value in self.places and value not in statements and value not in mapping:
                    mapping[value] = builder.load(self.places[value])
        replace_uses(Block(statements), mapping)

    def stored(self, segment: list[Statement]) -> list[Statement]:
        """Return the segment with stores of its values that are read elsewhere."""
        builder = Builder(Block())
        for statement in segment:
            builder.add(statement)
            if statement in self.places:
                builder.location = statement.location
                builder.store(self.places[statement], statement)
        return builder.block.statements


def _is_free(statement: Statement, guarded: dict[Statement, int]) -> bool:
    """Return whether `statement` may run though a return was met: a variable, or a value of free values."""
    if isinstance(statement, Alloca):
        return True
    if isinstance(statement, MatrixElement) and not all(isinstance(index, Const) for index in statement.indices):
        return False  # a run-time index may be one that the guard is for
    if statement.type is None or has_effect(statement, Effect.READ | Effect.WRITE | Effect.CONTROL):
        return False
    return not any(value in guarded for value in _reads(statement))


def _reads(statement: Statement) -> list[Statement]:
    """Return all that `statement` and what is inside it reads."""
    if not statement.BLOCKS:
        return operands(statement)
    found: list[Statement] = []
    for block in walk_blocks(Block([statement])):
        for inner in block.statements:
            found += operands(inner)
        if block.result is not None:
            found.append(block.result)
    return found
