"""Parallel loops with `break`: a search for the first iteration that takes it, then that iteration alone.

    for i in range(n):                      i_first = n
        if x[i] == wanted:                  for i in range(n):             # parallel
            found[None] = i           ->        if i < i_first:
            break                                   if x[i] == wanted: atomic_min(i_first, i)
                                            for i in range(i_first, n):    # serial: one iteration, or none
                                                if x[i] == wanted:
                                                    found[None] = i
                                                    break

That is what the serial loop does if iterations that do not take the `break` have no effect: so other loops are refused.
"""

from __future__ import annotations

from ...ir.builder import Builder
from ...ir.functions import Call, Function, Reference
from ...ir.nodes import Block, Effect, Statement, blocks, walk, walk_blocks, walk_inside
from ...ir.statements import (
    Alloca,
    AtomicOp,
    Break,
    Continue,
    If,
    LocalStore,
    LoopIndex,
    RangeFor,
    Return,
    StructFor,
    While,
    base_pointer,
    is_const,
)
from ...ir.types import i32

LOOPS = (RangeFor, StructFor, While)
EFFECTS = Effect.WRITE | Effect.CONTROL | Effect.FENCE


def is_search(loop: RangeFor | StructFor) -> bool:
    """Return whether a loop has one index, and its iterations have no effect unless they take a `break`."""
    if not isinstance(loop, RangeFor) or len(loop.names) != 1 or not is_const(loop.steps[0], 1):
        return False
    own: set[Statement] = {item for item in walk(loop.body) if isinstance(item, Alloca)}
    return _has_effect_only_if_left(loop.body, own)


def _has_effect_only_if_left(block: Block, own: set[Statement]) -> bool:
    if _breaks(block):
        return not any(isinstance(statement, Continue) for statement in _of_this_loop(block))
    return all(_is_harmless(statement, own) for statement in block)


def _breaks(block: Block) -> bool:
    return bool(block.statements) and isinstance(block.statements[-1], Break)


def _of_this_loop(block: Block) -> list[Statement]:
    """Return the statements of a block and of the branches in it, but not those of loops in it."""
    found: list[Statement] = []
    for statement in block:
        found.append(statement)
        if not isinstance(statement, LOOPS):
            for inner in blocks(statement):
                found += _of_this_loop(inner)
    return found


def _is_harmless(statement: Statement, own: set[Statement]) -> bool:
    if isinstance(statement, If):
        return all(_has_effect_only_if_left(inner, own) for inner in blocks(statement))
    if isinstance(statement, Continue):
        return True
    if isinstance(statement, LOOPS):
        return all(_changes_only(inner, own) for inner in walk_inside(statement))
    return _changes_only(statement, own)


def _changes_only(statement: Statement, own: set[Statement]) -> bool:
    """Return whether a statement in an inner loop, or one without blocks, changes only variables of its own."""
    if isinstance(statement, (LocalStore, AtomicOp)):
        return base_pointer(statement.pointer) in own
    if isinstance(statement, Call):
        function = statement.function
        is_built = function.statements is not None  # the body of a real function is built later
        return is_built and {*statement.references()} <= own and _has_no_effect(function)
    if isinstance(statement, (If, Break, Continue, Return, *LOOPS)):
        return True
    return not statement.EFFECT & EFFECTS


def _has_no_effect(function: Function) -> bool:
    """Return whether a function changes only variables of its own, and those passed by reference."""
    own: set[Statement] = {item for item in walk(function.body) if isinstance(item, (Alloca, Reference))}
    return all(_changes_only(statement, own) for statement in walk(function.body))


def search(build: Builder, loop: RangeFor, first: Statement) -> None:
    """Let a loop, built with its `break`s, store in the variable `first` the least index that takes one."""
    index = loop.body.statements[0]
    assert isinstance(index, LoopIndex)
    for block in [block for block in walk_blocks(loop.body) if _breaks(block)]:
        if _is_of(block, loop.body):
            block.statements.clear()
            with build.into(block):
                build.atomic("min", first, index)
    rest = Block(loop.body.statements[1:], loop.body.result)
    del loop.body.statements[1:]
    with build.into(loop.body):
        condition = build.op("lt", index, build.load(first))
        build.add(If(condition, rest, None))


def _is_of(block: Block, body: Block) -> bool:
    """Return whether a block belongs to the loop with this body, not to a loop in it."""
    if block is body:
        return True
    inside = [inner for statement in body if not isinstance(statement, LOOPS) for inner in blocks(statement)]
    return any(_is_of(block, inner) for inner in inside)


def first_index(build: Builder, loop: RangeFor) -> Statement:
    """Return a new variable: the first index of a loop that takes a `break`, so far behind the last one."""
    variable = build.add(Alloca(type=i32, name=f"{loop.names[0]}_first"))
    build.store(variable, loop.ends[0])
    return variable
