"""Constants as Python writes them, local arrays of constants, and loops with constant bounds."""

from __future__ import annotations

from .nodes import Statement
from .statements import Const, ListInit, MatrixInit, RangeFor


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
