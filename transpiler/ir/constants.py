"""Constants as Python writes them, local arrays of constants, loops with constant bounds, and numbers of a launch."""

from __future__ import annotations

from .nodes import Statement
from .statements import ArgLoad, ArrayShape, Const, ListInit, MatrixInit, Operation, RangeFor, is_const
from .types import Scalar

HOST_OPERATIONS: dict[str, str] = {
    **{name: name for name in ("add", "sub", "mul", "floordiv", "mod", "min", "max", "raw_div", "ge", "select")},
    "plain_div": "floordiv", "plain_mod": "mod",
    "wrapping_add": "add", "wrapping_sub": "sub", "wrapping_mul": "mul",
}  # fmt: skip
"""Operations in bounds that a host computes, and as which operation of `ops.HOST_OPS`."""

Key = tuple[object, ...]
"""What decides a number of a launch: equal keys are equal numbers."""


def number_text(const: Const) -> str:
    """Return a number as Python writes it."""
    has_notation = const.notation and type(const.value) is int and int(const.notation, 0) == const.value
    return const.notation if has_notation else repr(const.value)


def is_constant_array(value: Statement) -> bool:
    """Return whether a value is a local array of constants."""
    return isinstance(value, ListInit) and all(map(_is_constant, value.items))


def _is_constant(item: Statement) -> bool:
    if isinstance(item, MatrixInit):
        return all(isinstance(element, Const) for element in item.elements)
    return isinstance(item, Const)


def constant_range(loop: RangeFor, axis: int = 0) -> range | None:
    """Return the indices of a loop along an axis, None if a bound is not constant."""
    start, end, step = loop.starts[axis], loop.ends[axis], loop.steps[axis]
    if isinstance(start, Const) and isinstance(end, Const) and isinstance(step, Const):
        return range(int(start.value), int(end.value), int(step.value))
    return None


def constant_ranges(loop: RangeFor) -> list[range] | None:
    """Return the indices of a loop along each axis, None if a bound is not constant."""
    ranges = [indices for axis in range(len(loop.starts)) if (indices := constant_range(loop, axis)) is not None]
    return ranges if len(ranges) == len(loop.starts) else None


def launch_key(value: Statement) -> Key | None:
    """Return what decides a number that a host computes from extents and arguments; None for others."""
    match value:
        case Const(value=number):
            return ("const", int(number))
        case ArrayShape(array=array, axis=axis):
            return ("shape", array, axis)
        case ArgLoad(parameter=parameter, type=Scalar(kind="int" | "uint")):
            return ("argument", parameter)
        case Operation(op=op, operands=parts, type=type) if op in HOST_OPERATIONS:
            keys = [launch_key(part) for part in parts]
            return None if None in keys else (op, type, *keys)
    return None


SUMS = {"add": "+", "wrapping_add": "+", "sub": "-", "wrapping_sub": "-", "mul": "*", "wrapping_mul": "*"}


def is_short_number(value: Statement) -> bool:
    """Return whether a number of a launch is an argument, an extent, or a sum or product of two, or with a constant."""
    match value:
        case Operation(op=op, operands=[a, b]) if op in SUMS:
            return all(isinstance(part, (ArgLoad, ArrayShape, Const)) for part in (a, b))
    return isinstance(value, (ArgLoad, ArrayShape))


def extent_key(loop: RangeFor, axis: int) -> Key | None:
    """Return what decides the trip count of a loop along an axis; None if it is constant, or only a device knows it.

    Counted from 0 by steps of 1 it is the end, or the loop has no iterations.
    """
    start, end, step = loop.starts[axis], loop.ends[axis], loop.steps[axis]
    keys = [launch_key(bound) for bound in (start, end, step)]
    if None in keys or not isinstance(step, Const) or constant_range(loop, axis) is not None:
        return None
    return keys[1] if is_const(start, 0) and step.value == 1 else tuple(keys)
