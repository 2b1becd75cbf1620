"""Whether an element exists whatever the arguments are, so that it may be accessed where the program does not."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.nodes import Statement
from ...ir.statements import Array, ArrayShape, Const, GlobalPtr, LoopIndex, Operation, RangeFor, base_pointer, is_const


def is_existing(pointer: Statement) -> bool:
    """Return whether a pointer is to an element that exists by its indices alone, or to a part of one."""
    base = base_pointer(pointer)
    return isinstance(base, GlobalPtr) and surely_exists(base)


def surely_exists(pointer: GlobalPtr, known: Sequence[bool] = ()) -> bool:
    """Return whether an element exists by its indices alone: each is one of a loop over the axis, or over a part of it.

    known: by axis, whether an index is known to be one of the axis in another way.
    """
    array = pointer.array
    is_plain = pointer.cell is None and not pointer.is_flat and not array.clamped and array.place is None
    known = known or [False] * len(pointer.indices)
    return is_plain and all(known[axis] or _is_inside(index, array, axis) for axis, index in enumerate(pointer.indices))


def exists_by_numbers(pointer: GlobalPtr) -> bool:
    """Return whether an element of a field exists, and all of its indices are numbers."""
    return pointer.array.shape is not None and all(axes_by_numbers(pointer))


def axes_by_numbers(pointer: GlobalPtr) -> list[bool]:
    """Return for each axis whether the index is a number, and that of an element of a field."""
    shape, offset = pointer.array.shape, pointer.array.offset or (0,) * len(pointer.indices)
    if shape is None or pointer.is_flat:
        return [False] * len(pointer.indices)
    return [
        isinstance(index, Const) and 0 <= int(index.value) - first < extent
        for index, first, extent in zip(pointer.indices, offset, shape, strict=True)
    ]


def _is_inside(index: Statement, array: Array, axis: int) -> bool:
    """Return whether an index is one of a loop over an axis of an array."""
    if not isinstance(index, LoopIndex) or not isinstance(index.loop, RangeFor):
        return False
    start, end, step = (values[index.axis] for values in (index.loop.starts, index.loop.ends, index.loop.steps))
    first = array.offset[axis] if array.offset else 0
    is_up = isinstance(step, Const) and step.value > 0
    return is_up and _is_at_least(start, first) and _is_end_of(end, array, axis)


def _is_at_least(start: Statement, least: int) -> bool:
    """Return whether a loop starts at a number or behind it, perhaps at the index of a loop around it, or the next."""
    match start:
        case Const(value=value):
            return int(value) >= least
        case LoopIndex(loop=RangeFor() as loop, axis=axis):
            return is_const(loop.steps[axis], 1) and _is_at_least(loop.starts[axis], least)
        case Operation(op="add", operands=[LoopIndex() as index, Const(value=1)]):
            return _is_at_least(index, least)
    return False


def _is_end_of(end: Statement, array: Array, axis: int) -> bool:
    """Return whether a loop ends with an axis of an array or before, perhaps at the index of a loop, or behind it."""
    match end:
        case Const(value=value):
            first = array.offset[axis] if array.offset else 0
            return array.shape is not None and int(value) <= first + array.shape[axis]
        case ArrayShape(array=of, axis=along):
            return of is array and along == axis
        case LoopIndex(loop=RangeFor() as loop, axis=along):
            return is_const(loop.steps[along], 1) and _is_end_of(loop.ends[along], array, axis)
        case Operation(op="add", operands=[LoopIndex() as index, Const(value=1)]):
            return _is_end_of(index, array, axis)
    return False
