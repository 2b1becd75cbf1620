"""Trip counts of loops as the host computes them at launch, from bounds that it knows.

In: loops of a kernel in final form, and its layout. Out: `interface.Expression`s, or None if only the device knows a
bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import prod

from ...errors import TaichiTypeError
from ...ir.constants import HOST_OPERATIONS
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
    RangeFor,
    repeats,
)
from ...ir.tasks import AtLeast, AtMost, Choice, Condition, Length, MultipleOf, Reaches, Task
from ...ir.types import Scalar, Type, i32
from ...options import MAX_ITERATIONS
from ..module.interface import Expression, LoopIndices
from .layout import Layout

NONE: Expression = ("const", 0)
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


def choices_on_host(layout: Layout, tasks: Sequence[Task]) -> dict[Choice, Expression]:
    """Return whether choices hold: one number for all tasks of a choice, which is that of the loop of its first one."""
    holds: dict[Choice, Expression] = {}
    for loop, choice in [(task.loop, choice) for task in tasks for choice in task.choices]:
        if choice not in holds and loop is not None:
            holds[choice] = _all([_holds_on_host(layout, loop, condition) for condition in choice.conditions])
    return holds


def _all(tests: Sequence[Expression]) -> Expression:
    """Return whether all tests hold, one after another, by as many levels as few of them need."""
    middle = len(tests) // 2
    return tests[0] if middle == 0 else ("select", _all(tests[:middle]), _all(tests[middle:]), NONE)


def _holds_on_host(layout: Layout, loop: RangeFor, condition: Condition) -> Expression:
    match condition:
        case AtLeast(lengths=lengths, least=least):
            return ("ge", _product_on_host(layout, loop, lengths), ("const", least))
        case AtMost(lengths=lengths, most=most):
            return ("ge", ("const", most), _product_on_host(layout, loop, lengths))
        case MultipleOf(length=length, divisor=divisor):
            return ("eq", ("mod", _length_on_host(layout, loop, length), ("const", divisor)), NONE)
        case Reaches(array=array, axes=axes):
            if array not in layout.data:
                return ("const", 1)
            ends = [_length_on_host(layout, loop, Length(axis)) for axis in axes]  # they start at 0
            return _all([("ge", *pair) for pair in zip(_extents_of(layout, array), ends, strict=True)])
    first, second = condition.first, condition.second
    if first not in layout.data or second not in layout.data:  # one has no access any more
        return ("const", 1)
    apart = _disjoint(layout, first, second)
    if not condition.may_be_same:
        return apart
    same: list[Expression] = [("eq", *(("member", layout.member_numbers[array]) for array in (first, second)))]
    rows = zip(_extents_of(layout, first)[1:], _extents_of(layout, second)[1:], strict=True)
    return ("max", apart, _all([*same, *(("eq", *extents) for extents in rows)]))


def _disjoint(layout: Layout, first: Array, second: Array) -> Expression:
    """Return whether one ndarray ends before the other begins. Nobody looks where one with gaps ends."""
    if first.strided or second.strided:
        return NONE
    starts: list[Expression] = [("member", layout.member_numbers[array]) for array in (first, second)]
    ends: list[Expression] = [
        ("add", start, reduce(_product, _extents_of(layout, array), ("const", array.element.size_bytes)))
        for start, array in zip(starts, (first, second), strict=True)
    ]
    return ("max", ("ge", starts[1], ends[0]), ("ge", starts[0], ends[1]))


def _extents_of(layout: Layout, array: Array) -> list[Expression]:
    return [("member", layout.member_numbers[array, axis]) for axis in range(array.ndim)]


def _product_on_host(layout: Layout, loop: RangeFor, lengths: Sequence[Length]) -> Expression:
    return reduce(_product, [_length_on_host(layout, loop, length) for length in lengths])


def _length_on_host(layout: Layout, loop: RangeFor, length: Length) -> Expression:
    """Return a length; that of a loop is less than 0 if it has no iterations."""
    start: Statement = Const(0, type=i32)
    if isinstance(length.of, Array):
        end: Statement = ArrayShape(length.of, length.axis, type=i32)
    elif length.of is not None:
        end = ArgLoad(length.of, type=length.of.type)
    else:
        start, end = loop.starts[length.axis], loop.ends[length.axis]
    first, stop = _on_host(layout, start), _on_host(layout, end)
    assert first is not None and stop is not None
    return _sum(stop if first == NONE else ("sub", stop, first), ("const", length.padding))


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
            return _wrapped(_on_host(layout, inner), value, number_limits(inner))
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
    return type.limits if isinstance(type, Scalar) and type.is_integral else (0, 1)


def number_limits(value: Statement) -> tuple[int, int]:
    """Return limits of a number."""
    low, high = _limits(value.type)
    match value:
        case Const(value=number):
            return int(number), int(number)
        case ArrayShape():
            return 0, high
        case Cast(value=ArrayShape() as inner, bits=False):
            return number_limits(inner)
        case Operation() if value.op in HOST_OPERATIONS:
            exact = _exact_bounds(value)
            return exact if low <= exact[0] and exact[1] <= high else (low, high)
    return low, high


def _exact_bounds(operation: Operation) -> tuple[int, int]:
    """Return limits of the result of an operation before it is made to fit its type."""
    if len(operation.operands) != 2:
        return _limits(operation.type)
    (a, b), (c, d) = map(number_limits, operation.operands)
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


def divisors_on_host(layout: Layout) -> tuple[Expression, ...]:
    """Return the numbers of a launch that the source divides by, in the order of `Usage.divisors`."""
    found: list[Expression] = []
    for divisor in layout.usage.divisors.values():
        if divisor.value is not None:
            expression = _on_host(layout, divisor.value)
        else:
            assert divisor.loop is not None
            expression = extent_on_host(layout, divisor.loop, divisor.axis)
        assert expression is not None  # it has a key
        found.append(expression)
    return tuple(found)


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
