"""Makes the loop over a range of indices that a loop over an array is, with a test of each cell of a sparse one."""

from __future__ import annotations

from ....ir.builder import Builder
from ....ir.nodes import Block, Statement, walk
from ....ir.origins import extent_of
from ....ir.snodes import is_sparse, memory_order
from ....ir.statements import Array, ArrayShape, Const, If, LoopIndex, RangeFor, StructFor
from ....ir.types import i32
from .active_cells import is_active


def is_in_pool(array: Array | None) -> bool:
    """Return whether an array has cells that may be inactive."""
    return array is not None and array.place is not None and is_sparse(array.place)


def as_range_for(loop: StructFor) -> tuple[list[Statement], RangeFor]:
    """Return the values of the bounds, and a RangeFor with the same body object."""
    axes = range(max(1, loop.array.ndim))
    before: list[Statement] = []

    def add(statement: Statement) -> Statement:
        statement.location = loop.location
        before.append(statement)
        return statement

    offset = loop.array.offset or (0,) * len(axes)

    def end(axis: int) -> Statement:
        shape = loop.array.shape
        if loop.array.ndim == 0:  # the single element of an array without axes
            return Const(1, type=i32)
        if shape is None:
            return ArrayShape(loop.array, axis, type=i32)
        return Const(offset[axis] + shape[axis], None if offset[axis] else extent_of(loop.array, axis), type=i32)

    body = loop.body
    if is_in_pool(loop.array):
        body = Block()
    new = RangeFor(
        [add(Const(offset[axis], type=i32)) for axis in axes],
        [add(end(axis)) for axis in axes],
        [add(Const(1, type=i32)) for _ in axes],
        loop.names or ["i"],
        body,
        loop.serialize,
        loop.block_dim,
        loop.array,
        loop.parallelize,
        () if loop.array.place is None else memory_order(loop.array.place),
        location=loop.location,
        grid_stride=loop.grid_stride,
        block_local=loop.block_local,
    )
    if body is not loop.body:
        _add_activity_test(new, loop)
    return before, new


def _add_activity_test(new: RangeFor, loop: StructFor) -> None:
    """Run the body of a loop over all cells of an array only for active ones."""
    builder = Builder(new.body, loop.location)
    assert loop.array.place is not None
    lower_bounds = loop.array.offset or (0,) * loop.array.ndim
    indices: list[Statement] = [
        builder.add(LoopIndex(new, axis, type=i32, name=new.names[axis])) for axis in range(loop.array.ndim)
    ]
    counted = [builder.shifted(index, -lower_bound) for index, lower_bound in zip(indices, lower_bounds, strict=True)]
    builder.add(If(is_active(builder, loop.array.place, counted), loop.body))


def rebind_indices(block: Block, replaced: dict[Statement, RangeFor]) -> None:
    """Make each LoopIndex of a replaced loop refer to the replacement."""
    for statement in walk(block):
        if statement.__class__ is LoopIndex and statement.loop in replaced:
            statement.loop = replaced[statement.loop]
