"""Functions that a kernel calls: every `ti.real_func`, and each `ti.func` that need not be inlined into its callers.

In a body, `ArgLoad` is the value of a parameter passed by value and `Reference` the caller's variable of a `ti.ref`;
`Return` may be anywhere. Arrays are not passed: a function is specialised on the arrays that its callers pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from itertools import chain
from typing import ClassVar

from ..errors import NOWHERE, SourceLocation
from ..lazy_dataclasses import dataclass
from .nodes import Block, Effect, Statement, blocks, walk
from .statements import Array, Parameter, base_pointer
from .types import Type


@dataclass(eq=False, slots=True)
class Function:
    """A function that a kernel calls, in `Kernel.functions`.

    Attributes:
        name: identifier in the emitted source.
        parameters: in order, without compile-time parameters.
        results: types in order, none for a procedure.
        result_names: member names of the struct of several results.
        body: its statements.
        location: of its definition.
        template: compile-time parameters and their arguments, as strings.
        statements: the number of Python statements of a `ti.func`, which a pass may inline; None: it stays a function.
        is_inline: the target's compiler is to inline it: it is a `ti.func`.
        is_in_lanes: the target's compiler is to inline it however long it is, so that it makes vectors of loops (C).
        snippets: bodies that the program wrote, by the language's name; `body` says what they mean, and is that of
            other languages.
        library: what users call a function of shadesmith's own, such as "ti.math.smoothstep"; it has no location.
        reads, writes: arrays that it and its callees access.
        is_ordered: it prints, asserts or draws random numbers, so that the order and number of calls is observable;
            True
            while unknown.
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
    statements: int | None = None
    is_inline: bool = False
    is_in_lanes: bool = False
    snippets: tuple[tuple[str, str], ...] = ()
    library: str = ""
    location: SourceLocation = NOWHERE

    @property
    def effect(self) -> int:
        """The effect of a call. A variable passed by reference counts as written."""
        flags = Effect.READ if self.reads or self.is_ordered else Effect.NONE
        if self.writes or self.is_ordered or any(parameter.by_reference for parameter in self.parameters):
            flags |= Effect.READ | Effect.WRITE
        return flags


@dataclass(eq=False, slots=True)
class Reference(Statement):
    """A pointer that the caller passed by reference: to one of its local variables, or to an element of one."""

    parameter: Parameter


@dataclass(eq=False, slots=True)
class Call(Statement):
    """A call; arguments in the order of the parameters, pointers to local variables for those by reference.

    Its type is that of the single result; several results are read by `CallResult`, and the call itself has no type
    then.
    """

    OPERANDS: ClassVar[tuple[str, ...]] = ("arguments",)
    function: Function
    arguments: list[Statement]

    @property
    def EFFECT(self) -> int:  # type: ignore[override]  # noqa: N802 - replaces the constant of other classes
        """The effect of the called function."""
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
    """Return the calls in `block` and inside it, in order."""
    return iter([statement for statement in walk(block) if statement.__class__ is Call])


def called(*blocks: Block) -> list[Function]:
    """Return the functions that `blocks` call, directly or indirectly; callees first, in the order of definition."""
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


def in_loops(roots: Iterable[Block], is_loop: Callable[[Statement], bool]) -> list[Block]:
    """Return the bodies of the loops of some blocks, and of the functions that these call."""
    bodies = [body for root in roots for statement in walk(root) if is_loop(statement) for body in blocks(statement)]
    return [*bodies, *(function.body for function in called(*bodies))]


def reachable(*blocks: Block) -> Iterator[Statement]:
    """Return every statement of `blocks` and of the functions they call, each function once."""
    own = list(walk(blocks[0]) if len(blocks) == 1 else chain.from_iterable(map(walk, blocks)))
    if Call in {statement.__class__ for statement in own}:
        own += chain.from_iterable([walk(function.body) for function in called(*blocks)])
    return iter(own)
