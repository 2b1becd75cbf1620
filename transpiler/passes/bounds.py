"""Guards every access to an array by a check of its indices, if the user asked for it; also to vectors and matrices.

    $3 = ptr a ($i)    ->    assert 0 <= $i < shape a 0, "... with indices [{0}]: `a` has shape ({1})"
                             $3 = ptr a ($i)

Indices that cannot be wrong are not checked: constants within a constant shape, indices of a loop over the array.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..ir.builder import Builder
from ..ir.nodes import Block, Statement
from ..ir.statements import (
    Array,
    ArrayShape,
    Assert,
    Const,
    GlobalPtr,
    LoopIndex,
    MatrixElement,
    MatrixPtr,
    RangeFor,
    StructFor,
    base_pointer,
)
from ..ir.tasks import Kernel
from ..ir.types import Tensor, i32
from .context import PassContext
from .rewrite import Rewriter


def bounds(kernel: Kernel, context: PassContext) -> bool:
    """Put an Assert of kind "bounds" before each access, under `debug` or `check_out_of_bound`."""
    if not (context.options.debug or context.options.check_out_of_bound):
        return False

    def check_array(rewriter: Rewriter, pointer: Statement) -> None:
        assert isinstance(pointer, GlobalPtr)
        _check_array(rewriter, pointer, kernel.name)

    rewriter = Rewriter({GlobalPtr: check_array, MatrixPtr: _check_tensor, MatrixElement: _check_tensor})
    rewriter.run(kernel)
    return rewriter.changed


def _check_array(rewriter: Rewriter, pointer: GlobalPtr, kernel: str) -> None:
    array = pointer.array
    unsafe = [not _is_safe(pointer, axis) for axis in range(array.ndim)]
    if not any(unsafe):
        return
    builder = Builder(Block(rewriter.out))
    builder.location = pointer.location
    extents = [
        builder.add(ArrayShape(array, axis, type=i32)) if array.shape is None else builder.const(array.shape[axis])
        for axis in range(array.ndim)
    ]
    _add_check(rewriter, builder, pointer.indices, extents, unsafe, _array_message(array, kernel))


def _array_message(array: Array, kernel: str) -> str:
    """Return Taichi's message, and what it lacks."""
    places = [f"{{{k}}}" for k in range(2 * array.ndim)]
    indices, shape = ", ".join(places[: array.ndim]), ", ".join(places[array.ndim :])
    if array.parameter is None:
        return f"(kernel={kernel}) Accessing field ({array.name}) of size ({shape}) with indices ({indices})"
    return (
        f"[kernel={kernel}] Out of bound access to ndarray at arg {array.parameter} with indices [{indices}]: "
        f"`{array.name}` has shape ({shape})"
    )


def _check_tensor(rewriter: Rewriter, access: Statement) -> None:
    """Check indices into a vector or matrix that are known only at run time."""
    assert isinstance(access, MatrixPtr | MatrixElement)
    owner = access.origin if isinstance(access, MatrixPtr) else access.value
    assert isinstance(owner.type, Tensor)
    shape = owner.type.shape
    unsafe = [not _fits(index, extent) for index, extent in zip(access.indices, shape, strict=True)]
    if not any(unsafe):
        return
    builder = Builder(Block(rewriter.out))
    builder.location = access.location
    base = base_pointer(owner)
    name = base.array.name if isinstance(base, GlobalPtr) else base.name
    kind = "vector" if len(shape) == 1 else "matrix"
    indices = ", ".join(f"{{{k}}}" for k in range(len(shape)))
    message = f"Out of bound access to a {kind} of shape ({', '.join(map(str, shape))}) with indices [{indices}]"
    extents = [builder.const(extent) for extent in shape]
    _add_check(rewriter, builder, access.indices, extents, unsafe, message + (f": `{name}`" if name else ""))


def _add_check(
    rewriter: Rewriter,
    builder: Builder,
    indices: Sequence[Statement],
    extents: Sequence[Statement],
    unsafe: Sequence[bool],
    message: str,
) -> None:
    conditions = [
        condition
        for index, extent, is_unsafe in zip(indices, extents, unsafe, strict=True)
        if is_unsafe
        for condition in (builder.op("ge", index, builder.const(0)), builder.op("lt", index, extent))
    ]
    condition = conditions[0]
    for other in conditions[1:]:
        condition = builder.op("logical_and", condition, other)
    builder.add(Assert(condition, message, [*indices, *extents], "bounds"))
    rewriter.changed = True


def _is_safe(pointer: GlobalPtr, axis: int) -> bool:
    """Return whether an index lies within the array by construction."""
    index, array = pointer.indices[axis], pointer.array
    if array.shape is not None and _fits(index, array.shape[axis]):
        return True
    if not isinstance(index, LoopIndex):
        return False
    over = index.loop.array if isinstance(index.loop, StructFor) else index.loop.over
    if over is None:
        return False
    same_extent = over.shape is not None and array.shape is not None and over.shape[index.axis] == array.shape[axis]
    return (over is array and index.axis == axis) or same_extent


def _fits(index: Statement, extent: int) -> bool:
    """Return whether an index is a constant below `extent`, or runs through a loop with constant bounds below it."""
    if isinstance(index, Const):
        return bool(0 <= index.value < extent)
    if not isinstance(index, LoopIndex) or not isinstance(index.loop, RangeFor):
        return False
    begin, end = index.loop.begins[index.axis], index.loop.ends[index.axis]
    if not isinstance(begin, Const) or not isinstance(end, Const):
        return False
    return bool(min(begin.value, end.value + 1) >= 0 and max(end.value, begin.value + 1) <= extent)
