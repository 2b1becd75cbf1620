"""Whether the threads of a GPU take one turn of a loop each, in one row of blocks or several, or stride over several.

In: a task and how its turns are spread. Out: a yes or no, the same for the text and for the launch.
"""

from __future__ import annotations

from ...ir.functions import reachable
from ...ir.nodes import Statement
from ...ir.statements import (
    AtomicOp,
    Const,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    MatrixPtr,
    RangeFor,
    StructPtr,
    While,
    base_pointer,
)
from ...ir.tasks import Task
from ...options import MAX_TURNS
from ..print.threads import Threads, host_count

MAX_SINGLE_TURNS = 1 << 20
"""A loop known to be no longer than this has one thread a turn."""
BYTES_PER_BLOCK = 2600
"""What an H200 moves (4.2 TB/s) while it starts one block (1.6 a nanosecond): less work in a block than this waits for
the next one to start, more is best left to blocks of one turn a thread, which the GPU spreads evenly."""


def is_strided(task: Task, threads: Threads | None, max_groups: int) -> bool:
    """Tell whether threads take several turns of the loop: where one thread a turn might be too many blocks.

    max_groups: blocks along one axis of a grid that the device takes; Vulkan promises no more than 65,535.
    Measured on an H200, 2^28 turns: saxpy (12 bytes a turn) gains 6 % by striding, a particle update (48) loses 6 %.
    """
    if threads is None or threads.loops:
        return False
    if threads.extents is None:
        return True  # only the device knows how many turns there are
    count = host_count(threads.extents)
    if count is not None and count <= min(MAX_SINGLE_TURNS, max_groups * task.block_dim):
        return False
    return not is_heavy(task)


def is_folded(task: Task, threads: Threads | None, max_groups: int) -> bool:
    """Tell whether one thread a turn may be more blocks than an axis takes: the grid then has rows of blocks."""
    if threads is None or threads.loops or is_strided(task, threads, max_groups):
        return False
    count = host_count(threads.extents)
    return (MAX_TURNS if count is None else count) > max_groups * task.block_dim


def count_in_entry(task: Task, threads: Threads | None, max_groups: int, meets: bool) -> str:
    """Return what the entry of a task calls the number of all turns. meets: threads of a block wait for one another."""
    if threads is None:
        return ""
    named = is_strided(task, threads, max_groups) or (meets and is_folded(task, threads, max_groups))
    return "count" if named else threads.count


def is_heavy(task: Task) -> bool:
    """Tell whether a block of turns works longer than it takes to start one."""
    statements = list(reachable(task.body))
    if any(isinstance(statement, (RangeFor, While)) for statement in statements):
        return True
    return _bytes_moved(statements) * task.block_dim > BYTES_PER_BLOCK


def _bytes_moved(statements: list[Statement]) -> int:
    """Return the bytes a turn reads and writes: neighbours in one array count once, since caches bring them."""
    moved: dict[tuple[bool, object, tuple[object, ...]], int] = {}
    for statement in statements:
        if isinstance(statement, (GlobalLoad, GlobalStore, AtomicOp)):
            base = base_pointer(statement.pointer)
            pointed = statement.pointer.type
            if isinstance(base, GlobalPtr) and not base.array.is_shared and pointed is not None:
                is_write = not isinstance(statement, GlobalLoad)
                moved[is_write, base.array, _path(statement.pointer)] = pointed.size_bytes
    return sum(moved.values())


def _path(pointer: Statement) -> tuple[object, ...]:
    """Return how `pointer` leads into an element."""
    steps: list[object] = []
    while isinstance(pointer, (MatrixPtr, StructPtr)):
        if isinstance(pointer, StructPtr):
            steps.append(pointer.member)
        else:
            steps.append(tuple(index.value if isinstance(index, Const) else None for index in pointer.indices))
        pointer = pointer.origin
    return tuple(reversed(steps))
