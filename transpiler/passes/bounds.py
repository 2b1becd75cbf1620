"""Guards every access to an array by a check of its indices, if the user asked for it.

    $3 = ptr a ($i, $j)    ->    assert 0 <= $i < shape a 0 and ..., "a[{0}, {1}] is outside its shape ({2}, {3})"
                                 $3 = ptr a ($i, $j)

Indices that cannot be wrong are not checked: constants within a constant shape, indices of a loop over the array.
"""

from __future__ import annotations

from ..ir.builder import Builder
from ..ir.nodes import Block, Statement
from ..ir.statements import ArrayShape, Assert, Const, GlobalPtr, LoopIndex, RangeFor, StructFor
from ..ir.tasks import Kernel
from ..ir.types import i32
from .context import PassContext
from .rewrite import Rewriter


def bounds(kernel: Kernel, context: PassContext) -> bool:
    """Put an Assert of kind "bounds" before each GlobalPtr, under `debug` or `check_out_of_bound`."""
    if not (context.options.debug or context.options.check_out_of_bound):
        return False
    rewriter = Rewriter({GlobalPtr: _check})
    rewriter.run(kernel)
    return rewriter.changed


def _check(rewriter: Rewriter, pointer: Statement) -> Statement | None:
    assert isinstance(pointer, GlobalPtr)
    array = pointer.array
    builder = Builder(Block(rewriter.out))
    builder.location = pointer.location
    extents: list[Statement] = []
    conditions: list[Statement] = []
    unsafe = [not _is_safe(pointer, axis) for axis in range(array.ndim)]
    if not any(unsafe):
        return None
    for axis, index in enumerate(pointer.indices):
        extent = (
            builder.add(ArrayShape(array, axis, type=i32)) if array.shape is None else builder.const(array.shape[axis])
        )
        extents.append(extent)
        if unsafe[axis]:
            conditions.append(builder.op("ge", index, builder.const(0)))
            conditions.append(builder.op("lt", index, extent))
    condition = conditions[0]
    for other in conditions[1:]:
        condition = builder.op("logical_and", condition, other)
    places = [f"{{{k}}}" for k in range(2 * array.ndim)]
    message = (
        f"`{array.name}[{', '.join(places[: array.ndim])}]` is outside the shape ({', '.join(places[array.ndim :])}) "
        f"of `{array.name}`"
    )
    builder.add(Assert(condition, message, [*pointer.indices, *extents], "bounds"))
    rewriter.changed = True
    return None


def _is_safe(pointer: GlobalPtr, axis: int) -> bool:
    """Return whether an index lies within the array by construction."""
    index, array = pointer.indices[axis], pointer.array
    if isinstance(index, Const):
        return array.shape is not None and 0 <= index.value < array.shape[axis]
    if not isinstance(index, LoopIndex):
        return False
    over = index.loop.array if isinstance(index.loop, StructFor) else index.loop.over
    if over is None:
        return isinstance(index.loop, RangeFor) and _range_fits(index.loop, index.axis, array.shape, axis)
    same_extent = over.shape is not None and array.shape is not None and over.shape[index.axis] == array.shape[axis]
    return (over is array and index.axis == axis) or same_extent


def _range_fits(loop: RangeFor, loop_axis: int, shape: tuple[int, ...] | None, axis: int) -> bool:
    """Return whether a loop with constant bounds stays within a constant shape."""
    begin, end = loop.begins[loop_axis], loop.ends[loop_axis]
    if shape is None or not isinstance(begin, Const) or not isinstance(end, Const):
        return False
    return min(begin.value, end.value + 1) >= 0 and max(end.value, begin.value + 1) <= shape[axis]
