"""The base of the IR: statements in nested blocks, and the few functions every pass needs over them.

A statement is one value or one effect. It names the statements it reads (`OPERANDS`) and the blocks it holds
(`BLOCKS`) as class constants, so that walking, replacing and cloning are written once.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import field
from typing import ClassVar, Final

from ..errors import NOWHERE, SourceLocation
from ..lazy_dataclasses import dataclass
from .operand_access import READERS
from .types import Type


class Effect:
    """What a statement does besides giving a value: bits. NONE: it may be moved, shared and dropped.

    Integers, since each pass tests those of every statement and an `enum.Flag` takes ten times as long.
    """

    NONE: Final = 0
    READ: Final = 1
    """Reads memory that some other statement may write (locals, arrays, temporaries)."""
    WRITE: Final = 2
    """Writes memory, or has an order that must be preserved (atomics, random numbers, printing)."""
    CONTROL: Final = 4
    """Changes which statement runs next, or holds statements that may do so."""
    FENCE: Final = 8
    """Other threads may have written any shared or global memory by now: nothing read before is known after it."""


LINE = "\x00"
"""Placeholder in `Remark.template` for the line of the remark's location."""


@dataclass(frozen=True, slots=True)
class Remark:
    """A comment that explains why the source differs from the Python line.

    Attributes:
        template: the message, with `LINE` for the line of `location`: a cached kernel may have moved in its file.
        where: relative to its statement: "inline" (at the end of its last line), "head" (of its first line), "above"
            or "below".
        location: of the Python statement that was left out.
    """

    template: str
    where: str = "inline"
    location: SourceLocation = NOWHERE

    @property
    def message(self) -> str:
        """The message with the present line number."""
        return self.template.replace(LINE, str(self.location.line))


@dataclass(eq=False, slots=True, kw_only=True)
class Statement:
    """Base of all statements.

    Attributes:
        type: of its value, None if it has none.
        name: of the variable in the user's program that it belongs to.
        hint: what a variable with its value is called if the source needs one, although the user has none.
        copies: how many equal values of the user's program it stands for, if these were merged.
        remarks: comments to print at its source.
    """

    OPERANDS: ClassVar[tuple[str, ...]] = ()
    """Attributes that hold a statement, a list of statements, or None."""
    BLOCKS: ClassVar[tuple[str, ...]] = ()
    """Attributes that hold a block or None."""
    EFFECT: ClassVar[int] = Effect.NONE
    """Bits of `Effect`."""

    location: SourceLocation = NOWHERE
    type: Type | None = None
    name: str | None = None
    hint: str | None = None
    copies: int = 1
    remarks: tuple[Remark, ...] = ()


@dataclass(eq=False, slots=True)
class Block:
    """Statements in order. result: the value of a block that is an expression (condition, branch of IfExp)."""

    statements: list[Statement] = field(default_factory=list)
    result: Statement | None = None

    def __iter__(self) -> Iterator[Statement]:
        return iter(self.statements)

    def __len__(self) -> int:
        return len(self.statements)


def operands(statement: Statement) -> list[Statement]:
    """Return the statements `statement` reads, in order; results of its blocks are not among them."""
    return READERS[statement.__class__](statement)


def blocks(statement: Statement) -> list[Block]:
    """Return the blocks `statement` holds, in order."""
    if not statement.BLOCKS:
        return []
    return [block for attribute in statement.BLOCKS if (block := getattr(statement, attribute)) is not None]


def walk(block: Block) -> Iterator[Statement]:
    """Yield every statement of `block` and of the blocks inside it, each before its own blocks."""
    # Not by generators that delegate to each other: each statement would pass through those of all blocks around it.
    stack = [iter(block.statements)]
    while stack:
        for statement in stack[-1]:
            yield statement
            if statement.BLOCKS:
                stack += [iter(inner.statements) for inner in reversed(blocks(statement))]
                break
        else:
            stack.pop()


def walk_blocks(block: Block) -> Iterator[Block]:
    """Yield `block` and every block inside it, outermost first."""
    stack = [block]
    while stack:
        outer = stack.pop()
        yield outer
        inside = [inner for statement in outer.statements if statement.BLOCKS for inner in blocks(statement)]
        stack += reversed(inside)


def classes_in(*roots: Block) -> set[type[Statement]]:
    """Return the classes of all statements of blocks and of the blocks inside them."""
    return {statement.__class__ for root in roots for block in walk_blocks(root) for statement in block.statements}


def map_operands(statement: Statement, function: Callable[[Statement], Statement]) -> bool:
    """Replace every operand `o` of `statement` by `function(o)`; return whether one changed."""
    changed = False
    for attribute in statement.OPERANDS:
        value = getattr(statement, attribute)
        if value is None:
            continue
        if isinstance(value, list):
            for index, operand in enumerate(value):
                new = function(operand)
                if new is not operand:
                    value[index] = new
                    changed = True
        elif (new := function(value)) is not value:
            setattr(statement, attribute, new)
            changed = True
    return changed


def replace_uses(block: Block, mapping: dict[Statement, Statement]) -> bool:
    """Replace, in `block` and inside, every use of a key of `mapping` by its value (chains are followed)."""

    def resolve(operand: Statement) -> Statement:
        while operand in mapping:
            operand = mapping[operand]
        return operand

    if not mapping:
        return False
    changed = False
    for inner in walk_blocks(block):
        for statement in inner.statements:
            changed |= map_operands(statement, resolve)
        if inner.result is not None and (new := resolve(inner.result)) is not inner.result:
            inner.result = new
            changed = True
    return changed


def count_uses(block: Block) -> dict[Statement, int]:
    """Return how often each statement is read in `block` and inside, as an operand or a block's result."""
    uses: dict[Statement, int] = {}
    for inner in walk_blocks(block):
        for statement in inner.statements:
            for operand in operands(statement):
                uses[operand] = uses.get(operand, 0) + 1
        if inner.result is not None:
            uses[inner.result] = uses.get(inner.result, 0) + 1
    return uses


def clone_block(block: Block, mapping: dict[Statement, Statement]) -> Block:
    """Return a deep copy of `block`; `mapping` turns outer statements into their copies and receives the new ones."""
    copied = Block([clone(statement, mapping) for statement in block.statements])
    copied.result = None if block.result is None else mapping.get(block.result, block.result)
    return copied


def clone(statement: Statement, mapping: dict[Statement, Statement]) -> Statement:
    """Return a copy of `statement` with operands mapped and blocks copied; records itself in `mapping`."""
    copied = copy.copy(statement)
    mapping[statement] = copied
    for attribute in statement.OPERANDS:
        value = getattr(statement, attribute)
        if isinstance(value, list):
            setattr(copied, attribute, [mapping.get(v, v) for v in value])
        elif value is not None:
            setattr(copied, attribute, mapping.get(value, value))
    for attribute in statement.BLOCKS:
        inner = getattr(statement, attribute)
        if inner is not None:
            setattr(copied, attribute, clone_block(inner, mapping))
    return copied


def has_effect(statement: Statement, effect: int) -> bool:
    """Return whether `statement`, or one inside it, has one of the flags of `effect`."""
    if statement.EFFECT & effect:
        return True
    if not statement.BLOCKS:
        return False
    return any(inner.EFFECT & effect for block in blocks(statement) for inner in walk(block))
