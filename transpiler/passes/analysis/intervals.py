"""Interval arithmetic: the range of an integer operation from the ranges of its operands.

Input: an operation of the op table, the scalar type of its operands, an interval for each. Output: an interval of the
result type. A result that may leave its type wraps, so that its interval is that of the type. A comparison, or a test
for overflow, with a constant outcome is (0, 0) or (1, 1).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import product

from ...ir.types import Scalar

Interval = tuple[int, int]
"""The least and the greatest number a value may have."""

FALSE, TRUE, EITHER = (0, 0), (1, 1), (0, 1)


@cache
def whole(type: Scalar) -> Interval | None:
    """Return all numbers of an integer type, None for a float."""
    return type.limits if type.is_integral else None


def contains(outer: Interval, inner: Interval) -> bool:
    """Return whether every number of `inner` is one of `outer`."""
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def hull(a: Interval, b: Interval) -> Interval:
    """Return the smallest interval that contains both."""
    return min(a[0], b[0]), max(a[1], b[1])


def interval_of(op: str, type: Scalar, operands: Sequence[Interval], result: Scalar) -> Interval | None:
    """Return the interval of an operation on operands of `type`; None if its result is no integer."""
    all_numbers = whole(result)
    rule = RULES.get(op)
    if rule is None or all_numbers is None:
        return all_numbers
    if type.kind == "bool" and op not in ON_TRUTHS:
        return all_numbers
    interval = rule(type, *operands)
    return interval if interval is not None and contains(all_numbers, interval) else all_numbers


def exact_interval(op: str, type: Scalar, operands: Sequence[Interval]) -> Interval | None:
    """Return the interval of an operation in whole numbers, before it wraps; None: any number."""
    rule = RULES.get(op)
    return None if rule is None else rule(type, *operands)


def cast(value: Interval, new: Scalar) -> Interval | None:
    """Return the interval of integers converted to `new`; None if that is a float."""
    all_numbers = whole(new)
    if new.kind == "bool":
        return FALSE if value == FALSE else EITHER if value[0] <= 0 <= value[1] else TRUE
    return value if all_numbers is not None and contains(all_numbers, value) else all_numbers


Rule = Callable[..., Interval | None]


def _corners(meaning: Callable[[int, int], int]) -> Rule:
    """Return the rule of an operation whose extremes are at extremes of its operands."""

    def rule(type: Scalar, a: Interval, b: Interval) -> Interval:
        numbers = [meaning(x, y) for x, y in product(a, b)]
        return min(numbers), max(numbers)

    return rule


def _add(type: Scalar, a: Interval, b: Interval) -> Interval:
    return a[0] + b[0], a[1] + b[1]


def _sub(type: Scalar, a: Interval, b: Interval) -> Interval:
    return a[0] - b[1], a[1] - b[0]


def _min(type: Scalar, a: Interval, b: Interval) -> Interval:
    return min(a[0], b[0]), min(a[1], b[1])


def _max(type: Scalar, a: Interval, b: Interval) -> Interval:
    return max(a[0], b[0]), max(a[1], b[1])


def _truncated(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _quotient(meaning: Callable[[int, int], int]) -> Rule:
    """Return the rule of a division, whose result is 0 if the divisor is 0."""

    def rule(type: Scalar, a: Interval, b: Interval) -> Interval:
        divisors = [d for d in {*b, *(d for d in (-1, 1) if b[0] <= d <= b[1])} if d != 0]
        numbers = [meaning(x, y) for x, y in product(a, divisors)]
        if b[0] <= 0 <= b[1]:
            numbers.append(0)
        return min(numbers), max(numbers)

    return rule


def _mod(type: Scalar, a: Interval, b: Interval) -> Interval:
    """A remainder with the sign of the divisor; 0 if the divisor is 0."""
    if a[0] >= 0 and b[0] > a[1]:
        return a
    low, high = min(b[0] + 1, 0), max(b[1] - 1, 0)
    return low, min(high, a[1]) if a[0] >= 0 else high


def _rem(type: Scalar, a: Interval, b: Interval) -> Interval:
    """A remainder with the sign of the dividend; 0 if the divisor is 0."""
    most = max(abs(b[0]), abs(b[1]), 1) - 1
    return max(-most, min(a[0], 0)), min(most, max(a[1], 0))


def _shift_left(type: Scalar, a: Interval, b: Interval) -> Interval | None:
    numbers = [x << y for x, y in product(a, b)] if contains((0, type.bits - 1), b) else None
    return None if numbers is None else (min(numbers), max(numbers))


def _shift_right(type: Scalar, a: Interval, b: Interval) -> Interval:
    if not contains((0, type.bits - 1), b):
        return min(a[0], 0), a[1] if a[1] >= 0 else -1
    numbers = [x >> y for x, y in product(a, b)]
    return min(numbers), max(numbers)


def _shift_right_logical(type: Scalar, a: Interval, b: Interval) -> Interval | None:
    return _shift_right(type, a, b) if a[0] >= 0 else None


def _bit_and(type: Scalar, a: Interval, b: Interval) -> Interval | None:
    limits = [x[1] for x in (a, b) if x[0] >= 0]
    return (0, min(limits)) if limits else None


def _ones(a: Interval, b: Interval) -> int:
    return (1 << max(a[1], b[1]).bit_length()) - 1


def _bit_or(type: Scalar, a: Interval, b: Interval) -> Interval | None:
    return (max(a[0], b[0]), _ones(a, b)) if a[0] >= 0 and b[0] >= 0 else None


def _bit_xor(type: Scalar, a: Interval, b: Interval) -> Interval | None:
    return (0, _ones(a, b)) if a[0] >= 0 and b[0] >= 0 else None


def _bit_not(type: Scalar, a: Interval) -> Interval:
    top = -1 if type.is_signed else type.limits[1]
    return top - a[1], top - a[0]


def _neg(type: Scalar, a: Interval) -> Interval:
    return -a[1], -a[0]


def _abs(type: Scalar, a: Interval) -> Interval:
    low, high = sorted((abs(a[0]), abs(a[1])))
    return (0 if a[0] <= 0 <= a[1] else low), high


def _sign(type: Scalar, a: Interval) -> Interval:
    return (a[0] > 0) - (a[0] < 0), (a[1] > 0) - (a[1] < 0)


def _less(type: Scalar, a: Interval, b: Interval) -> Interval:
    return TRUE if a[1] < b[0] else FALSE if a[0] >= b[1] else EITHER


def _equal(type: Scalar, a: Interval, b: Interval) -> Interval:
    if a[1] < b[0] or b[1] < a[0]:
        return FALSE
    return TRUE if a == b and a[0] == a[1] else EITHER


def _not(type: Scalar, a: Interval) -> Interval:
    return 1 - a[1], 1 - a[0]


def _fits(exact: Rule) -> Rule:
    """Return the rule of the test whether a result leaves its type."""

    def rule(type: Scalar, a: Interval, b: Interval) -> Interval:
        numbers, result = whole(type), exact(type, a, b)
        return FALSE if numbers is not None and result is not None and contains(numbers, result) else EITHER

    return rule


_mul = _corners(int.__mul__)

RULES: dict[str, Rule] = {
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "floordiv": _quotient(int.__floordiv__),
    "mod": _mod,
    "raw_div": _quotient(_truncated),
    "raw_mod": _rem,
    "plain_div": _quotient(_truncated),
    "plain_mod": _rem,
    "near_mod": _mod,
    "close_mod": _mod,
    "min": _min,
    "max": _max,
    "bit_and": _bit_and,
    "bit_or": _bit_or,
    "bit_xor": _bit_xor,
    "bit_not": _bit_not,
    "shl": _shift_left,
    "sar": _shift_right,
    "shr": _shift_right_logical,
    "neg": _neg,
    "wrapping_add": _add,
    "wrapping_sub": _sub,
    "wrapping_mul": _mul,
    "wrapping_neg": _neg,
    "biased_min": _min,
    "biased_max": _max,
    "lowest_bit": lambda type, a: (0, 1),
    "wide_shl": _shift_left,
    "shifted": _shift_right,
    "shifted_bits": _shift_right_logical,
    "abs": _abs,
    "sign": _sign,
    **dict.fromkeys(("floor", "ceil", "round"), lambda type, a: a),
    **dict.fromkeys(("popcnt", "clz"), lambda type, a: (0, type.bits)),
    "select": lambda type, condition, a, b: hull(a, b),
    "lt": _less,
    "gt": lambda type, a, b: _less(type, b, a),
    "le": lambda type, a, b: _not(type, _less(type, b, a)),
    "ge": lambda type, a, b: _not(type, _less(type, a, b)),
    "eq": _equal,
    "ne": lambda type, a, b: _not(type, _equal(type, a, b)),
    "logical_and": lambda type, a, b: (min(a[0], b[0]), min(a[1], b[1])),
    "logical_or": lambda type, a, b: (max(a[0], b[0]), max(a[1], b[1])),
    "logical_not": _not,
    "add_overflows": _fits(_add),
    "sub_overflows": _fits(_sub),
    "mul_overflows": _fits(_mul),
    "shl_overflows": _fits(_shift_left),
}
"""By operation: the interval of its result in whole numbers, before it wraps. None: any number."""

ON_TRUTHS = frozenset({"eq", "ne", "select", "logical_and", "logical_or", "logical_not"})
"""Operations whose rule is also valid for u1."""
