"""`ti.block_local(x)`: each block of threads loads the part of x that its iterations read once, into shared memory.

    for i, j in (0 .. n, 0 .. m) {           for i, j in tiles of 8 x 32 {
        $1 = x[i - 1, j]                         for e from the thread's number, step BLOCK, to 10 * 34 {
        $2 = x[i, j + 1]           ->                x_tile[e / 34, e % 34] = x[i of the tile - 1 + e / 34, ...]
        ...                                      }
    }                                            barrier
                                                 $1 = x_tile[ti, tj + 1], $2 = x_tile[ti + 1, tj + 2]
                                             }

A block's iterations are a tile: 32 neighbours along the last axis, and as many rows as the block has left. What they
read is at the loop's indices, or numbers and indices of inner loops with constant bounds away. The ends of the loop are
rounded up to whole tiles; the iterations that this adds only help to load.

Arrays that the loop writes stay as they are, and so do loops whose length only a launch tells.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from ...ir.builder import Builder
from ...ir.nodes import Block, Remark, Statement, walk
from ...ir.origins import block_size, extent_of
from ...ir.statements import (
    Array,
    Const,
    GlobalPtr,
    If,
    LoopIndex,
    RangeFor,
)
from ...ir.tasks import Kernel, Task
from ...ir.threads import Barrier, ThreadIndex
from ...ir.types import i32
from ..analysis.aliasing import written_objects
from ..analysis.loops.synchronizable import may_synchronize
from ..analysis.queries import is_index_of, names_of, summands
from ..context import PassContext
from ..rewrite import Rewriter
from .parts.tiled_loops import fits_tiles, limits, may_have_tiles, new_shared, run_in_tiles, within_limits

BLOCK = 256
"""Threads of a block, unless the program says: a tile of 8 x 32 has few neighbours."""
ROW = 32
"""Neighbours along the last axis: those of a subgroup."""
Offsets = tuple[tuple[int, int], ...]
"""By axis, the lowest and the highest number that is added to an index of the loop."""


def block_local(kernel: Kernel, context: PassContext) -> bool:
    """Stage the arrays that `ti.block_local` names."""
    changed = False
    capabilities, options = context.capabilities, context.options
    has_blocks = capabilities.has_shared_memory
    for task in kernel.tasks:
        loop = task.loop
        if loop is None or not loop.block_local:
            continue
        named, loop.block_local = list(_with_parts(loop.block_local)), []
        if not (has_blocks and options.make_block_local and may_have_tiles(loop) and may_synchronize(task)):
            continue
        block = loop.block_dim or (min(BLOCK, capabilities.max_block_dim) if len(loop.starts) > 1 else task.block_dim)
        found = {array: offsets for array in named if (offsets := _offsets(task, array)) is not None}
        tile = _tile_of(block, len(loop.starts))
        if (
            found
            and fits_tiles(loop, tile)
            and sum(_bytes(array, tile, offsets) for array, offsets in found.items()) <= capabilities.max_shared_bytes
        ):
            task.block_dim, task.tile = block, tile
            _stage(kernel, task, found)
            changed = True
    return changed


def _with_parts(arrays: list[Array]) -> Iterator[Array]:
    for array in arrays:
        yield array
        yield from _with_parts(list(array.parts))


def _tile_of(block: int, axes: int) -> tuple[int, ...]:
    """Return the extents of the tile of a block."""
    if axes == 1:
        return (block,)
    row = ROW if block % ROW == 0 else 1 if block % 2 else block & -block
    if axes == 2:
        return (block // row, row)
    row = min(row, ROW // 2)
    rows = next(rows for rows in (4, 2, 1) if block // row % rows == 0)
    return (*(1,) * (axes - 3), block // row // rows, rows, row)


def _bytes(array: Array, tile: tuple[int, ...], offsets: Offsets) -> int:
    return array.element.size_bytes * prod(_extents(tile, offsets))


def _extents(tile: tuple[int, ...], offsets: Offsets) -> list[int]:
    return [extent + high - low for extent, (low, high) in zip(tile, offsets, strict=True)]


# --- what is read -----------------------------------------------------------------------------------------------------


def _offsets(task: Task, array: Array) -> Offsets | None:
    """Return what is added to the loop's indices where an array is read, None if it is read elsewhere or written."""
    loop = task.loop
    assert loop is not None
    is_field = array.shape is not None and array.node is None and not array.offset and not array.clamped
    if not is_field or array.ndim != len(loop.starts) or array in written_objects(task.body):
        return None
    low, high = [0] * array.ndim, [0] * array.ndim
    is_read = False
    for statement in walk(task.body):
        if not isinstance(statement, GlobalPtr) or statement.array is not array:
            continue
        if statement.cell is not None:
            return None
        for axis, index in enumerate(statement.indices):
            interval = _interval(index, loop, axis)
            if interval is None:
                return None
            low[axis], high[axis] = min(low[axis], interval[0]), max(high[axis], interval[1])
        is_read = True
    return tuple(zip(low, high, strict=True)) if is_read else None


def _interval(index: Statement, loop: RangeFor, axis: int) -> tuple[int, int] | None:
    """Return the interval of an index less the loop's index along an axis, None if it is not known."""
    low = high = times = 0
    for sign, value in summands(index):
        if is_index_of(value, loop):
            if value.axis != axis:
                return None
            times += sign
        elif (interval := _number(value)) is not None:
            least, greatest = (sign * number for number in interval[::sign])
            low, high = low + least, high + greatest
        else:
            return None
    return (low, high) if times == 1 else None


