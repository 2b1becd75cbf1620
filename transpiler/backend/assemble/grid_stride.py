"""Whether the threads of a GPU take one turn of a loop each, in one row of blocks or several, or stride over several.

In: a task in final form and the layout of its arguments. Out: a `Grid`, made before anything is printed.
"""

from __future__ import annotations

from dataclasses import dataclass

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
from ...options import MAX_ITERATIONS
from ..layout.layout import Layout
from ..layout.trip_counts import known_extents

MAX_SINGLE_ITERATIONS = 1 << 20
"""A loop known to be no longer than this has one thread a turn."""
BYTES_PER_BLOCK = 2600
"""What an H200 moves (4.2 TB/s) while it starts one block (1.6 a nanosecond): less work in a block than this waits for
the next one to start, more is best left to blocks of one turn a thread, which the GPU spreads evenly."""


@dataclass(frozen=True, slots=True)
class Grid:
    """How threads of a GPU take the iterations of a task: decided once, for its source and for its launch.

    is_strided: threads take several: where one thread an iteration might be too many blocks.
    is_folded: one thread an iteration may be more blocks than an axis takes: the grid then has rows of blocks.
    """

    is_strided: bool = False
    is_folded: bool = False


def grid_of(task: Task, layout: Layout, max_groups: int) -> Grid:
    """Decide how the iterations of a parallel task are taken by threads; those of a serial task are one.

    max_groups: blocks along one axis of a grid that the device takes; Vulkan promises no more than 65,535.
    Measured on an H200, 2^28 iterations: saxpy (12 bytes each) gains 6 % by striding, a particle update (48) loses 6 %.
    """
    if task.loop is None:
        return Grid()
    extents, count = known_extents(task.loop, layout)
    if extents is None:
        return Grid(is_strided=True)  # only the device knows how many iterations there are
    is_short = count is not None and count <= min(MAX_SINGLE_ITERATIONS, max_groups * task.block_dim)
    if not is_short and not is_heavy(task):
        return Grid(is_strided=True)
    return Grid(is_folded=(MAX_ITERATIONS if count is None else count) > max_groups * task.block_dim)


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
