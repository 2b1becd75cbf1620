"""Marks integer operations that may wrap, for languages in which signed overflow is undefined.

    $3 = add $1, 1; if $3 > $2 { ... }     ->    $3 = wrapping_add $1, 1    ($1: any i32; CUDA C adds as unsigned)
    $4 = add $i, 1                         ->    (unchanged: $i is the index of a loop up to n: the sum is at most n)
    $5 = add $1, $2; store $5              ->    (unchanged: nothing asks for the sign of the sum)
    $6 = add $q, 1; if $6 < $m { ... }     ->    (unchanged: $q is an index of an array, too)

Integers wrap in Python's kernels, and LLVM, on which NVRTC is built, uses that signed sums do not: `x + 1 > x` is then
true for all x. It uses that where a sum is compared, divided, shifted or converted (`unobserved`); what is only added
up, masked and stored has the bits of the wrapped sum. A value that serves as an index keeps the plain operation, too: a
wrapped index is out of bounds, which is undefined anyway. So do sums of such values (`positions`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from math import prod

from ...ir.nodes import Statement, walk
from ...ir.ops import WRAPPING
from ...ir.sparse import Length
from ...ir.statements import ArrayShape, Const, LoopIndex, Operation
from ...ir.tasks import Kernel
from ...ir.threads import ThreadIndex
from ...ir.types import Scalar, i32
from ..analysis.intervals import Interval, contains, exact_interval, whole
from ..analysis.queries import is_index_of
from ..analysis.value_ranges import I32_MAX, ValueRanges, same_value, stored_ranges
from ..context import PassContext
from .parts.positions import SUMS, place_of, places_of_indices
from .parts.summands import SMALL
from .parts.unobserved import steps_of_counters, unobserved

MOST_THREADS = 1 << 24
"""The most threads that a GPU runs at a time."""
COUNTING = SUMS | {"mul", "min", "max"}
"""Operations on positions whose result is one: `i * n + j`, `max(i - r, 0)`."""
MOST_LANES = 16
"""Numbers by which positions are multiplied, as by the lanes of a vector. A hash has greater ones."""


def wrapping(kernel: Kernel, context: PassContext) -> bool:
    """Rename the operations that may leave the range of the type in which C computes them."""
    if not context.capabilities.undefined_overflow:
        return False
    if not any(map(_is_candidate, kernel.statements())):
        return False
    harmless = steps_of_counters(kernel) | _sums_in_wide_iterations(kernel) | _neighbours(kernel)
    if not context.capabilities.reports_overflow:
        harmless |= unobserved(kernel)
    if context.options.check_overflow and not any(task.synchronizes for task in kernel.tasks):
        harmless |= _checked(kernel)
    elif context.options.debug:
        harmless -= _checked(kernel)  # a notice has no effect on what follows, which C may not assume to be undefined
    search = _Search(stored_ranges(kernel), harmless, _places(kernel, context))
    search.run(kernel)
    for operation in search.found:
        operation.op = WRAPPING[operation.op]
    return bool(search.found)


def _places(kernel: Kernel, context: PassContext) -> set[Hashable]:
    """Return what serves as an index, but for arguments; nothing if checks compare indices with extents."""
    options = context.options
    has_checks = options.debug or options.check_out_of_bound or options.check_overflow
    if has_checks or context.capabilities.reports_overflow:
        return set()
    return places_of_indices(kernel) - {*kernel.parameters}


def _sums_in_wide_iterations(kernel: Kernel) -> set[Statement]:
    """Return the sums of the index of several iterations that are one with at most their number: the last of these
    iterations is before the end of the loop (`wide_accesses`).
    """
    found: set[Statement] = set()
    for task in kernel.tasks:
        loop = task.loop
        if loop is None or task.lanes == 1:
            continue
        for statement in walk(task.body):
            match statement:
                case Operation(op="add", operands=[index, Const(value=number)]) if is_index_of(index, loop):
                    if index.axis == len(loop.starts) - 1 and 0 <= number <= task.lanes:
                        found.add(statement)
    return found


def _neighbours(kernel: Kernel) -> set[Statement]:
    """Return the sums of an index below an extent and a small number, of which the remainder is an index again
    (`ranges`): no array has an axis of 2^31 elements.
    """
    found: set[Statement] = set()
    for statement in kernel.statements():
        match statement:
            case Operation(op="near_mod" | "close_mod", operands=[value, ArrayShape()]):
                found.update(_terms_of(value))
    return found


def _terms_of(value: Statement) -> Iterator[Statement]:
    """Yield a sum and the sums that it consists of."""
    if isinstance(value, Operation) and value.op in ("add", "sub"):
        yield value
        for operand in value.operands:
            yield from _terms_of(operand)


def _checked(kernel: Kernel) -> set[Statement]:
    """Return the operations before which an iteration ends if they overflow."""
    values = [s for s in kernel.statements() if isinstance(s, Operation)]
    checks = {(s.op, *s.operands) for s in values if s.op.endswith("_overflows")}
    return {s for s in values if s.op in WRAPPING and (f"{s.op}_overflows", *s.operands) in checks}


class _Search(ValueRanges):
    """Collects the operations that may wrap.

    harmless: those for which that makes no difference. places: what serves as an index. positions: sums of that.
    """

    def __init__(self, variables: dict[Statement, Interval], harmless: set[Statement], places: set[Hashable]) -> None:
        super().__init__({}, variables)
        self.harmless = harmless
        self.places = places
        self.positions: set[Statement] = set()
        self.found: list[Operation] = []
        self.recorders = {**self.recorders, Operation: _Search.record_operation}

    def of(self, value: Statement) -> Interval | None:
        """Return the interval of a value; the length of a list may be above its capacity while threads append."""
        if isinstance(value, Length):
            return 0, min(prod(value.node.extents) + MOST_THREADS, I32_MAX)
        return super().of(value)

    def record_operation(self, operation: Operation) -> None:
        """Collect an operation, and record its interval."""
        is_position = self._is_factor if operation.op == "mul" else self._is_position
        if operation.op in COUNTING and all(map(is_position, operation.operands)):
            self.positions.add(operation)
        is_harmless = operation in self.harmless or operation in self.positions
        if operation.op in WRAPPING and not is_harmless and self._may_wrap(operation):
            self.found.append(operation)
        self.record(operation)

    def _is_position(self, value: Statement) -> bool:
        """Return whether a value is an index, a bound, an argument, a sum of these, or a small number."""
        if self._is_counted(value):
            return True
        interval = self.of(value) if self.places else None
        return interval is not None and contains((-SMALL, SMALL), interval)

    def _is_factor(self, value: Statement) -> bool:
        """Return whether a product by a value is no hash."""
        return abs(value.value) <= MOST_LANES if isinstance(value, Const) else self._is_counted(value)

    def _is_counted(self, value: Statement) -> bool:
        if not self.places or not isinstance(value.type, Scalar) or not value.type.is_integral:
            return False
        is_index = isinstance(value, (LoopIndex, ArrayShape, ThreadIndex)) or value in self.positions
        return is_index or place_of(value) in self.places

    def _may_wrap(self, operation: Operation) -> bool:
        computed = _computed_type(operation)
        if computed is None or _is_at_most_an_operand(operation):
            return False
        intervals = [self.of(operand) for operand in operation.operands]
        known = [interval for interval in intervals if interval is not None]
        exact = exact_interval(operation.op, computed, known) if len(known) == len(intervals) else None
        limits = whole(computed)
        return exact is None or limits is None or not contains(limits, exact)


def _is_at_most_an_operand(operation: Operation) -> bool:
    """Return whether a result is no farther from 0 than a value that exists: a + min(b - a, c), a // b * b."""
    match operation:
        case Operation(op="add", operands=[a, Operation(op="min", operands=[Operation(op="sub", operands=[_, b]), _])]):
            return a is b or same_value(a, b)
        case Operation(op="mul", operands=[Operation(op="plain_div", operands=[_, b]), c]):
            return b is c or same_value(b, c)
    return False


def _computed_type(operation: Operation) -> Scalar | None:
    """Return the signed type in which C computes an operation; None if that is unsigned, a float or a tensor."""
    kind = operation.type
    if not isinstance(kind, Scalar) or kind.kind not in ("int", "uint"):
        return None
    if kind.bits < 32:
        return i32  # C promotes narrow integers
    return kind if kind.is_signed else None


def _is_candidate(statement: Statement) -> bool:
    return isinstance(statement, Operation) and statement.op in WRAPPING and _computed_type(statement) is not None
