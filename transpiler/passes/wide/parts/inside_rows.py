"""Copies the body of a loop for the iterations whose windows are inside rows, where tests of columns hold.

    for c in 9 {                                        if j >= 4 && j + 4 < m {
        jj = j + c - 4                                      for c in 9 {
        if 0 <= jj && jj < m { s += w[c] * x[i, jj] }           s += w[c] * x[i, j + c - 4]
    }                                            ->         }
    y[i, j] = s                                             y[i, j] = s
                                                        }

In: the body of a loop over i and j. Out: a copy, under one condition that decides all tests of j, or of j and the index
of a loop inside with constant bounds; None if it has no such test. Other iterations take the body itself.

A branch for one column is left out, where no iteration is at it: `if i == n // 2 and j == n // 2: v += source`. The
column may be loaded, if all iterations do that and none stores there: `if c == label[t]: p -= 1`.

A test is one of columns if it excludes a few elements at the ends of rows. So 4 <= j is one, and j < m / 2 is none, by
which half of the iterations would run one by one. Inside, a test may also fail (`if jj < 0 or jj >= m: continue`).
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import chain

from ....ir.builder import Builder
from ....ir.constants import constant_range
from ....ir.nodes import Block, Statement, blocks, operands, replace_uses, walk, walk_blocks
from ....ir.ops import MIRRORED, NEGATED
from ....ir.statements import (
    ArgLoad,
    ArrayShape,
    Const,
    Continue,
    GlobalLoad,
    GlobalPtr,
    If,
    LoopIndex,
    Operation,
    RangeFor,
)
from ....ir.types import Scalar, i32, u1
from ....lazy_dataclasses import dataclass
from ...analysis.aliasing import may_alias, written_objects
from ...analysis.queries import conjuncts, has_else, is_dense
from ...analysis.value_ranges import same_value
from ...tasks.parts.copies import copy_of_block
from .whole_rows import MARGIN, minuend_of

SHORTEST = 128
"""Elements of a row that a warp takes four at a time: in shorter ones, each warp would also run single iterations."""
LONGEST = 1 << 30
"""Elements of a row whose indices can be added to."""


def inside_rows(body: Block, loop: RangeFor) -> Block | None:
    """Return a copy of the body of a loop for iterations whose windows are inside rows, None if it has no such test."""
    end = loop.ends[-1]
    if isinstance(end, Const) and not SHORTEST <= end.value <= LONGEST:
        return None
    if not any(isinstance(s, Operation) and s.op in MIRRORED for s in walk(body)):
        return None
    copied = copy_of_block(body, {})
    for block in [copied, *(s.body for s in walk(copied) if isinstance(s, RangeFor))]:
        _without_continue(block)
    last = copied.statements[-1]
    branch = last if isinstance(last, If) and not has_else(last) else None
    inside = copied if branch is None else branch.then
    outermost = set() if branch is None else set(conjuncts(branch.condition))
    tests = _Tests(loop)
    used = dict.fromkeys(s for s in _used(inside) if isinstance(s, Operation) and s not in outermost)
    decided = {test: outcome for test in used if (outcome := tests.outcome(test)) is not None}
    apart = points(inside, loop, tests, _steady_loads(copied))
    if not decided and not apart:
        return None
    builder = Builder(Block(), loop.location)
    for point in apart:
        inside.drop([point.branch])
    known: dict[Statement, Statement] = {test: builder.const(outcome, u1) for test, outcome in decided.items()}
    known |= {test: builder.const(True, u1) for test in outermost}
    replace_uses(inside, known)
    for inner in walk(inside):
        if isinstance(inner, If):
            inner.is_python = False  # no remark on what is decided here
    more = [*([tests.condition(builder)] if decided else []), *(point.condition(builder, loop) for point in apart)]
    condition = builder.all_of(more)
    assert condition is not None
    if branch is None:
        builder.add(If(condition, copied))
        return builder.block
    builder.block.statements += copied.statements[:-1]
    branch.condition = builder.op("logical_and", branch.condition, condition)
    builder.add(branch)
    return builder.block


def _used(block: Block) -> list[Statement]:
    """Return what the statements of a block use."""
    every = list(walk(block))
    results = [inner.result for inner in walk_blocks(block) if inner.result is not None]
    return [*chain(*map(operands, every)), *results]


# --- points -----------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Point:
    """A branch for the iterations at one column, perhaps of one row: `if i == n // 2 and j == m // 2`.

    shift, column: the last index and the shift are the column there. others: what else is equal there.
    """

    branch: If
    shift: int
    column: Statement
    others: list[Operation]

    def condition(self, builder: Builder, loop: RangeFor) -> Statement:
        """Return whether an iteration is not there."""
        index = builder.shifted(builder.add(LoopIndex(loop, len(loop.starts) - 1, type=i32)), self.shift)
        found = builder.op("ne", index, builder.again(self.column))
        for other in self.others:
            found = builder.op("logical_or", builder.op("ne", *map(builder.again, other.operands)), found)
        return found


def points(block: Block, loop: RangeFor, tests: _Tests, steady: Collection[Statement] = ()) -> list[Point]:
    """Return the branches of a block for single columns, which others leave out. steady: loads that may give these."""
    found = []
    for branch in [s for s in block if isinstance(s, If) and not has_else(s)]:
        equal = [test for test in conjuncts(branch.condition) if isinstance(test, Operation) and test.op == "eq"]
        columns = [(test, place) for test in equal if (place := _column(test, loop, tests, steady)) is not None]
        if len(columns) == 1:
            test, (shift, column) = columns[0]
            others = [o for o in equal if o is not test and all(_is_given(part, loop) for part in o.operands)]
            found.append(Point(branch, shift, column, others[:1]))
    return found


def _column(
    test: Operation, loop: RangeFor, tests: _Tests, steady: Collection[Statement]
) -> tuple[int, Statement] | None:
    """Return the shift of the last index and the column of a test whether these are equal; None for others."""
    for index, column in (test.operands, test.operands[::-1]):
        span = tests.span(index)
        if span is not None and span.is_column and span.low == span.high and _is_given(column, loop, steady):
            return (span.low, column) if column.type == i32 else None
    return None


def _steady_loads(body: Block) -> set[Statement]:
    """Return the loads that all iterations with a body do, of elements that none of them changes."""
    written = set(written_objects(body))
    overlaps = any(map(may_alias, written))
    found: set[Statement] = set()
    for load in body:
        if isinstance(load, GlobalLoad) and isinstance(load.pointer, GlobalPtr):
            array = load.pointer.array
            if is_dense(array) and array not in written and not (overlaps and array.may_alias):
                found.add(load)
    return found


def _is_given(value: Statement, loop: RangeFor, steady: Collection[Statement] = ()) -> bool:
    """Return whether a value is one of all iterations along the last axis, by its expression. steady: loads."""
    if value in steady and isinstance(value, GlobalLoad) and isinstance(value.pointer, GlobalPtr):
        return all(_is_given(index, loop, steady) for index in value.pointer.indices)
    if isinstance(value, LoopIndex):
        return value.loop is loop and value.axis < len(loop.starts) - 1
    if isinstance(value, Operation) and value.op in ("add", "sub", "mul"):
        return all(_is_given(operand, loop, steady) for operand in value.operands)
    return isinstance(value, (Const, ArgLoad, ArrayShape)) and value.type == i32


# --- continue ---------------------------------------------------------------------------------------------------------


def _without_continue(block: Block) -> None:
    """Put what follows a branch that continues under the opposite condition. block: the end of an iteration.

    if jj < 0 || jj >= m { continue }    ->    if jj >= 0 && jj < m { s += x[i, jj] }
    s += x[i, jj]
    """
    for position, branch in enumerate(block.statements):
        if isinstance(branch, If) and not has_else(branch) and isinstance(branch.then.statements[-1], Continue):
            inside, rest = Block(branch.then.statements[:-1]), Block(block.statements[position + 1 :])
            del block.statements[position:]
            condition = branch.condition
            if not inside.statements:
                condition, inside, rest = _opposite(Builder(block, branch.location), condition), rest, Block()
            otherwise = rest if rest.statements else None
            block.statements.append(If(condition, inside, otherwise, location=branch.location))
            break
    last = block.statements[-1] if block.statements else None
    if isinstance(last, If):
        for inner in blocks(last):
            _without_continue(inner)


def _opposite(builder: Builder, condition: Statement) -> Statement:
    """Return the opposite of a condition, of integers by the opposite comparisons."""
    if isinstance(condition, Operation):
        parts = condition.operands
        other = {"logical_or": "logical_and", "logical_and": "logical_or"}.get(condition.op)
        if other is not None:
            return builder.op(other, *(_opposite(builder, part) for part in parts))
        if condition.op in NEGATED and all(isinstance(p.type, Scalar) and p.type.is_integral for p in parts):
            return builder.op(NEGATED[condition.op], *parts)
    return builder.op("logical_not", condition)


# --- tests ------------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Span:
    """Values from `low` to `high`, which are added to the index of the outer loop if `is_column`."""

    is_column: bool
    low: int
    high: int


class _Tests:
    """The tests of columns in a body, and the condition under which all have one outcome.

    first: the least index at which all lower bounds are below the window. ends: what the index and the greatest shift
    must be less than, for each upper bound. lows: likewise lower bounds that are arguments.
    """

    def __init__(self, loop: RangeFor) -> None:
        self.loop, self.end = loop, loop.ends[-1]
        self.spans: dict[Statement, Span | None] = {}
        self.first = 0
        self.ends: list[tuple[Statement, int]] = []
        self.lows: list[tuple[Statement, int]] = []

    def outcome(self, test: Operation) -> bool | None:
        """Return the outcome of a test inside rows, and record where that is; None if it is no test of columns."""
        if test.op not in MIRRORED:
            return None
        op, (index, bound) = test.op, test.operands
        if not self._is_column(index):
            op, index, bound = MIRRORED[op], bound, index
        span = self.span(index)
        if span is None or not span.is_column or self._is_column(bound) or bound.type != i32:
            return None
        limit = self._limit(bound, op)
        if limit is None:
            return None
        base, less = limit
        is_low = base is None or (isinstance(base, ArgLoad) and op in ("ge", "gt") and not same_value(base, self.end))
        wanted = {"ge", "gt", "ne"} if is_low else {"le", "lt", "ne"}
        holds = op in wanted
        inside = op if holds and op != "ne" else ("gt" if is_low else "lt") if op in ("eq", "ne") else NEGATED[op]
        if not is_low:
            assert base is not None
            self._add(self.ends, base, span.high + less - (inside == "le"))
        elif base is None:
            self.first = max(self.first, -less + (inside == "gt") - span.low)
        else:
            if span.low > 0 or less:
                return None
            self._add(self.lows, base, -span.low + (inside == "gt"))
        return holds

    def condition(self, builder: Builder) -> Statement:
        """Return whether an iteration, and those that are one with it, have these outcomes."""
        index = builder.add(LoopIndex(self.loop, len(self.loop.starts) - 1, type=i32))
        parts = []
        if self.first > 0:
            parts.append(builder.op("ge", index, builder.const(self.first)))
        for low, by in self.lows:
            first = builder.op("sub", index, builder.const(by)) if by else index
            parts.append(builder.op("ge", first, builder.again(low)))
        for end, by in self.ends:
            last = builder.shifted(index, by)
            parts.append(builder.op("lt", last, builder.again(end)))
        if not parts:  # they hold from the first element on
            parts.append(builder.op("ge", index, builder.const(0)))
        condition = builder.all_of(parts)
        assert condition is not None
        return condition

    def _add(self, bounds: list[tuple[Statement, int]], base: Statement, by: int) -> None:
        """Record that the index and `by` are below a bound, or the index less `by` above it: the greatest decides."""
        for position, (other, least) in enumerate(bounds):
            if isinstance(base, Const) and isinstance(other, Const):
                if by - base.value > least - other.value:
                    bounds[position] = base, by
                return
            if same_value(base, other):
                bounds[position] = other, max(by, least)
                return
        bounds.append((base, by))

    def _limit(self, bound: Statement, op: str) -> tuple[Statement | None, int] | None:
        """Return a bound as what a number is subtracted from, and the number; None in place of 0; None for others."""
        found = minuend_of(bound)
        if found is None:
            return None
        bound, less = found
        match bound:
            case Const(value=value):
                is_end = isinstance(self.end, Const) and self.end.value - MARGIN <= value <= self.end.value + MARGIN
                if is_end and (value > MARGIN or op in ("le", "lt")):
                    return bound, less
                return (None, less - int(value)) if abs(value) <= MARGIN else None
            case ArrayShape():
                return bound, less
            case ArgLoad():
                return (bound, less) if op in ("lt", "le", "gt", "ge") else None
        return None

    def _is_column(self, value: Statement) -> bool:
        """Return whether a value depends on the last index of the outer loop by a sum."""
        span = self.span(value)
        return span is not None and span.is_column

    def span(self, value: Statement) -> Span | None:
        """Return the values that an index may have, None if that is not known."""
        if value not in self.spans:
            self.spans[value] = self._found(value)
        return self.spans[value]

    def _found(self, value: Statement) -> Span | None:
        match value:
            case Const(value=number) if value.type == i32:
                return Span(False, int(number), int(number))
            case LoopIndex(loop=loop, axis=axis) if loop is self.loop:
                return Span(True, 0, 0) if axis == len(loop.starts) - 1 else None
            case LoopIndex(loop=RangeFor() as loop, axis=axis):
                return _span_along(loop, axis)
            case Operation(op="add" | "sub" | "mul" as op, operands=[first, second]):
                a, b = self.span(first), self.span(second)
                return None if a is None or b is None else _combined(op, a, b)
        return None


def _span_along(loop: RangeFor, axis: int) -> Span | None:
    """Return the indices of a loop inside along an axis, None if they are not known."""
    indices = constant_range(loop, axis)
    return Span(False, min(indices), max(indices)) if indices else None


def _combined(op: str, a: Span, b: Span) -> Span | None:
    """Return the values of an operation on two of them; of the outer index only sums."""
    found: Span | None = None
    if op == "add" and not (a.is_column and b.is_column):
        found = Span(a.is_column or b.is_column, a.low + b.low, a.high + b.high)
    elif op == "sub" and not b.is_column:
        found = Span(a.is_column, a.low - b.high, a.high - b.low)
    elif op == "mul" and not (a.is_column or b.is_column):
        ends = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
        found = Span(False, min(ends), max(ends))
    return found if found is not None and max(abs(found.low), abs(found.high)) <= LONGEST else None