def _number(value: Statement) -> tuple[int, int] | None:
    """Return the interval of a number, or of an index of an inner loop with constant bounds."""
    if isinstance(value, Const):
        return int(value.value), int(value.value)
    if isinstance(value, LoopIndex) and isinstance(value.loop, RangeFor):
        start, end, step = (values[value.axis] for values in (value.loop.starts, value.loop.ends, value.loop.steps))
        if isinstance(start, Const) and isinstance(end, Const) and isinstance(step, Const):
            values = range(int(start.value), int(end.value), int(step.value))
            return (min(values), max(values)) if values else (0, 0)
    return None


# --- the tiles --------------------------------------------------------------------------------------------------------


def _stage(kernel: Kernel, task: Task, found: dict[Array, Offsets]) -> None:
    """Let the blocks of a task load tiles and read these."""
    loop, tile = task.loop, task.tile
    assert loop is not None
    own = [s for s in task.body.statements if is_index_of(s, loop)]
    rest = Block([s for s in task.body.statements if s not in own])
    task.body.statements[:] = own
    builder = Builder(task.body, loop.location)
    by_axis = {index.axis: index for index in own}
    indices = [by_axis.get(axis) or builder.add(LoopIndex(loop, axis, type=i32)) for axis in range(len(tile))]
    thread = builder.add(ThreadIndex("thread", type=i32, name="thread"))
    within = [_part(builder, thread, tile, axis) for axis in range(len(tile))]
    firsts = [builder.op("sub", index, part) for index, part in zip(indices, within, strict=True)]
    for name, first, part in zip(names_of(loop), firsts, within, strict=True):
        first.hint, part.hint = f"first_{name}", f"thread_{name}"
    tiles = {
        array: new_shared(kernel, f"{array.name}_tile", array.element, tuple(_extents(tile, offsets)))
        for array, offsets in found.items()
    }
    for array, offsets in found.items():
        _load(builder, task, array, tiles[array], offsets, firsts, thread)
    builder.add(Barrier("block"))
    _read(rest, found, tiles, loop, within)
    condition = within_limits(builder, limits(loop, tile), dict(enumerate(indices)))
    if condition is None:
        task.body.statements += rest.statements
    else:
        builder.add(If(condition, rest))
    run_in_tiles(task, tile)


def _part(builder: Builder, number: Statement, extents: tuple[int, ...] | list[int], axis: int) -> Statement:
    """Return the index along an axis of element `number` of a box."""
    inner = prod(extents[axis + 1 :])
    value = builder.op("raw_div", number, builder.const(inner)) if inner > 1 else number
    return builder.op("raw_mod", value, builder.const(extents[axis])) if axis > 0 else value


def _load(
    builder: Builder, task: Task, array: Array, tile: Array, offsets: Offsets,
    firsts: list[Statement], thread: Statement,
) -> None:  # fmt: skip
    """Add the loop by which a block's threads load the elements of a tile that the array has."""
    assert tile.shape is not None and array.shape is not None and task.loop is not None
    size = builder.const(prod(tile.shape))
    block = builder.add(Const(task.block_dim, block_size(task.block_dim), type=i32))
    loop = RangeFor([thread], [size], [block], ["element"], location=builder.location)
    builder.add(loop)
    box = " x ".join(map(str, tile.shape))
    remark = f"the block loads the {box} elements of {array.name} that it reads (block_local)"
    loop.remarks = (Remark(remark, "above"),)
    with builder.into(loop.body):
        element = builder.add(LoopIndex(loop, 0, type=i32))
        places = [_part(builder, element, tile.shape, axis) for axis in range(array.ndim)]
        sources, limits = [], []
        for axis, (first, place, (low, _)) in enumerate(zip(firsts, places, offsets, strict=True)):
            corner = builder.op("add" if low > 0 else "sub", first, builder.const(abs(low))) if low else first
            source = builder.op("add", corner, place)
            source.hint = f"source_{names_of(task.loop)[axis]}"
            extent = builder.add(Const(array.shape[axis], extent_of(array, axis), type=i32))
            limits += [builder.op("le", builder.const(0), source), builder.op("lt", source, extent)]
            sources.append(source)
        condition = builder.all_of(limits)
        assert condition is not None
        branch = builder.add(If(condition))
        with builder.into(branch.then):
            value = builder.load(builder.add(GlobalPtr(array, sources, type=array.element)))
            builder.store(builder.add(GlobalPtr(tile, places, type=tile.element)), value)


def _read(
    body: Block, found: dict[Array, Offsets], tiles: dict[Array, Array], loop: RangeFor, within: list[Statement]
) -> None:
    """Make a body read the tiles: at the thread's place in the tile, and what is added to the index of the loop."""

    def rule(rewriter: Rewriter, pointer: Statement) -> Statement | None:
        assert isinstance(pointer, GlobalPtr)
        if pointer.array not in tiles:
            return None
        builder = rewriter.builder(pointer)
        places = []
        for axis, index in enumerate(pointer.indices):
            low = found[pointer.array][axis][0]
            places.append(_place(builder, index, loop, within[axis], -low))
        return builder.add(GlobalPtr(tiles[pointer.array], places, type=pointer.type))

    Rewriter({GlobalPtr: rule}).block(body)


def _place(builder: Builder, index: Statement, loop: RangeFor, within: Statement, shift: int) -> Statement:
    """Return the place in a tile for an index: the thread's, `shift`, and what is added to the loop's index."""
    others = []
    for sign, value in summands(index):
        if isinstance(value, Const):
            shift += sign * int(value.value)
        elif not is_index_of(value, loop):
            others.append((sign, value))
    place = builder.op("add" if shift > 0 else "sub", within, builder.const(abs(shift))) if shift else within
    for sign, value in others:
        place = builder.op("add" if sign > 0 else "sub", place, value)
    return place
