"""Loops of GPUs whose blocks run tiles of iterations: `transposed_tiles` chooses them, and `ti.block_local`.

    for i, j in (0 .. 100, 0 .. m)    ->    for i, j in tiles of 32 x 8, to 128 and a multiple of 8 {
                                                if i < 100 and j < m { ... }
                                            }

In: a loop with constant bounds, and the extents of a tile, one for each axis. Ends are rounded up to whole tiles.
Where only the launch knows the ends, the loop has one more axis in place of an order (`run_in_tiles_of_launch`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from ....ir.builder import Builder
from ....ir.nodes import Block, Statement
from ....ir.snodes import IndexComponent
from ....ir.statements import Array, Const, If, LoopIndex, RangeFor, is_const
from ....ir.tasks import Kernel, Task
from ....ir.types import Type, i32, u32
from ...analysis.queries import count_along, is_given, is_index_of, names_of
from ...rewrite import Rewriter

MOST_ITERATIONS = 2**31 - 1
"""The most iterations of a parallel loop."""


def counts_of(builder: Builder, loop: RangeFor) -> list[Statement]:
    """Return the numbers of iterations along all axes, without a sign, so that the host's product wraps likewise."""
    found: list[Statement] = []
    for start, end in zip(loop.starts, loop.ends, strict=True):
        last = builder.cast(builder.again(end), u32)
        found.append(last if is_const(start, 0) else builder.op("sub", last, builder.cast(builder.again(start), u32)))
    return found


def new_shared(kernel: Kernel, name: str, element: Type | None, shape: tuple[int, ...]) -> Array:
    """Add an array in the shared memory of blocks to a kernel; it gets a number if another one has its name."""
    binding = 1 + max((shared.binding for shared in kernel.shared), default=-1)
    taken = {shared.name for shared in kernel.shared}
    numbered = (f"{name}_{number}" for number in range(1, len(taken) + 1))
    name = name if name not in taken else next(free for free in numbered if free not in taken)
    assert element is not None
    kernel.shared.append(Array(name, element, len(shape), binding, shape=shape, is_shared=True))
    return kernel.shared[-1]


def may_have_tiles(loop: RangeFor) -> bool:
    """Return whether a loop has constant bounds and the order of its indices."""
    return is_in_order(loop) and all(isinstance(bound, Const) for bound in (*loop.starts, *loop.ends))


def may_have_tiles_of_launch(loop: RangeFor) -> bool:
    """Return whether a loop has the order of its indices, from 0 to ends some of which only the launch knows."""
    if not is_in_order(loop) or not all(is_const(start, 0) for start in loop.starts):
        return False
    return all(map(is_given, loop.ends)) and not all(isinstance(end, Const) for end in loop.ends)


def is_in_order(loop: RangeFor) -> bool:
    """Return whether a loop runs over neighbouring indices in their order, as far as a parallel loop has one."""
    return not loop.order and loop.cells is None and all(is_const(step, 1) for step in loop.steps)


def fits_tiles(loop: RangeFor, tile: Sequence[int]) -> bool:
    """Return whether whole tiles have no more iterations than a parallel loop may have."""
    return prod(count * extent for count, extent in zip(_counts(loop, tile), tile, strict=True)) <= MOST_ITERATIONS


def limits(loop: RangeFor, tile: Sequence[int]) -> dict[int, Statement]:
    """Return the ends of the axes that whole tiles exceed."""
    numbers = zip(_numbers(loop.starts), _numbers(loop.ends), _counts(loop, tile), tile, strict=True)
    return {
        axis: loop.ends[axis]
        for axis, (start, end, count, extent) in enumerate(numbers) if start + count * extent != end
    }  # fmt: skip


def within_limits(
    builder: Builder, ends: Mapping[int, Statement], indices: Mapping[int, Statement]
) -> Statement | None:
    """Return the condition that an iteration is one of the loop; None if all are. ends: what `limits` has returned."""
    return builder.all_of([builder.op("lt", indices[axis], builder.again(end)) for axis, end in ends.items()])


def run_in_tiles(task: Task, tile: Sequence[int], inner: Sequence[int] = ()) -> None:
    """Set the order of the iterations, and round up the ends.

    inner: the axes in the order within a tile, that of neighbouring threads last; those of the loop if it is empty.
    """
    loop = task.loop
    assert loop is not None
    counts, starts = _counts(loop, tile), _numbers(loop.starts)
    for axis in limits(loop, tile):
        loop.ends[axis] = Const(starts[axis] + counts[axis] * tile[axis], type=i32, location=loop.location)
        task.prologue.statements.append(loop.ends[axis])
    of_tiles = [IndexComponent(axis, count, tile[axis], 0) for axis, count in enumerate(counts)]
    within = [IndexComponent(axis, tile[axis], 1, 0) for axis in inner or range(len(tile))]
    loop.order = tuple(component for component in (*of_tiles, *within) if component.extent > 1) or tuple(within)
    loop.grid_stride = False


