"""Tiling of the iterations: lets the blocks of a GPU work on tiles of a loop that accesses arrays along two axes.

    for i, j in (0 .. n, 0 .. m) {    ->    for i, j in tiles of 32 x 8 {
        y[j, i] = x[i, j]                       y[j, i] = x[i, j]
    }                                       }

Neighbouring threads have neighbouring j. Those of a subgroup then store to 32 rows of y, and memory is accessed by 32
bytes at least, of which 4 are used: a transposition of 8192^2 floats took an H200 1.50 ms. In a tile, the threads of a
subgroup have 8 neighbouring j and 4 neighbouring i, and other subgroups of the block use the rest: .27 ms. If all
arrays are accessed along i, the threads of a tile are numbered along it.

Where only the launch knows n or m, there are two tasks, and it starts one: few iterations, or few along an axis, which
would leave most of a tile unused, run in rows; so does a loop of which whole tiles have more than can be counted.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...ir.builder import Builder
from ...ir.functions import reachable
from ...ir.nodes import Block, Effect, Remark, Statement, walk
from ...ir.statements import RECORDS, GlobalPtr, If, LoopIndex, RangeFor, repeats
from ...ir.tasks import AtLeast, AtMost, Kernel, Length, Task
from ...ir.types import i32
from ...options import MAX_ITERATIONS
from ..analysis.loops.reducible import is_invariant
from ..analysis.queries import count_along, is_index_of, names_of, summands, trip_count
from ..context import PassContext
from ..tasks.parts.copies import put_in_place, split
from .parts.tiled_loops import (
    fits_tiles,
    limits,
    may_have_tiles,
    may_have_tiles_of_launch,
    run_in_tiles,
    run_in_tiles_of_launch,
    within_limits,
)

LONG, SHORT = 32, 8
"""Iterations of a tile along the other axis and along the last one: 8 floats are the 32 bytes of an access."""
FEWEST = 1 << 16
"""The fewest iterations that are worth tiles: the arrays of fewer are in a cache."""
THIN = LONG // 2
"""Iterations along an axis for which most of a tile is used, where only the launch knows how many there are."""


def transposed_tiles(kernel: Kernel, context: PassContext) -> bool:
    """Give such loops of GPUs tiles in place of rows."""
    capabilities, options = context.capabilities, context.options
    if not capabilities.has_shared_memory:
        return False
    changed = False
    for task in list(kernel.tasks):
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
        if not _are_worth(loop, tile):
            continue
        inner, names = [other, last] if last in axes else [last, other], names_of(loop)
        if may_have_tiles(loop):
            _tile(task, loop, tile, inner)
        else:
            _add_plain_task(kernel, task, (other, last), tile)
            run_in_tiles_of_launch(task, tile, inner)
        if loop.block_dim is None and not options.has_own_block_dim:
            task.block_dim = min(LONG * SHORT, capabilities.max_block_dim)
        _comment(task, [names[axis] for axis in sorted(axes)])
        changed = True
    return changed


def _is_suitable(task: Task) -> bool:
    """Return whether a loop has several axes, bounds that are known at the launch, and plain iterations."""
    loop = task.loop
    if loop is None or len(loop.starts) < 2 or loop.grid_stride is not None:
        return False
    if task.reductions or task.block_sums or task.private or task.synchronizes:
        return False
    statements = list(reachable(task.body))
    if any(repeats(s) or s.EFFECT & Effect.FENCE for s in statements):
        return False
    if may_have_tiles(loop):
        return (trip_count(loop) or 0) >= FEWEST
    return may_have_tiles_of_launch(loop) and not any(isinstance(s, RECORDS) for s in statements)


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


def _are_worth(loop: RangeFor, tile: tuple[int, ...]) -> bool:
    """Return whether the iterations of whole tiles can be counted, of some launch at least, and most of them run."""
    if may_have_tiles(loop):
        return fits_tiles(loop, tile)
    lengths = [count_along(loop, axis) for axis, extent in enumerate(tile) if extent > 1]
    return all(length is None or length >= THIN for length in lengths)


def _add_plain_task(kernel: Kernel, task: Task, axes: tuple[int, int], tile: tuple[int, ...]) -> None:
    """Let a task run loops of many iterations only, and add one that runs the others. axes: those of the tile."""
    loop = task.loop
    assert loop is not None
    long = [AtLeast((Length(axis),), THIN) for axis in axes if count_along(loop, axis) is None]
    all_axes = tuple(map(Length, range(len(tile))))
    rounded = tuple(Length(axis, padding=extent - 1) for axis, extent in enumerate(tile))
    plain = split(task, *long, AtLeast(all_axes, FEWEST), AtMost(rounded, MAX_ITERATIONS))
    task.launches = f"for {FEWEST:,} iterations and more"
    plain.launches = f"for fewer than {FEWEST:,} iterations, or {THIN} along an axis, or too many for tiles"
    put_in_place(kernel, task, [plain, task])


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


def _comment(task: Task, names: list[str]) -> None:
    """Say above the first store along which axes arrays are accessed."""
    statement = next((s for s in walk(task.body) if s.EFFECT & Effect.WRITE), None)
    if statement is not None:
        along = " and ".join(names)
        remark = Remark(f"tiles of {LONG} x {SHORT}: arrays are accessed along {along} (transposed_tiles)", "above")
        statement.remarks = (remark, *statement.remarks)
