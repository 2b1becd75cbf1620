"""Lets the blocks of a GPU work on tiles of a loop that accesses arrays along two axes.

    for i, j in (0 .. n, 0 .. m) {    ->    for i, j in tiles of 32 x 8 {
        y[j, i] = x[i, j]                       y[j, i] = x[i, j]
    }                                       }

Neighbouring threads have neighbouring j. Those of a subgroup then store to 32 rows of y, and memory is accessed by 32
bytes at least, of which 4 are used: a transposition of 8192^2 floats took an H200 1.50 ms. In a tile, the threads of a
subgroup have 8 neighbouring j and 4 neighbouring i, and other subgroups of the block use the rest: .27 ms. If all
arrays are accessed along i, the threads of a tile are numbered along it.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...ir.builder import Builder
from ...ir.functions import reachable
from ...ir.nodes import Block, Effect, Remark, Statement, walk
from ...ir.statements import GlobalPtr, If, LoopIndex, RangeFor, repeats
from ...ir.tasks import Kernel, Task
from ...ir.types import i32
from ...options import CompileOptions
from ..analysis.queries import is_index_of, summands, trip_count
from ..analysis.reducible import is_invariant
from ..context import PassContext
from .tiled_loops import fits_tiles, limits, may_have_tiles, run_in_tiles, within_limits

LONG, SHORT = 32, 8
"""Iterations of a tile along the other axis and along the last one: 8 floats are the 32 bytes of an access."""
FEWEST = 1 << 16
"""Iterations that are worth tiles: the arrays of fewer are in a cache."""


def transposed_tiles(kernel: Kernel, context: PassContext) -> bool:
    """Give such loops of GPUs tiles in place of rows."""
    capabilities, options = context.capabilities, context.options
    if capabilities.blocks_as_loops or capabilities.blocks_in_lockstep:
        return False
    changed = False
    for task in kernel.tasks:
        if not _is_suitable(task):
            continue
        loop = task.loop
        assert loop is not None
        axes = set(_fastest_axes(task, loop))
        last = len(loop.starts) - 1
        others = sorted(axes - {last})
        if len(others) != 1:
            continue
        (other,) = others
        tile = tuple({other: LONG, last: SHORT}.get(axis, 1) for axis in range(last + 1))
        if not fits_tiles(loop, tile):
            continue
        _tile(task, loop, tile, [other, last] if last in axes else [last, other])
        if loop.block_dim is None and options.block_dim == CompileOptions().block_dim:
            task.block_dim = min(LONG * SHORT, capabilities.max_block_dim)
        if options.why_comments:
            _comment(task, sorted(axes))
        changed = True
    return changed


def _is_suitable(task: Task) -> bool:
    """Return whether a loop has several axes, constant bounds and plain iterations."""
    loop = task.loop
    if loop is None or len(loop.starts) < 2 or loop.grid_stride is not None or not may_have_tiles(loop):
        return False
    if task.reductions or task.block_sums or task.private or task.synchronizes:
        return False
    count = trip_count(loop)
    if count is None or count < FEWEST:
        return False
    return not any(repeats(s) or s.EFFECT & Effect.FENCE for s in reachable(task.body))


def _fastest_axes(task: Task, loop: RangeFor) -> Iterator[int]:
    """Yield the axes of the loop along which neighbours in memory are accessed."""
    for pointer in walk(task.body):
        if not isinstance(pointer, GlobalPtr) or not pointer.indices or pointer.array.place is not None:
            continue
        axis = _axis(pointer.indices[-1], loop)
        if axis is not None and (pointer.array.ndim > 1 or axis == len(loop.starts) - 1):
            yield axis


def _axis(index: Statement, loop: RangeFor) -> int | None:
    """Return the axis of the loop to whose index a number is added, or from which it is subtracted, or the reverse;
    None if there are several, or none."""
    found = None
    for _, value in summands(index):
        if is_index_of(value, loop) and found is None:
            found = value.axis
        elif not is_invariant(value):
            return None
    return found


def _tile(task: Task, loop: RangeFor, tile: tuple[int, ...], inner: list[int]) -> None:
    """Let a loop run in tiles, with a condition for what whole tiles add. inner: as in `run_in_tiles`."""
    ends = limits(loop, tile)
    if ends:
        own = [s for s in task.body.statements if is_index_of(s, loop)]
        rest = Block([s for s in task.body.statements if s not in own])
        task.body.statements[:] = own
        builder = Builder(task.body, loop.location)
        known = {index.axis: index for index in own}
        indices = {axis: known.get(axis) or builder.add(LoopIndex(loop, axis, type=i32)) for axis in ends}
        condition = within_limits(builder, ends, indices)
        assert condition is not None
        builder.add(If(condition, rest))
    run_in_tiles(task, tile, inner)


def _comment(task: Task, axes: list[int]) -> None:
    """Say above the first store along which axes arrays are accessed."""
    assert task.loop is not None
    names = task.loop.names
    along = " and ".join(names[axis] if len(names) == len(task.loop.starts) else f"axis {axis}" for axis in axes)
    statement = next((s for s in walk(task.body) if s.EFFECT & Effect.WRITE), None)
    if statement is not None:
        remark = Remark(f"tiles of {LONG} x {SHORT}: arrays are accessed along {along} (transposed_tiles)", "above")
        statement.remarks = (remark, *statement.remarks)