def _counts(loop: RangeFor, tile: Sequence[int]) -> list[int]:
    """Return how many tiles there are along each axis."""
    numbers = zip(_numbers(loop.starts), _numbers(loop.ends), tile, strict=True)
    return [max(0, -(-(end - start) // extent)) for start, end, extent in numbers]


def _numbers(bounds: list[Statement]) -> list[int]:
    return [int(bound.value) for bound in bounds if isinstance(bound, Const)]


# --- ends that only the launch knows ----------------------------------------------------------------------------------


def run_in_tiles_of_launch(task: Task, tile: Sequence[int], inner: Sequence[int]) -> None:
    """Let a loop with `may_have_tiles_of_launch` run from tile to tile, and inside a tile along one more axis.

        for i, j in (0 .. n, 0 .. m)    ->    for i_tile step 32, j_tile step 8, in_tile in 0 .. 256 {
                                                  i = i_tile + in_tile // 8
                                                  j = j_tile + in_tile % 8
                                                  if i < n and j < m { ... }
                                              }

    inner: as in `run_in_tiles`, the axes along which a tile has several iterations.
    """
    loop = task.loop
    assert loop is not None
    body, task.body.statements[:] = Block(list(task.body.statements)), []
    builder, names = Builder(task.body, loop.location), names_of(loop)
    ends = {axis: loop.ends[axis] for axis in sorted(inner) if (count_along(loop, axis) or 1) % tile[axis]}
    add_axis(task, {axis: tile[axis] for axis in inner}, prod(tile), "in_tile")
    loop.grid_stride = False
    inside = builder.add(LoopIndex(loop, len(tile), type=i32))
    indices: dict[int, Statement] = {}
    for axis in sorted(inner):
        place = _place_in_tile(builder, inside, axis, tile, inner)
        indices[axis] = builder.op("add", builder.add(LoopIndex(loop, axis, type=i32)), place)
        indices[axis].name = names[axis]
    replace_indices(body, loop, indices)
    condition = within_limits(builder, ends, indices)
    if condition is None:
        task.body.statements += body.statements
    else:
        builder.add(If(condition, body))


def _place_in_tile(
    builder: Builder, inside: Statement, axis: int, tile: Sequence[int], inner: Sequence[int]
) -> Statement:
    """Return how far an iteration is from the first one of its tile along an axis. inside: its number in the tile."""
    faster = prod(tile[other] for other in inner[list(inner).index(axis) + 1 :])
    place = builder.op("floordiv", inside, builder.const(faster)) if faster > 1 else inside
    return place if axis == inner[0] else builder.op("mod", place, builder.const(tile[axis]))


def take_names(task: Task) -> list[str]:
    """Return the names of the indices of a task's loop, which is about to get others: its title says what it was."""
    loop = task.loop
    assert loop is not None
    names = names_of(loop)
    task.over = task.over or (", ".join(names) if loop.over is None else loop.over.name)
    loop.over = None
    return names


def add_bound(task: Task, value: int) -> Const:
    """Return a number for a bound or a step of a task's loop."""
    assert task.loop is not None
    made = Const(value, type=i32, location=task.loop.location)
    task.prologue.statements.append(made)
    return made


def add_axis(task: Task, steps: Mapping[int, int], length: int, name: str) -> None:
    """Let the loop of a task step from tile to tile along some axes, and add the fastest axis: of so many threads."""
    loop = task.loop
    assert loop is not None
    names = take_names(task)
    for axis, step in steps.items():
        loop.steps[axis] = add_bound(task, step)
    for values, value in zip((loop.starts, loop.ends, loop.steps), (0, length, 1), strict=True):
        values.append(add_bound(task, value))
    while name in names:
        name += "_"
    loop.names = [*(f"{own}_tile" if axis in steps else own for axis, own in enumerate(names)), name]


def replace_indices(body: Block, loop: RangeFor, indices: Mapping[int, Statement]) -> None:
    """Replace the indices of a loop, by axis."""

    def index(rewriter: Rewriter, value: Statement) -> Statement | None:
        return indices.get(value.axis) if is_index_of(value, loop) else None

    Rewriter({LoopIndex: index}).block(body)
