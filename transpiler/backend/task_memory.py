"""Which arrays a task reads and writes, by slot: what launches must order, and what compilers would have to compare."""

from __future__ import annotations

from typing import Any

from ..ir.functions import reachable
from ..ir.statements import AtomicOp, GlobalLoad, GlobalPtr, GlobalStore, GlobalTemporary, base_pointer
from ..ir.tasks import Task


def memory_of(task: Task) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the slots of arrays a task reads and writes; -1 for temporaries."""
    reads: set[int] = set()
    writes: set[int] = set()
    for statement in reachable(task.prologue, task.body):
        match statement:
            case GlobalLoad(pointer=pointer):
                reads.add(_slot(pointer))
            case GlobalStore(pointer=pointer):
                writes.add(_slot(pointer))
            case AtomicOp(pointer=pointer):
                reads.add(_slot(pointer))
                writes.add(_slot(pointer))
    return tuple(sorted(reads)), tuple(sorted(writes))


def _slot(pointer: Any) -> int:
    base = base_pointer(pointer)
    if isinstance(base, GlobalPtr):
        return base.array.slot if not base.array.is_shared else -1
    assert isinstance(base, GlobalTemporary)
    return -1
