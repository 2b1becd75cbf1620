"""Strength reduction by value ranges: simpler operations for numbers that are known to be small or non-negative.

    $2 = floordiv $i, 4      ->    $2 = plain_div $i, 4    (0 <= $i: Python rounds down, emitted code toward 0)
    $3 = mod $i, $n          ->    $3 = plain_mod $i, $n   (and 1 <= $n: `mod` returns 0 for 0, `%` may trap)
    $4 = mod $i + 1, $n      ->    $4 = near_mod $i + 1, $n    (on GPUs, 0 <= $i < $n: no division)
    $4 = mod $i + $p + $n, $n  ->  $4 = close_mod $i + $p, $n  (on GPUs, 0 <= $i < $n, -2 <= $p <= 2)
    $4 = mod $x, 4096        ->    $4 = bit_and $x, 4095       (the number may have a name)
    $5 = max $i, 0           ->    $i
    check a ($i) within 8    ->    (removed: 0 <= $i < 8)

The ranges are those of `value_ranges`. Comparisons with a known outcome, and tests for impossible overflows, become
constants, which the next cleanup propagates.

An H200 takes .237 ms for the game of life on a torus of 8000 x 8000 cells if neighbours' indices are chosen, and .350
with divisions. C keeps these: `peel_borders` has taken rows' ends apart where it matters. That an extent is added
before a remainder by it changes nothing unless the sum wraps, which it does for extents above 2^30; a sum without it
does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import prod

from ...ir import origins
from ...ir.nodes import Block, Statement, operands
from ...ir.statements import (
    ArrayShape,
    Assert,
    Const,
    IndexCheck,
    LoopIndex,
    Notice,
    Operation,
    RangeFor,
    is_const,
    scalar_type,
)
from ...ir.tasks import Kernel, Task
from ...ir.types import Scalar, Tensor, Type, element_of, i32, u1
from ..analysis.intervals import Interval, contains, whole
from ..analysis.queries import trip_count
from ..analysis.value_ranges import I32_MAX, ValueRanges, same_value, stored_ranges
from ..context import PassContext
from ..rewrite import DROPPED, Rewriter, Rule

MOST_SUMMED = 1 << 28
"""The greatest extent, and the most that is added to an index below it, of which the sum does not wrap."""


def ranges(kernel: Kernel, context: PassContext) -> bool:
    """Replace divisions of non-negative numbers by plain ones, and fold tests with a known outcome."""
    kinds = (Operation, IndexCheck)
    found = [s for block in context.blocks(kernel) for s in block.statements if s.__class__ in kinds]
    if not any(map(_may_be_simpler, found)):
        return False
    rules = {Operation: _operation, Assert: _assert, Notice: _notice, IndexCheck: _index_check}
    rewriter = _Reduction(rules, stored_ranges(kernel), not context.capabilities.vectorizes_loops)
    if context.capabilities.has_pointers:
        rewriter.of_threads = {task.loop for task in kernel.tasks if task.over or _is_of_one_block(task)}
    may_be_equal = context.may_have(kernel, PLAIN_OPS) or any(context.may_have_all(kernel, ops) for ops in EQUAL_LATER)
    changed = rewriter.run(kernel)
    replaced = rewriter.mapping.items()
    if (
        not rewriter.drops
        and not rewriter.has_sums
        and all(new.__class__ is Operation and new not in operands(old) for old, new in replaced)
    ):
        # New divisions are as unknown as the old ones to what compares indices and stored values, and have no identity.
        context.left = frozenset({"dead_code", *(["common_subexpressions"] if may_be_equal else [])})
    return changed


def _is_of_one_block(task: Task) -> bool:
    """Return whether the iterations of a task are the threads of one block, as the entry says."""
    return task.loop is not None and bool(task.tile) and trip_count(task.loop) == prod(task.tile)


class _Reduction(ValueRanges):
    """The walk.

    numbers: the constants without a name in the open blocks; added: their keys, in order. has_near: whether remainders
    of numbers near the divisor are operations of their own. has_sums: whether there are new sums. of_threads: loops
    whose last axis is of the threads of a block, whose numbers NVRTC knows not to be negative: it compiles
    `thread / 32` as `thread >> 5`, which reads worse.
    """

    def __init__(
        self, rules: Mapping[type[Statement], Rule], variables: Mapping[Statement, Interval], has_near: bool
    ) -> None:
        super().__init__(rules, variables)
        self.has_near, self.has_sums = has_near, False
        self.of_threads: set[RangeFor | None] = set()
        self.numbers: dict[Number, Const] = {}
        self.added: list[Number] = []
        self.recorders = {**self.recorders, Const: _Reduction.record_number}

    def block(self, block: Block) -> None:
        """Walk a block, whose constants are not known after it."""
        first = len(self.added)
        super().block(block)
        for key in self.added[first:]:
            del self.numbers[key]
        del self.added[first:]

    def record_number(self, const: Const) -> None:
        """Record a constant and its interval."""
        self.record(const)
        is_plain = const.name is None and const.origin is None and not const.notation
        if const in self.known and is_plain and (key := (int(const.value), const.type)) not in self.numbers:
            self.numbers[key] = const
            self.added.append(key)

    def number(self, value: int, type: Scalar, origin: Statement) -> Const:
        """Return a constant; origin: the statement in whose place it is needed."""
        known = self.numbers.get((value, type))
        if known is None:
            known = Const(value, type=type)
            self.emit(known, origin)
            self.record_number(known)
        return known


Number = tuple[int, Type | None]
"""A value and its type."""


def _may_be_simpler(statement: Statement) -> bool:
    """Return whether this pass may simplify a statement."""
    if isinstance(statement, Operation):
        kind = statement.operands[0].type
        is_candidate = statement.op in SIMPLER or statement.type == u1
        return is_candidate and isinstance(kind, (Scalar, Tensor)) and element_of(kind).kind in ("int", "uint")
    return isinstance(statement, IndexCheck)


def _operation(rewriter: Rewriter, operation: Statement) -> Statement | None:
    assert isinstance(rewriter, ValueRanges) and isinstance(operation, Operation)
    rule = SIMPLER.get(operation.op)
    if operation.type is None or (rule is None and operation.type != u1):
        return None
    intervals = [interval for operand in operation.operands if (interval := rewriter.of(operand)) is not None]
    if len(intervals) < len(operation.operands):
        return None
    if rule is not None:
        new = rule(rewriter, operation, intervals) if element_of(operation.type).kind in ("int", "uint") else None
        return new if new is None or new.type == operation.type else None
    return _known_outcome(rewriter, operation)


def _known_outcome(walk: ValueRanges, operation: Operation) -> Statement | None:
    """Return the constant outcome of a test, None if it is not known."""
    walk.record(operation)
    low, high = walk.of(operation) or (0, 1)
    return _emit(walk, Const(bool(low), type=u1), operation) if low == high else None


def _emit(walk: ValueRanges, new: Statement, origin: Statement) -> Statement:
    walk.emit(new, origin)
    walk.record(new)
    return new


def _division(walk: ValueRanges, operation: Operation, intervals: list[Interval]) -> Statement | None:
    """`/` and `%` of the emitted languages are correct for a non-negative dividend and a positive divisor.

    By a power of two, `//` is a shift and `%` a mask, also of negative numbers, whose quotient rounds down.
    """
    (dividend, divisor), quotient = intervals, PLAIN[operation.op] == "plain_div"
    if divisor[0] < 1:
        return None
    if dividend[0] >= 0 and dividend[1] < divisor[0] and isinstance(operation.type, Scalar):
        return _emit(walk, Const(0, type=operation.type), operation) if quotient else operation.operands[0]
    if _is_thread(walk, operation.operands[0]):
        return _emit(walk, Operation(PLAIN[operation.op], operation.operands[:], type=operation.type), operation)
    if dividend[0] >= 0 or operation.op in ROUNDING_DOWN:
        power = _by_power_of_two(walk, operation, quotient)
        if power is not None:
            return power
    near = _near_remainder(walk, operation, dividend, divisor)
    if near is not None:
        return near
    if dividend[0] < 0:
        is_remainder = not quotient and operation.op in ROUNDING_DOWN
        return _masked(walk, operation.operands[0], operation.operands[1], operation) if is_remainder else None
    return _emit(walk, Operation(PLAIN[operation.op], operation.operands[:], type=operation.type), operation)


def _is_thread(walk: ValueRanges, value: Statement) -> bool:
    """Return whether a value is the number of a thread of a block, which a language may know not to be negative."""
    assert isinstance(walk, _Reduction)
    match value:
        case LoopIndex(loop=RangeFor(starts=starts) as loop, axis=axis):
            return loop in walk.of_threads and axis == len(starts) - 1
    return False


def _near_remainder(walk: ValueRanges, operation: Operation, dividend: Interval, divisor: Interval) -> Statement | None:
    """Return the remainder of an i32 from `-2 * b` to `3 * b - 1` without a division, None if it may be farther.

    That is known for a number, and for the extent that an index is below, of the neighbours of this index. Division by
    a constant is a product, which takes no longer than two steps.
    """
    assert isinstance(walk, _Reduction)
    if operation.op != "mod" or operation.type != i32 or not walk.has_near:
        return None
    value, extent = operation.operands
    found = _distance(walk, value, extent)
    if found is not None:
        index, (low, high), extents = found
        times = -(min(low, -high) // divisor[0])
        if times == 0:
            return index
        op = "near_mod" if times == 1 else "close_mod" if times == 2 and not isinstance(extent, Const) else ""
        if op and extents:
            shorter = _without_extent(walk, value, extent, operation) if extents == 1 else None
            op, value = (op, shorter) if shorter is not None else ("", value)
            walk.has_sums = True
        if op:
            return _masked(walk, value, extent, operation) or _emit(
                walk, Operation(op, [value, extent], type=i32), operation
            )
    if contains((-divisor[0], 2 * divisor[0] - 1), dividend):
        return _masked(walk, value, extent, operation) or _emit(
            walk, Operation("near_mod", [value, extent], type=i32), operation
        )
    return None


def _distance(walk: ValueRanges, value: Statement, extent: Statement) -> tuple[Statement, Interval, int] | None:
    """Return the index below an extent that a sum has, the interval of its other terms, and how many are the extent.

    None if there is no such index, or the sum may wrap so that its remainder is another one.
    """
    terms = list(_terms(value))
    others = [(sign, term) for sign, term in terms if not _is_same(term, extent)]
    extents = sum(sign for sign, term in terms if _is_same(term, extent))
    index = next((t for sign, t in others if sign > 0 and _is_index_below(walk, t, extent)), None)
    if index is None:
        return None
    others.remove((1, index))
    low = high = 0
    for sign, term in others:
        least, most = walk.of(term) or (-I32_MAX, I32_MAX)
        low, high = low + (least if sign > 0 else -most), high + (most if sign > 0 else -least)
    size = walk.of(extent)
    may_wrap = extents != 0 and not isinstance(extent, ArrayShape) and (size is None or size[1] > MOST_SUMMED)
    return None if may_wrap or max(-low, high) > MOST_SUMMED else (index, (low, high), extents)


def _is_index_below(walk: ValueRanges, value: Statement, extent: Statement) -> bool:
    interval = walk.of(value)
    return interval is not None and interval[0] >= 0 and _is_below(walk, value, extent)


def _terms(value: Statement, sign: int = 1) -> Iterator[tuple[int, Statement]]:
    """Yield the terms of a sum with their signs."""
    match value:
        case Operation(op="add" | "sub" as op, operands=[a, b], type=kind) if kind == i32 == a.type == b.type:
            yield from _terms(a, sign)
            yield from _terms(b, sign if op == "add" else -sign)
        case _:
            yield sign, value


def _without_extent(walk: ValueRanges, value: Statement, extent: Statement, origin: Statement) -> Statement | None:
    """Return a sum without a term that is an extent, None if that leaves nothing to subtract from."""
    match value:
        case Operation(op="add", operands=[a, b]):
            for one, other in ((a, b), (b, a)):
                if _is_same(one, extent):
                    return other
                match one:
                    case Operation(op="sub", operands=[first, less]) if _is_same(first, extent):
                        return _emit(walk, Operation("sub", [other, less], type=i32), origin)
                shorter = _without_extent(walk, one, extent, origin)
                if shorter is not None:
                    summands = [shorter, other] if one is a else [other, shorter]
                    return _emit(walk, Operation("add", summands, type=i32), origin)
        case Operation(op="sub", operands=[a, b]):
            shorter = _without_extent(walk, a, extent, origin)
            return None if shorter is None else _emit(walk, Operation("sub", [shorter, b], type=i32), origin)
    return None


def _is_same(term: Statement, extent: Statement) -> bool:
    """Return whether a term is an extent, or the number that it is."""
    if isinstance(term, Const) and isinstance(extent, Const):
        return term.value == extent.value
    return same_value(term, extent)


def _by_power_of_two(walk: ValueRanges, operation: Operation, quotient: bool) -> Statement | None:
    """Return the division of a signed number as a shift or a mask; of an unsigned one it needs neither."""
    dividend, divisor = operation.operands
    kind = operation.type
    if not isinstance(kind, Scalar) or not kind.is_signed or dividend.type != kind or not isinstance(divisor, Const):
        return None
    number = int(divisor.value)
    if number & (number - 1) or number < 2 or divisor.origin is not None:  # a name says more than a shift
        return None
    assert isinstance(walk, _Reduction)
    second = walk.number(number.bit_length() - 1 if quotient else number - 1, kind, operation)
    return _emit(walk, Operation("sar" if quotient else "bit_and", [dividend, second], type=kind), operation)


def _masked(walk: ValueRanges, dividend: Statement, divisor: Statement, operation: Operation) -> Statement | None:
    """Return the remainder of a signed number by a power of two with a name as a mask: `x & (n - 1)`."""
    kind = operation.type
    if not isinstance(kind, Scalar) or not kind.is_signed or dividend.type != kind or not isinstance(divisor, Const):
        return None
    number = int(divisor.value)
    if number & (number - 1) or number < 2 or divisor.origin is None:
        return None
    origin = origins.operation("sub", (divisor.origin, origins.literal(1, kind)), number - 1, kind)
    mask = _emit(walk, Const(number - 1, type=kind, origin=origin), operation)
    return _emit(walk, Operation("bit_and", [dividend, mask], type=kind), operation)


def _least(walk: ValueRanges, operation: Operation, intervals: list[Interval]) -> Statement | None:
    (a, b), is_min = intervals, operation.op == "min"
    if a[1] <= b[0]:
        return operation.operands[0 if is_min else 1]
    return operation.operands[1 if is_min else 0] if b[1] <= a[0] else None


def _absolute(walk: ValueRanges, operation: Operation, intervals: list[Interval]) -> Statement | None:
    return operation.operands[0] if intervals[0][0] >= 0 else None


def _redundant_mask(walk: ValueRanges, operation: Operation, intervals: list[Interval]) -> Statement | None:
    """`i & 7`, if i is always below 8."""
    for value, mask in ((0, 1), (1, 0)):
        low, high = intervals[mask]
        if low == high and high >= 0 and (high + 1) & high == 0 and contains((0, high), intervals[value]):
            return operation.operands[value]
    return None


PLAIN = {"floordiv": "plain_div", "mod": "plain_mod", "raw_div": "plain_div", "raw_mod": "plain_mod"}

PLAIN_OPS = ("plain_div", "plain_mod", "sar", "bit_and")
EQUAL_LATER = (("floordiv", "raw_div"), ("mod", "raw_mod"))
"""Different operations may become equal ones in a kernel that has one of the first row, or both of a pair: `i // 4` and
`i >> 2`. Else what was not equal before is not equal after this pass."""

ROUNDING_DOWN = frozenset({"floordiv", "mod"})

SIMPLER: dict[str, Callable[[ValueRanges, Operation, list[Interval]], Statement | None]] = {
    **dict.fromkeys(PLAIN, _division),
    "min": _least,
    "max": _least,
    "abs": _absolute,
    "bit_and": _redundant_mask,
}


def _assert(rewriter: Rewriter, statement: Statement) -> Statement | None:
    assert isinstance(statement, Assert)
    return DROPPED if is_const(statement.condition, True) else None


def _notice(rewriter: Rewriter, statement: Statement) -> Statement | None:
    assert isinstance(statement, Notice)
    return DROPPED if is_const(statement.condition, False) else None


def _index_check(rewriter: Rewriter, check: Statement) -> Statement | None:
    """Drop the check of an access that is always in bounds."""
    assert isinstance(rewriter, ValueRanges) and isinstance(check, IndexCheck)
    lower_bounds = check.lower_bounds or (0,) * len(check.indices)
    for index, extent, lower_bound in zip(check.indices, check.extents, lower_bounds, strict=True):
        interval, size = rewriter.of(index), rewriter.of(extent)
        if interval is None or size is None or interval[0] < lower_bound:
            return None
        if interval[1] >= lower_bound + size[0] and (lower_bound != 0 or not _is_below(rewriter, index, extent)):
            return None
    return DROPPED


def _is_below(walk: ValueRanges, index: Statement, extent: Statement) -> bool:
    """Return whether an index is below an extent that is known at launch, by the operations that compute it."""
    interval, size = walk.of(index), walk.of(extent)
    if interval is None or size is None:
        return False
    if interval[1] < size[0]:
        return True
    match index:
        case LoopIndex(loop=RangeFor() as loop, axis=axis):
            step = walk.resolve(loop.steps[axis])
            return isinstance(step, Const) and step.value > 0 and same_value(loop.ends[axis], extent)
        case Operation(op="mod" | "plain_mod" | "near_mod" | "close_mod", operands=[_, divisor]):
            return size[0] > 0 and same_value(divisor, extent)
        case Operation(op="plain_div" | "sar", operands=[dividend, _]) if interval[0] >= 0:
            return _is_below(walk, dividend, extent)
        case Operation(op="min", operands=[a, b]):
            return _is_below(walk, a, extent) or _is_below(walk, b, extent)
        case Operation(op="max", operands=[a, b]):
            return _is_below(walk, a, extent) and _is_below(walk, b, extent)
        case Operation(op="sub", operands=[a, b]):
            return _difference_is_below(walk, a, b, extent)
    return False


def _difference_is_below(walk: ValueRanges, value: Statement, less: Statement, extent: Statement) -> bool:
    """Return whether `value - less` does not wrap and is below an extent, since `value` is at most the extent."""
    minuend, subtrahend, numbers = walk.of(value), walk.of(less), whole(scalar_type(value))
    if minuend is None or subtrahend is None or numbers is None:
        return False
    if subtrahend[0] < 0 or minuend[0] - subtrahend[1] < numbers[0]:
        return False
    return _is_below(walk, value, extent) or (subtrahend[0] > 0 and same_value(value, extent))
