"""What tasks read and write, and whether a serial task may run elsewhere: in an earlier task, or after a loop."""

from __future__ import annotations

from collections.abc import Iterable

from ...ir.functions import Call
from ...ir.nodes import Block, Effect, Statement, walk
from ...ir.sparse import TREE_STATEMENTS
from ...ir.statements import (
    AtomicOp,
    Const,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    GlobalTemporary,
    If,
    IfExp,
    LocalLoad,
    LocalStore,
    LoopIndex,
    Operation,
    Rand,
)
from ...ir.tasks import Kernel, Task
from ...lazy_dataclasses import dataclass
from .aliasing import MemoryObject, may_alias, underlying_object

MOVABLE = (GlobalLoad, GlobalStore, AtomicOp, LocalLoad, LocalStore, If, IfExp)
"""Statements with effects that may run in another task: no loops, which may take long, and no output."""
ACCESSES = frozenset({Call, GlobalLoad, GlobalStore, AtomicOp})
SILENT = frozenset({Const, GlobalLoad, GlobalPtr, GlobalTemporary, LoopIndex, LocalLoad, Operation})
"""Statements that may run anywhere in a task, and before or after others that write nothing that they read."""


@dataclass(slots=True)
class Memory:
    """The arrays and temporaries that statements read and write."""

    reads: set[MemoryObject]
    writes: set[MemoryObject]

    def is_independent_of(self, other: Memory) -> bool:
        """Return whether their order cannot be seen."""
        return not (overlap(self.writes, other.reads | other.writes) or overlap(self.reads, other.writes))


def overlap(some: Iterable[MemoryObject], others: Iterable[MemoryObject]) -> bool:
    """Return whether an object of `some` may share memory with one of `others`."""
    some, others = set(some), set(others)
    if not some.isdisjoint(others):
        return True
    return any(map(may_alias, others)) and any(map(may_alias, some))


def memory_of(*blocks: Block) -> Memory:
    """Return what blocks read and write, also through the functions that they call."""
    found = Memory(set(), set())
    for block in blocks:
        for statement in [statement for statement in walk(block) if statement.__class__ in ACCESSES]:
            if isinstance(statement, Call):
                found.reads |= statement.function.reads
                found.writes |= statement.function.writes
            elif (target := underlying_object(statement.pointer)) is not None:  # type: ignore[attr-defined]
                if statement.__class__ is not GlobalStore:
                    found.reads.add(target)
                if statement.__class__ is not GlobalLoad:
                    found.writes.add(target)
    return found


def is_movable(statement: Statement) -> bool:
    """Return whether a statement of a serial task may run in another task."""
    if statement.__class__ in SILENT:
        return True
    if isinstance(statement, Call):
        return not statement.function.is_ordered
    if isinstance(statement, TREE_STATEMENTS):
        return False
    return isinstance(statement, MOVABLE) or not (statement.EFFECT or statement.BLOCKS)


def may_be_crossed(task: Task) -> bool:
    """Return whether what runs before a task instead of after it is the same, if they share no array.

    The task neither fails nor prints, and reads no counter of a sparse tree.
    """
    found = [statement for root in task.roots() for statement in walk(root) if statement.__class__ not in SILENT]
    return all(map(_may_be_crossed, found))


def _may_be_crossed(statement: Statement) -> bool:
    if isinstance(statement, Call):
        return not statement.function.is_ordered
    if isinstance(statement, (GlobalStore, AtomicOp, LocalStore)):
        return True
    return not (isinstance(statement, TREE_STATEMENTS) or statement.EFFECT & (Effect.WRITE | Effect.FENCE))


def draws_numbers(kernel: Kernel) -> bool:
    """Return whether the numbers of tasks matter: random numbers depend on them."""
    return any(isinstance(statement, Rand) for statement in kernel.statements())
