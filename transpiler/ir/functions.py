"""Real functions: bodies that are emitted once and called, where `ti.func` is built into its caller.

In a body, `ArgLoad` gives a parameter passed by value and `Reference` the caller's variable behind a `ti.ref`; `Return`
may be anywhere. Arrays are no parameters: a function is specialised on those it is called with.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from ..errors import NOWHERE, SourceLocation
from .nodes import Block, Effect, Statement, walk
from .statements import Array, Parameter, base_pointer
from .types import Type


@dataclass(eq=False, slots=True)
class Function:
    """A function that a kernel calls, in `Kernel.functions`.

    results: types in order, none for a procedure. result_names: what the struct of several results calls them.
    template: compile-time parameters and their arguments, as texts. reads, writes: arrays that it and all it calls
    touch. is_ordered: it prints, asserts or draws random numbers, so calls keep their order and number; unknown counts
    as so.
    """

    name: str
    parameters: list[Parameter]
    results: list[Type]
    body: Block = field(default_factory=Block)
    result_names: list[str] = field(default_factory=list)
    template: list[tuple[str, str]] = field(default_factory=list)
    reads: frozenset[Array] = frozenset()
    writes: frozenset[Array] = frozenset()
    is_ordered: bool = True
    location: SourceLocation = NOWHERE

    @property
    def effect(self) -> Effect:
        """What a call does besides giving a value. A variable passed by reference counts as written."""
        flags = Effect.READ if self.reads or self.is_ordered else Effect.NONE
        if self.writes or self.is_ordered or any(parameter.by_reference for parameter in self.parameters):
            flags |= Effect.READ | Effect.WRITE
        return flags


@dataclass(eq=False, slots=True)
class Reference(Statement):
    """The place a caller passed for a parameter by reference: a local variable of it, or an element of one."""

    parameter: Parameter


@dataclass(eq=False, slots=True)
class Call(Statement):
    """A call; arguments by parameter, pointers to locals for those by reference.

    Its type is that of the one result; several results are read by `CallResult`, and the call has no type then.
    """

    OPERANDS: ClassVar[tuple[str, ...]] = ("arguments",)
    function: Function
    arguments: list[Statement]

    @property
    def EFFECT(self) -> Effect:  # type: ignore[override]  # noqa: N802 - replaces the constant of other classes
        """What the function does."""
        return self.function.effect

    def references(self) -> list[Statement]:
        """Return the variables passed by reference."""
        pairs = zip(self.function.parameters, self.arguments, strict=True)
        return [base_pointer(argument) for parameter, argument in pairs if parameter.by_reference]


@dataclass(eq=False, slots=True)
class CallResult(Statement):
    """One of several results of a call."""

    OPERANDS: ClassVar[tuple[str, ...]] = ("call",)
    call: Statement
    position: int


def calls(block: Block) -> Iterator[Call]:
    """Yield the calls in `block` and inside it, in order."""
    return (statement for statement in walk(block) if isinstance(statement, Call))


def called(*blocks: Block) -> list[Function]:
    """Return the functions that `blocks` call, and those that these call; callees first, as a text defines them."""
    functions: dict[Function, None] = {}
    opened: set[Function] = set()
    pending = [(call.function, False) for block in reversed(blocks) for call in reversed(list(calls(block)))]
    while pending:
        function, is_done = pending.pop()
        if is_done:
            functions.setdefault(function)
        elif function not in opened:
            opened.add(function)
            pending.append((function, True))
            pending += [(call.function, False) for call in reversed(list(calls(function.body)))]
    return list(functions)


def reachable(*blocks: Block) -> Iterator[Statement]:
    """Yield every statement of `blocks` and of the functions they call, each function once."""
    for block in (*blocks, *(function.body for function in called(*blocks))):
        yield from walk(block)
