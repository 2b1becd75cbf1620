"""Trip counts of loops as the host computes them at launch, from bounds that it knows.

In: loops of a kernel in final form, and its layout. Out: `interface.Expression`s, or None if only the device knows a
bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import prod

from ...errors import TaichiTypeError
from ...ir.functions import Call, Function
from ...ir.nodes import Block, Statement, blocks
from ...ir.statements import (
    ArgLoad,
    Array,
    ArrayShape,
    Cast,
    Const,
    IfExp,
    Operation,
    Parameter,
    RangeFor,
    repeats,
)
from ...ir.tasks import RowChoice, Sizes, Task
from ...ir.types import Scalar, Type, i32
from ...options import MAX_ITERATIONS
from ..module.interface import Expression, LoopIndices
from .layout import Layout

NONE: Expression = ("const", 0)
HOST_OPERATIONS: dict[str, str] = {
    **{name: name for name in ("add", "sub", "mul", "floordiv", "mod", "min", "max", "raw_div", "ge", "select")},
    "plain_div": "floordiv", "plain_mod": "mod",
    "wrapping_add": "add", "wrapping_sub": "sub", "wrapping_mul": "mul",
}  # fmt: skip
"""Operations in bounds that a host computes, and as which operation of `ops.HOST_OPS`."""
LARGEST_END = MAX_ITERATIONS - 32
"""Of a serial loop whose iterations a task takes up to 32 at a time: the next index does not wrap."""
AS_THEY_ARE = ("ge", "select")
"""Of these, those whose results wrap nothing."""


# --- parallel loops ---------------------------------------------------------------------------------------------------


def known_extents(loop: RangeFor, layout: Layout) -> tuple[tuple[Expression, ...] | None, int | None]:
    """Return the trip counts along all axes if the host can compute them, and their product if it is constant.

    Raises: TaichiTypeError if there are more iterations than can be counted.
    """
    host = [extent_on_host(layout, loop, axis) for axis in range(len(loop.starts))]
    extents = None if any(h is None for h in host) else tuple(h for h in host if h is not None)
    count = constant_count(extents)
    if count is not None and count > MAX_ITERATIONS:
        raise loop.location.error(
            TaichiTypeError,
            f"This parallel loop has {count:,} iterations; at most {MAX_ITERATIONS:,} can be counted",
            "make one of its axes a serial loop inside it",
        )
    return extents, count


def constant_count(extents: tuple[Expression, ...] | None) -> int | None:
    """Return the number of all iterations if it is a constant."""
    if extents is None or any(extent[0] != "const" for extent in extents):
        return None
    return prod(int(extent[1]) for extent in extents)


def extent_on_host(layout: Layout, loop: RangeFor, axis: int) -> Expression | None:
    """Return the trip count along an axis, or None if only the device can compute it."""
    start, end = _on_host(layout, loop.starts[axis]), _on_host(layout, loop.ends[axis])
    if start is None or end is None:
        return None
    if not has_constant_step(loop, axis):  # start 0, a step above 0, which is 1 if the end is 0
        by = _on_host(layout, loop.steps[axis])
        last: Expression = ("sub", end, ("const", 1))
        return None if by is None else ("max", ("add", ("floordiv", last, by), ("const", 1)), NONE)
    step = step_of(loop, axis)
    if start[0] == "const" and end[0] == "const":
        return ("const", len(range(start[1], end[1], step)))
    low, high = (start, end) if step > 0 else (end, start)
    span = high if low == NONE else ("sub", high, low)
    if abs(step) > 1:
        span = ("floordiv", ("add", span, ("const", abs(step) - 1)), ("const", abs(step)))
    return span if isinstance(loop.ends[axis], ArrayShape) and span is end else ("max", span, NONE)


def size_on_host(layout: Layout, loop: RangeFor, sizes: Sizes) -> Expression:
    """Return the number that the limits of `sizes` are for: the product of lengths, 0 if a length is too short."""
    lengths = [_length_on_host(layout, loop, axis) for axis in sizes.axes]
    product = _countable(layout, loop, sizes.rounded_to) if sizes.rounded_to else _joined("mul", lengths)
    is_thick: Expression = ("ge", _joined("min", lengths), ("const", sizes.thinnest))
    if sizes.most is not None:
        product = ("select", ("ge", ("const", sizes.most), product), product, NONE)
    if sizes.inner is not None:
        end = _on_host(layout, _end_of(sizes.inner, sizes.inner_axis))
        assert end is not None
        product = ("select", ("ge", ("const", LARGEST_END), end), product, NONE)
        product = ("select", ("ge", end, ("const", sizes.inner_least)), product, NONE)
        lengths.append(end)
    if sizes.tile:
        given = [(length, extent) for length, extent in zip(lengths, sizes.tile) if length[0] != "const"]
        rests: list[Expression] = [("mod", length, ("const", extent)) for length, extent in given]
        rest = reduce(lambda one, other: ("add", one, other), rests)
        whole, other = (product, NONE) if sizes.is_whole else (NONE, product)
        product = ("select", ("ge", rest, ("const", 1)), other, whole)
    return ("select", is_thick, product, NONE)


def shares_rows_on_host(layout: Layout, rows: RowChoice, extents: tuple[Expression, ...]) -> Expression:
    """Return whether a launch shares rows among `lanes` threads. extents: of the task, the last one of its lanes."""
    pairs, may_be_one = (
        [pair for pair in pairs if all(array in layout.data for array in pair)]  # others have no access any more
        for pairs in (rows.pairs, rows.may_be_one)
    )
    found: list[Expression] = [_disjoint(layout, *pair) for pair in pairs]
    for pair in may_be_one:
        same: list[Expression] = [("eq", *(("member", layout.member_numbers[array]) for array in pair))]
        lengths = [_extents_of(layout, array)[1:] for array in pair]
        same += [("eq", length, other) for length, other in zip(*lengths, strict=True)]
        found.append(("max", _disjoint(layout, *pair), _joined("min", same)))
    if rows.length is not None:
        found.append(("ge", ("member", layout.member_numbers[rows.length]), ("const", rows.least)))
    counts = extents[:-1] if rows.own_lanes > 1 else extents
    found.append(("ge", ("const", MAX_ITERATIONS // rows.lanes), _joined("mul", counts)))
    return _joined("min", found)


def _joined(op: str, parts: Sequence[Expression]) -> Expression:
    return reduce(lambda one, other: (op, one, other), parts)


def _disjoint(layout: Layout, first: Array, second: Array) -> Expression:
    """Return whether one ndarray ends before the other begins."""
    starts: list[Expression] = [("member", layout.member_numbers[array]) for array in (first, second)]
    sizes: list[Expression] = [("const", array.element.size_bytes) for array in (first, second)]
    ends = [
        ("add", start, _joined("mul", [size, *_extents_of(layout, array)]))
        for start, size, array in zip(starts, sizes, (first, second), strict=True)
    ]
    return ("max", ("ge", starts[1], ends[0]), ("ge", starts[0], ends[1]))


def _extents_of(layout: Layout, array: Array) -> list[Expression]:
    return [("member", layout.member_numbers[array, axis]) for axis in range(array.ndim)]


def _countable(layout: Layout, loop: RangeFor, tile: tuple[int, ...]) -> Expression:
    """Return the number of iterations along all axes, 0 if whole tiles may have more than can be counted."""
    product: Expression = ("const", 1)
    most: Expression = ("const", 1)
    for axis, extent in enumerate(tile):
        length = _length_on_host(layout, loop, axis)
        product, most = _product(product, length), _product(most, _sum(length, ("const", extent - 1)))
    return ("select", ("ge", ("const", MAX_ITERATIONS), most), product, NONE)


def _end_of(inner: Array | Parameter, axis: int) -> Statement:
    """Return the end of a serial loop as a statement."""
    if isinstance(inner, Parameter):
        return ArgLoad(inner, type=inner.type)
    return ArrayShape(inner, axis, type=i32)


def _length_on_host(layout: Layout, loop: RangeFor, axis: int) -> Expression:
    """Return the number of iterations along an axis whatever its step is, less than 0 if there are none."""
    start, end = _on_host(layout, loop.starts[axis]), _on_host(layout, loop.ends[axis])
    assert start is not None and end is not None
    return end if start == NONE else ("sub", end, start)


def has_constant_step(loop: RangeFor, axis: int) -> bool:
    """Return whether the step of a loop is constant along an axis, not one that the launch chooses (`row_lanes`)."""
    return isinstance(loop.steps[axis], Const)


def chosen_steps(task: Task) -> dict[tuple[Statement, int], Statement]:
    """Return the steps of the loop of a task that the launch chooses, by loop and axis."""
    loop = task.loop
    if loop is None:
        return {}
    return {(loop, axis): step for axis, step in enumerate(loop.steps) if not has_constant_step(loop, axis)}


def step_of(loop: RangeFor, axis: int) -> int:
    """Return the step of a loop along an axis, which is constant."""
    step = loop.steps[axis]
    assert isinstance(step, Const)
    return int(step.value)


def loop_indices(layout: Layout, loop: RangeFor, names: list[str]) -> LoopIndices:
    """Return how a host finds the indices of an iteration. names: of the indices if Python gives them none."""
    is_constant = [has_constant_step(loop, axis) for axis in range(len(loop.starts))]
    starts = tuple(_on_host(layout, start) if known else None for start, known in zip(loop.starts, is_constant))
    steps = tuple(step_of(loop, axis) if known else 1 for axis, known in enumerate(is_constant))
    named = loop.names if len(loop.names) == len(starts) else names
    order = tuple((component.dimension, component.extent, component.weight) for component in loop.order)
    return LoopIndices(loop.location.line, tuple(named), starts, steps, order)


def _on_host(layout: Layout, value: Statement) -> Expression | None:
    match value:
        case Const(value=number):
            return ("const", int(number))
        case ArgLoad(type=Scalar(kind="int" | "uint")) | ArrayShape():
            return layout.expression_of(value)
        case Cast(value=inner, bits=False, type=Scalar(kind="int" | "uint")) if not isinstance(inner, IfExp):
            return _wrapped(_on_host(layout, inner), value, _bounds(inner))
        case Operation(op=op, operands=operands) if op in HOST_OPERATIONS:
            parts = [_on_host(layout, o) for o in operands]
            if op in AS_THEY_ARE:
                return None if None in parts else (op, *parts)
            return None if None in parts else _wrapped((HOST_OPERATIONS[op], *parts), value, _exact_bounds(value))
    return None


def _wrapped(number: Expression | None, value: Statement, bounds: tuple[int, int]) -> Expression | None:
    """Return the number of the type of `value` that the low bits of a number within bounds are, as a device has it."""
    low, high = _limits(value.type)
    bits = value.type.bits if isinstance(value.type, Scalar) else 64
    if number is None or bits == 64 or (low <= bounds[0] and bounds[1] <= high):
        return number
    masked: Expression = ("bit_and", number, ("const", (1 << bits) - 1))
    return masked if low == 0 else ("sub", ("bit_xor", masked, ("const", -low)), ("const", -low))


def _limits(type: Type | None) -> tuple[int, int]:
    """Return the least and the greatest number of an integer type."""
    if not isinstance(type, Scalar) or type.kind not in ("int", "uint"):
        return 0, 1
    return (0, (1 << type.bits) - 1) if type.kind == "uint" else (-1 << (type.bits - 1), (1 << (type.bits - 1)) - 1)


def _bounds(value: Statement) -> tuple[int, int]:
    """Return limits of a number."""
    low, high = _limits(value.type)
    match value:
        case Const(value=number):
            return int(number), int(number)
        case ArrayShape():
            return 0, high
        case Cast(value=ArrayShape() as inner, bits=False):
            return _bounds(inner)
        case Operation() if value.op in HOST_OPERATIONS:
            exact = _exact_bounds(value)
            return exact if low <= exact[0] and exact[1] <= high else (low, high)
    return low, high


def _exact_bounds(operation: Operation) -> tuple[int, int]:
    """Return limits of the result of an operation before it is made to fit its type."""
    if len(operation.operands) != 2:
        return _limits(operation.type)
    (a, b), (c, d) = map(_bounds, operation.operands)
    match HOST_OPERATIONS[operation.op]:
        case "add":
            return a + c, b + d
        case "sub":
            return a - d, b - c
        case "mul":
            ends = (a * c, a * d, b * c, b * d)
            return min(ends), max(ends)
        case "min":
            return min(a, c), min(b, d)
        case "max":
            return max(a, c), max(b, d)
        case "mod" if c > 0:
            return 0, d - 1
        case "floordiv" | "raw_div" if c > 0:
            return min(a, 0), max(b, 0)
    return -1 << 64, 1 << 64


# --- serial loops -----------------------------------------------------------------------------------------------------


def serial_trip_count(layout: Layout, block: Block, known: dict[Function, Expression] | None = None) -> Expression:
    """Return a lower bound of the iterations of all loops in `block`, for drivers that end long loops early.

    Loops whose bounds only the device knows count 0. known: results for functions, which this call extends.
    """
    known = {} if known is None else known
    total = NONE
    for statement in block.statements:
        inner = NONE
        for part in blocks(statement):
            inner = _larger(inner, serial_trip_count(layout, part, known))
        if isinstance(statement, Call):
            if statement.function not in known:
                known[statement.function] = serial_trip_count(layout, statement.function.body, known)
            inner = known[statement.function]
        if isinstance(statement, RangeFor):
            own = ("const", int(repeats(statement)))  # drivers count no iterations of loops that they have unrolled
            inner = _product(_trip_count(layout, statement), _sum(own, inner))
        total = _sum(total, inner)
    return total


def _trip_count(layout: Layout, loop: RangeFor) -> Expression:
    count: Expression = ("const", 1)
    for axis in range(len(loop.starts)):
        extent = extent_on_host(layout, loop, axis)
        count = NONE if extent is None else _product(count, extent)
    return count


def _sum(a: Expression, b: Expression) -> Expression:
    if a[0] == "const" == b[0]:
        return ("const", a[1] + b[1])
    return b if a == NONE else a if b == NONE else ("add", a, b)


def _product(a: Expression, b: Expression) -> Expression:
    if a == NONE or b == NONE:
        return NONE
    if a[0] == "const" == b[0]:
        return ("const", a[1] * b[1])
    return b if a == ("const", 1) else a if b == ("const", 1) else ("mul", a, b)


def _larger(a: Expression, b: Expression) -> Expression:
    if a[0] == "const" == b[0]:
        return a if a[1] >= b[1] else b
    return b if a == NONE else a if b == NONE else ("max", a, b)
