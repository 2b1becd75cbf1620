"""How the iterations of a parallel loop map to the threads of a GPU: one each, in a 1-D or 2-D grid, or grid-stride.

In: a task in final form and the layout of its arguments. Out: a `Grid`.
"""

from __future__ import annotations

from ...ir.functions import reachable
from ...ir.nodes import Statement, operands
from ...ir.statements import (
    RECORDS,
    AtomicOp,
    Const,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    If,
    IfExp,
    LoopIndex,
    MatrixPtr,
    Operation,
    Rand,
    RangeFor,
    StructPtr,
    base_pointer,
    repeats,
)
from ...ir.tasks import Task
from ...lazy_dataclasses import dataclass
from ...options import BYTES_PER_BLOCK, MAX_ITERATIONS
from ..layout.layout import Layout
from ..layout.trip_counts import known_extents

MAX_SINGLE_ITERATIONS = 1 << 20
"""A loop that certainly has no more iterations has one thread per iteration."""
FEW = 1 << 14
"""Iterations that keep a GPU busy only if each has a thread of its own."""
LIGHT = 24
"""Statements of a body that is short enough to be repeated some times."""


@dataclass(frozen=True, slots=True)
class Grid:
    """The grid of a task: decided once, for its source and for its launch.

    is_strided: each thread runs several iterations (grid-stride loop).
    is_unrolled: of those, a thread runs `CompileOptions.loads` without a test between them, in a loop with reductions
        or of `overlap_loads`. All their loads are in flight before the first one is used: one load of 4 bytes at a time
        reaches 61 % of an H200's bandwidth.
    is_folded: one thread per iteration may need more blocks than an axis has, so that the grid is 2-D.
    """

    is_strided: bool = False
    is_folded: bool = False
    is_unrolled: bool = False


def grid_of(task: Task, layout: Layout, max_groups: int) -> Grid:
    """Return the grid of a task; a serial task has one thread. `RangeFor.grid_stride` decides where both are possible.

    max_groups: the device's limit of blocks along one axis of a grid; Vulkan guarantees only 65,535.
    Measured on an H200, 2^28 iterations: saxpy (12 bytes each) gains 6 % by striding, a particle update (48) loses 6 %.
    """
    if task.loop is None:
        return Grid()
    extents, count = known_extents(task.loop, layout)
    if task.reductions or task.block_sums:
        return Grid(is_strided=True, is_unrolled=_is_light(task) and (count is None or count > FEW))
    if extents is None:
        return Grid(is_strided=True)  # only the device knows how many iterations there are
    wanted = task.loop.grid_stride
    is_short = count is not None and count <= min(MAX_SINGLE_ITERATIONS, max_groups * task.block_dim)
    if not is_short and not is_long_running(task) if wanted is None else wanted:
        return Grid(is_strided=True, is_unrolled=task.overlaps)
    return Grid(is_folded=(MAX_ITERATIONS if count is None else count) > max_groups * task.block_dim)


def _is_light(task: Task) -> bool:
    """Return whether the iterations of a loop only read memory, add to accumulators or copies, and are short."""
    statements = list(reachable(task.body))
    is_simple = not any(
        isinstance(s, (*RECORDS, Rand, If, IfExp, GlobalStore)) or repeats(s) or _is_elsewhere(s, task)
        for s in statements
    )
    return is_simple and len(statements) <= LIGHT


def _is_elsewhere(statement: Statement, task: Task) -> bool:
    """Return whether a statement is an atomic operation on memory of which the block has no copy."""
    if not isinstance(statement, AtomicOp):
        return False
    base = base_pointer(statement.pointer)
    return not (isinstance(base, GlobalPtr) and base.array in task.block_sums)


def is_long_running(task: Task) -> bool:
    """Return whether a block of iterations runs longer than it takes to start a block."""
    statements = list(reachable(task.together))
    if any(map(repeats, statements)):
        return True
    return _bytes_moved(statements, task.loop) * task.block_dim > BYTES_PER_BLOCK


def _bytes_moved(statements: list[Statement], loop: RangeFor | None) -> int:
    """Return the bytes that an iteration reads and writes in memory.

    Thanks to caches neighbours in an array count once, and what all iterations along an axis read, x[i] and y[j] of
    `for i, j`, not at all: 4,096 x 4,096 distances of points took an H200 .082 ms with a thread each, and .035 ms by
    a grid-stride loop.
    """
    moved: dict[tuple[bool, object, tuple[object, ...]], int] = {}
    for statement in statements:
        if isinstance(statement, (GlobalLoad, GlobalStore, AtomicOp)):
            base = base_pointer(statement.pointer)
            pointed = statement.pointer.type
            if isinstance(base, GlobalPtr) and not base.array.is_shared and pointed is not None:
                is_write = not isinstance(statement, GlobalLoad)
                if not is_write and _is_shared(base, loop):
                    continue
                path = _path(statement.pointer)
                size = pointed.size_bytes if None not in path else base.array.element.size_bytes  # an index of a loop
                key = is_write, base.array, path
                moved[key] = max(size, moved.get(key, 0))
    return sum(moved.values())


def _is_shared(element: GlobalPtr, loop: RangeFor | None) -> bool:
    """Return whether an element is the same for all iterations along an axis of the loop."""
    waiting, seen, axes = list(operands(element)), set[Statement](), set[int]()
    while waiting:
        value = waiting.pop()
        if value in seen:
            continue
        seen.add(value)
        if isinstance(value, LoopIndex) and value.loop is loop:
            axes.add(value.axis)
        elif isinstance(value, (Operation, GlobalLoad, GlobalPtr, Const)):
            waiting += operands(value)
        else:
            return False
    return loop is not None and len(axes) < len(loop.starts)


def _path(pointer: Statement) -> tuple[object, ...]:
    """Return the path of `pointer` inside an element."""
    steps: list[object] = []
    while isinstance(pointer, (MatrixPtr, StructPtr)):
        if isinstance(pointer, StructPtr):
            steps.append(pointer.member)
        else:
            numbers = tuple(index.value if isinstance(index, Const) else None for index in pointer.indices)
            steps.append(None if None in numbers else numbers)
        pointer = pointer.origin
    return tuple(reversed(steps))
