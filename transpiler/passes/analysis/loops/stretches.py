"""Serial loops over a part of one long array, which is another one in each iteration of the parallel loop: a query.

    for k in i * 256 .. (i + 1) * 256 { s += a[k] }        for k in 0 .. 256 { s += a[i * 256 + k] }

Neighbouring iterations read elements far apart, as in rows of a matrix; in `for k in i .. i + 256` they are neighbours.
"""

from __future__ import annotations

from ....ir.nodes import Statement, walk
from ....ir.statements import ArrayShape, Const, GlobalPtr, Operation, RangeFor
from ....ir.types import Scalar, i32
from ....lazy_dataclasses import dataclass
from ..aliasing import split_offset
from ..intervals import Interval, interval_of, whole
from ..linear import Reader
from ..queries import axes_in, is_index_of, summands
from ..value_ranges import I32_MAX, same_value

FAR = 8
"""Elements between the starts of two rows that are not read together: 32 bytes of f32, what a GPU loads at once."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """The bounds of a row that starts far from those of the neighbouring iterations.

    length: the number of its elements, None if it is not known. is_cut: it is that of most rows; the end is
        `min(end, n)`.
    is_certain: the end certainly is so far behind the start: neither has wrapped.
    """

    length: int | None
    is_cut: bool = False
    is_certain: bool = False


def stretch_of(row: RangeFor, loop: RangeFor) -> Stretch | None:
    """Return the bounds of a serial loop, None if these are others."""
    start, end = row.starts[0], row.ends[0]
    if end.type != i32 or not _is_far(start, loop):
        return None
    rest = added_to(start, end)
    if (most := _most_of(rest)) is not None:
        return Stretch(most, is_cut=True, is_certain=_is_rest(rest, start, loop))
    ends = end.operands if isinstance(end, Operation) and end.op == "min" else [end]
    lengths = [length for last in ends if (length := difference(last, start, loop)) is not None]
    if lengths:
        length, is_cut = lengths[0], len(ends) > 1
        is_certain = not is_cut and interval_in(start, loop)[1] + length <= I32_MAX
        return Stretch(length, is_cut, is_certain) if 0 < length <= I32_MAX else None
    return Stretch(None) if len(loop.starts) - 1 in axes_in(end, loop) else None


def added_to(start: Statement, end: Statement) -> Statement | None:
    """Return what a value is more than another, if it is computed so: `min(n - start, 256)` of `start + ...`."""
    if not isinstance(end, Operation) or end.op != "add" or start not in end.operands:
        return None
    return end.operands[1 - end.operands.index(start)]


def _most_of(length: Statement | None) -> int | None:
    """Return the number that a length is at most, None if it is none of two lengths."""
    parts = length.operands if isinstance(length, Operation) and length.op == "min" else []
    numbers = [int(part.value) for part in parts if isinstance(part, Const)]
    return numbers[0] if numbers and 0 < numbers[0] <= I32_MAX else None


def _is_rest(length: Statement | None, start: Statement, loop: RangeFor) -> bool:
    """Return whether a length is at most that from an index of the parallel loop to the end of its axis."""
    parts = length.operands if isinstance(length, Operation) and length.op == "min" else []
    rests = [part.operands for part in parts if isinstance(part, Operation) and part.op == "sub"]
    return any(
        rest[1] is start and is_index_of(start, loop) and same_value(rest[0], loop.ends[start.axis]) for rest in rests
    )


def difference(last: Statement, first: Statement, loop: RangeFor) -> int | None:
    """Return the number by which two values differ in all iterations, as far as numbers of 32 bits can tell."""
    (base, offset), (other, less) = split_offset(last), split_offset(first)
    if base is other:
        return offset - less
    reader = Reader({loop, *walk(loop.body)}, {}, scales=True)
    start, end = reader.read(first), reader.read(last)
    return None if start is None or end is None else end.plus(start, -1).number


def is_in_stretch(pointer: GlobalPtr, row: RangeFor, loop: RangeFor) -> bool:
    """Return whether the last index of an element is that of a serial loop, behind a place far from those of others."""
    parts = summands(pointer.indices[-1]) if pointer.indices else []
    others = [value for _, value in parts if not is_index_of(value, row)]
    is_once = len(parts) == len(others) + 1 and all(sign > 0 or value in others for sign, value in parts)
    return is_once and not any(axes_in(v, row) for v in others) and any(_is_far(v, loop) for v in others)


def _is_far(value: Statement, loop: RangeFor) -> bool:
    """Return whether a number is `FAR` or more from those of neighbouring iterations, as far as can be seen."""
    if is_index_of(value, loop) and value.axis == len(loop.starts) - 1:
        step = loop.steps[-1]
        return isinstance(step, Const) and int(step.value) >= FAR
    if not isinstance(value, Operation) or value.type != i32 or len(value.operands) != 2:
        return False
    first, second = value.operands
    match value.op:
        case "add" | "sub":
            return _is_far(first, loop) or _is_far(second, loop)
        case "shl":
            return _is_next(first, loop) and isinstance(second, Const) and 1 << int(second.value) % 32 >= FAR
        case "mul":
            factors = [b for a, b in ((first, second), (second, first)) if _is_next(a, loop)]
            return any(abs(int(by.value)) >= FAR if isinstance(by, Const) else True for by in factors)
    return False


def _is_next(value: Statement, loop: RangeFor) -> bool:
    """Return whether a number is 1 more in the next iteration."""
    last = len(loop.starts) - 1
    if is_index_of(value, loop):
        return value.axis == last
    if not isinstance(value, Operation) or value.op not in ("add", "sub") or len(value.operands) != 2:
        return False
    first, second = value.operands
    pairs = ((first, second), (second, first)) if value.op == "add" else ((first, second),)
    return any(_is_next(a, loop) and last not in axes_in(b, loop) for a, b in pairs)


def _is_up(step: Statement) -> bool:
    return isinstance(step, Const) and step.value > 0


def interval_in(value: Statement, loop: RangeFor) -> Interval:
    """Return between which numbers a value is, of constants, extents and the indices of a parallel loop."""
    every = whole(i32)
    assert every is not None
    if is_index_of(value, loop) and _is_up(loop.steps[value.axis]):
        low, high = interval_in(loop.starts[value.axis], loop), interval_in(loop.ends[value.axis], loop)
        return low[0], max(low[0], high[1] - 1)
    match value:
        case Const(value=number):
            return int(number), int(number)
        case ArrayShape():
            return 0, I32_MAX
        case Operation(op=op, operands=parts, type=Scalar() as kind) if all(part.type == i32 for part in parts):
            return interval_of(op, i32, [interval_in(part, loop) for part in parts], kind) or every
    return every
