"""Which arrays a task reads and writes, by slot: launches are ordered by them, compilers compare addresses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from ...ir.functions import reachable
from ...ir.nodes import Statement
from ...ir.snodes import top_of
from ...ir.statements import Array, AtomicOp, GlobalLoad, GlobalPtr, GlobalStore, GlobalTemporary, base_pointer
from ...ir.tasks import Task

Slots = tuple[tuple[int, ...], tuple[int, ...]]
"""Of the arrays that a task reads and writes; -1 for temporaries."""


ACCESSES = frozenset({GlobalLoad, GlobalStore, AtomicOp})


def memory_of(task: Task, inside: Iterable[Statement]) -> Slots:
    """Return the slots of arrays a task reads and writes; -1 for temporaries. inside: what its body can reach."""
    read: set[Statement] = set()
    written: set[Statement] = set()
    others = [root for root in task.roots() if root is not task.body and root.statements]
    for statement in [s for s in chain(inside, reachable(*others)) if s.__class__ in ACCESSES]:
        if statement.__class__ is not GlobalStore:
            read.add(statement.pointer)  # type: ignore[attr-defined]
        if statement.__class__ is not GlobalLoad:
            written.add(statement.pointer)  # type: ignore[attr-defined]
    return _slots(read), _slots(written)


def pointers_of(statements: Sequence[Statement], memory: Slots) -> tuple[set[object], set[object]]:
    """Return keys of the pointers through which a task reads and writes: fields of one tree share a pointer.

    statements: of the task's body, and of what it calls.
    """
    arrays = {s.array.binding: s.array for s in statements if s.__class__ is GlobalPtr and not s.array.is_shared}
    reads, writes = memory
    return {_pointer(arrays, slot) for slot in reads}, {_pointer(arrays, slot) for slot in writes}


def _pointer(arrays: dict[int, Array], slot: int) -> object:
    array = arrays.get(slot)
    return slot if array is None or array.place is None else top_of(array.place)


def _slots(pointers: Iterable[Statement]) -> tuple[int, ...]:
    """Return the slots of what pointers point into; the shared memory of a block has none."""
    found = set()
    for base in map(base_pointer, pointers):
        if isinstance(base, GlobalPtr):
            found |= set() if base.array.is_shared else {base.array.binding}
        else:
            assert isinstance(base, GlobalTemporary)
            found.add(-1)
    return tuple(sorted(found))
