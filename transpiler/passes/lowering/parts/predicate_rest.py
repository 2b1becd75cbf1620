"""Predicates top-level statements after an early return, so that parallel loops among them stay parallel.

    if c: return                      $g = not c
    x[0] = 1                    ->    if $g { x[0] = 1 }
    for i in range(n): ...            for i in 0..select($g, n, 0): ...

Part of `lower`. Variables and values without effects stay outside the condition, in scope of all later statements.
"""

from __future__ import annotations

from ....errors import SourceLocation
from ....ir.builder import Builder
from ....ir.nodes import Block, Effect, Statement, has_effect, operands, replace_uses, walk_blocks
from ....ir.statements import Alloca, Const, If, MatrixElement, RangeFor, StructFor
from ...sparse.parts.dense_loops import as_range_for, is_in_pool, rebind_indices


def predicate_rest(result: list[Statement], rest: list[Statement], flag: Alloca, location: SourceLocation) -> None:
    """Append `rest` to `result` such that its effects happen only if the variable `flag` is false."""
    builder = Builder(Block(result), location)
    spilled = _Spilled(rest)
    segment: list[Statement] = []
    for statement in [*rest, None]:
        loop = statement if isinstance(statement, (RangeFor, StructFor)) and not statement.serialize else None
        if (statement is None or loop is not None) and segment:
            spilled.before(builder, segment)
            not_returned = builder.op("logical_not", builder.load(flag))
            builder.add(If(not_returned, Block(spilled.stored(segment))))
            segment = []
        if loop is not None:
            spilled.before(builder, [loop])
            _predicate_loop(builder, loop, flag)
        elif statement is not None:
            (result if statement in spilled.free else segment).append(statement)


def _predicate_loop(builder: Builder, loop: RangeFor | StructFor, flag: Alloca) -> None:
    """Append the loop such that its range is empty if the flag is set; one over active cells does nothing then."""
    if isinstance(loop, StructFor) and is_in_pool(loop.array):
        guarded = Builder(Block())
        guarded.location = builder.location
        guarded.add(If(guarded.op("logical_not", guarded.load(flag)), loop.body))
        loop.body = guarded.block
        builder.add(loop)
        return
    if isinstance(loop, StructFor):
        before, new = as_range_for(loop)
        builder.block.statements += before
        rebind_indices(loop.body, {loop: new})
        new.over, new.order = None, ()  # its extents are no longer those of the array
        loop = new
    loop.ends[0] = builder.op("select", builder.load(flag), loop.starts[0], loop.ends[0])
    builder.add(loop)


class _Spilled:
    """Values that are computed under one condition and read under another: they are stored in variables.

    Attributes:
        free: statements that need no condition.
        variables: the variable of each such value.
    """

    def __init__(self, rest: list[Statement]) -> None:
        self.free: set[Statement] = set()
        self.variables: dict[Statement, Alloca] = {}
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
                    self.variables.setdefault(value, Alloca(type=value.type, name=value.name, location=value.location))

    def before(self, builder: Builder, statements: list[Statement]) -> None:
        """Append the variables that `statements` store to, and loads of those that they read."""
        builder.block.statements += [self.variables[value] for value in statements if value in self.variables]
        mapping: dict[Statement, Statement] = {}
        for statement in statements:
            for value in _reads(statement):
                if value in self.variables and value not in statements and value not in mapping:
                    mapping[value] = builder.load(self.variables[value])
        replace_uses(Block(statements), mapping)

    def stored(self, segment: list[Statement]) -> list[Statement]:
        """Return the segment with stores of those of its values that are read in others."""
        builder = Builder(Block())
        for statement in segment:
            builder.add(statement)
            if statement in self.variables:
                builder.location = statement.location
                builder.store(self.variables[statement], statement)
        return builder.block.statements


def _is_free(statement: Statement, predicated: dict[Statement, int]) -> bool:
    """Return whether `statement` may run after a return: a variable, or a value that depends on free values only."""
    if isinstance(statement, Alloca):
        return True
    if isinstance(statement, MatrixElement) and not all(isinstance(index, Const) for index in statement.indices):
        return False  # the condition may protect a run-time index
    if statement.type is None or has_effect(statement, Effect.READ | Effect.WRITE | Effect.CONTROL):
        return False
    return not any(value in predicated for value in _reads(statement))


def _reads(statement: Statement) -> list[Statement]:
    """Return all operands of `statement` and of the statements inside it."""
    if not statement.BLOCKS:
        return operands(statement)
    values: list[Statement] = []
    for block in walk_blocks(Block([statement])):
        for inner in block.statements:
            values += operands(inner)
        if block.result is not None:
            values.append(block.result)
    return values
