"""Loops of GPUs whose blocks run tiles of iterations: `transposed_tiles` chooses them, and `ti.block_local`.

    for i, j in (0 .. 100, 0 .. m)    ->    for i, j in tiles of 32 x 8, to 128 and a multiple of 8 {
                                                if i < 100 and j < m { ... }
                                            }

In: a loop with constant bounds, and the extents of a tile, one for each axis. Ends are rounded up to whole tiles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from ...ir.builder import Builder
from ...ir.nodes import Statement
from ...ir.snodes import IndexComponent
from ...ir.statements import Array, Const, RangeFor, is_const
from ...ir.tasks import Kernel, Task
from ...ir.types import Type, i32, u32

MOST_ITERATIONS = 2**31 - 1
"""Of a parallel loop."""


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
    if loop.order or loop.cells is not None or not all(is_const(step, 1) for step in loop.steps):
        return False
    return all(isinstance(bound, Const) for bound in (*loop.starts, *loop.ends))


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
