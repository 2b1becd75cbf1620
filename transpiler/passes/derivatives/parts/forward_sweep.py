"""The forward sweep: statements of the kernel run again, for the values that the backward sweep needs.

What a kernel does to the world is left out: stores to arrays, atomic operations on them, printing, checks. Loops at the
level that is differentiated keep the values of the variables that they change (`saved_values.py`).
"""

from __future__ import annotations

import copy

from ....ir.builder import Builder
from ....ir.nodes import Block, Effect, Statement, blocks
from ....ir.statements import (
    Alloca,
    Array,
    AtomicOp,
    Break,
    GlobalPtr,
    GlobalStore,
    IndexCheck,
    LocalLoad,
    LocalStore,
    LoopIndex,
    RangeFor,
    StructFor,
    While,
    base_pointer,
)
from .activity import variables_of
from .saved_loads import SavedLoads
from .saved_values import SavedLoop, begin, save
from .scope import Scope, load_frozen

LOOPS = (RangeFor, StructFor, While)


class ForwardSweep:
    """Emits statements again.

    Attributes:
        replayed: arrays whose stores are run again, since the kernel overwrites elements that it read.
        parallel: the parallel loops of the kernel.
        saved: what loops keep, by the original loop.
        originals: the statements of the kernel, by their copies.
        unrepeatable: values that stand for the results of atomic operations, which differ when they are done again.
        is_first: what is emitted runs for the first time, so that it includes the stores to `replayed`.
        loaded: the variables that keep what loads from `replayed` gave the first time, by load.
    """

    def __init__(self, builder: Builder, replayed: set[Array], parallel: set[Statement]) -> None:
        self.builder = builder
        self.replayed = replayed
        self.parallel = parallel
        self.saved: dict[Statement, SavedLoop] = {}
        self.originals: dict[Statement, Statement] = {}
        self.unrepeatable: set[Statement] = set()
        self.is_first = True
        self.loaded = SavedLoads(builder)

    def block(self, block: Block, scope: Scope, is_differentiated: bool = False, in_loop: bool = False) -> None:
        """Emit the statements of a block into the current one.

        is_differentiated: the backward sweep of the same statements follows in `scope`. in_loop: the loop around the
        block is emitted too, so that a `break` leaves it.
        """
        for statement in block.statements:
            if not (isinstance(statement, Break) and not in_loop):
                self.statement(statement, scope, is_differentiated, in_loop)

    def first(self, block: Block, scope: Scope) -> None:
        """Emit a block that runs for the first time, and is differentiated in `scope`."""
        outer, self.is_first = self.is_first, True
        if self.replayed:
            self.loaded.begin(block, self.replayed, self.parallel)
        self.block(block, scope, is_differentiated=True)
        self.is_first = outer

    def statement(self, statement: Statement, scope: Scope, is_differentiated: bool, in_loop: bool) -> None:
        """Emit one statement, if it computes a value or changes a variable."""
        if statement in self.parallel and is_differentiated:
            self.enter(statement, scope)
            outer, self.is_first = self.is_first, False
            self.loop(statement, scope, is_differentiated)
            self.is_first = outer
        elif statement.BLOCKS:
            if is_differentiated:
                self.enter(statement, scope)
            if isinstance(statement, LOOPS):
                self.loop(statement, scope, is_differentiated)
            else:
                self.branches(statement, scope, in_loop)
        elif isinstance(statement, LocalLoad):
            self.load(statement, scope)
        elif isinstance(statement, LoopIndex):
            scope.values[statement] = self.index(statement, scope)
        elif statement in self.loaded and not self.is_first:
            scope.values[statement] = self.loaded.load(statement, lambda index: self.index(index, scope))
        elif not self.is_left_out(statement):
            copied = self.copy(statement, scope)
            if statement in self.loaded:
                self.loaded.store(statement, copied, lambda index: self.index(index, scope))
        elif isinstance(statement, AtomicOp):  # an error if what it returned is needed
            self.builder.location = statement.location
            scope.values[statement] = substitute = self.builder.load(scope.find(statement.pointer))
            self.unrepeatable.add(substitute)

    def is_left_out(self, statement: Statement) -> bool:
        """Return whether a statement has an effect outside the kernel's variables."""
        if isinstance(statement, (LocalStore, IndexCheck)) or not statement.EFFECT & Effect.WRITE:
            return False
        if isinstance(statement, (GlobalStore, AtomicOp)):
            base = base_pointer(statement.pointer)
            is_replayed = self.is_first and isinstance(base, GlobalPtr) and base.array in self.replayed
            return not isinstance(base, Alloca) and not is_replayed
        return statement.type is None

    def copy(self, statement: Statement, scope: Scope) -> Statement:
        """Emit a statement without blocks, with the values of `scope`."""
        copied = copy.copy(statement)
        copied.remarks = ()
        for attribute in statement.OPERANDS:
            value = getattr(statement, attribute)
            if isinstance(value, list):
                setattr(copied, attribute, [scope.find(operand) for operand in value])
            elif value is not None:
                setattr(copied, attribute, scope.find(value))
        scope.values[statement] = copied
        self.originals[copied] = statement
        return self.builder.add(copied)

    def load(self, statement: LocalLoad, scope: Scope) -> None:
        """Emit a load of a variable; one that does not change here is a value."""
        value = scope.frozen_value(base_pointer(statement.pointer))
        if value is None:
            self.copy(statement, scope)
        else:
            self.builder.location = statement.location
            scope.values[statement] = load_frozen(self.builder, statement.pointer, value, scope)

    def index(self, statement: LoopIndex, scope: Scope) -> Statement:
        """Return the index of a loop: that of its copy, or the value for which an iteration is run again."""
        value = scope.index(statement)
        if value is not None:
            return value
        copied = copy.copy(statement)
        loop = scope.find(statement.loop)
        assert isinstance(loop, (RangeFor, StructFor))
        copied.loop = loop
        return self.builder.add(copied)

    def enter(self, statement: Statement, scope: Scope) -> None:
        """Emit loads of the variables that a statement with blocks accesses, whose values it needs when run again."""
        self.builder.location = statement.location
        entries: dict[Alloca, Statement] = {}
        for variable in variables_of(statement).all:
            value = scope.frozen_value(variable)
            entries[variable] = self.builder.load(scope.find(variable)) if value is None else value
            if value is None:
                entries[variable].name = variable.name
        scope.entries[statement] = entries

    def branches(self, statement: Statement, scope: Scope, in_loop: bool) -> None:
        """Emit an `if`, or an expression with blocks."""
        copied = copy.copy(statement)
        copied.remarks = ()
        copied.condition = scope.find(statement.condition)  # type: ignore[attr-defined]
        for attribute in statement.BLOCKS:
            inner = getattr(statement, attribute)
            setattr(copied, attribute, None if inner is None else self.inner(inner, Scope(scope), in_loop))
        scope.values[statement] = copied
        self.builder.add(copied)

    def inner(self, block: Block, scope: Scope, in_loop: bool) -> Block:
        """Return a block with the statements of `block`, and its result."""
        copied = Block()
        with self.builder.into(copied):
            self.block(block, scope, in_loop=in_loop)
        copied.result = None if block.result is None else scope.find(block.result)
        return copied

    def loop(self, statement: Statement, scope: Scope, is_differentiated: bool) -> None:
        """Emit a loop; at the level that is differentiated a serial loop keeps its values."""
        self.builder.location = statement.location
        is_serial = statement not in self.parallel
        copied = copied_loop(statement, scope)
        saved = begin(self.builder, statement, scope) if is_differentiated and is_serial else None
        body = Scope(scope, {statement: copied})
        if isinstance(copied, While):
            assert isinstance(statement, While)
            copied.condition = self.inner(statement.condition, Scope(body), False)
        self.builder.add(copied)
        with self.builder.into(copied.body):  # type: ignore[attr-defined]
            if saved is not None:
                self.saved[statement] = saved
                self.builder.location = statement.location
                save(self.builder, saved, body, _index_of(self.builder, copied))
            self.block(blocks(statement)[-1], body, in_loop=True)


def copied_loop(statement: Statement, scope: Scope) -> Statement:
    """Return a loop with an empty body and the bounds of `scope`."""
    copied = copy.copy(statement)
    copied.remarks = ()
    copied.body = Block()  # type: ignore[attr-defined]
    for attribute in statement.OPERANDS:
        setattr(copied, attribute, [scope.find(value) for value in getattr(statement, attribute)])
    return copied


def _index_of(builder: Builder, loop: Statement) -> Statement | None:
    return builder.add(LoopIndex(loop, type=loop.starts[0].type)) if isinstance(loop, RangeFor) else None
