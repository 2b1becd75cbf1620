"""Value range analysis of integers: the walk that `ranges` is based on.

Sources of ranges: constants, loop indices, extents, operations on known ranges, conditions of an `if` inside its
branches, the hull of all stores to a variable, and that of the arguments of all calls of a function. The analysis is
conservative: a sum that may wrap has the range of its type, and so has a variable that a loop increments.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

from ...ir.functions import Call, Function, called
from ...ir.nodes import Block, Statement, operands
from ...ir.ops import NEGATED
from ...ir.sparse import CellIndex, Length
from ...ir.statements import (
    Alloca,
    ArgLoad,
    ArrayShape,
    Break,
    Cast,
    Const,
    Continue,
    If,
    IfExp,
    ListInit,
    ListItem,
    LocalLoad,
    LocalStore,
    LoopIndex,
    MatrixElement,
    MatrixInit,
    MatrixPtr,
    Operation,
    Parameter,
    RangeFor,
    Return,
    base_pointer,
    is_const,
)
from ...ir.tasks import Kernel
from ...ir.textures import Texture
from ...ir.threads import ThreadIndex
from ...ir.types import Scalar, Struct, Tensor, Type, element_of, i32
from ..rewrite import Recorder, Rewriter, Rule
from .intervals import Interval, cast, hull, interval_of, whole
from .queries import trip_count

Fact = tuple[Statement, Interval]
"""A value, and its interval where the fact holds."""

I32_MAX = i32.limits[1]
"""The greatest i32."""


class ValueRanges(Rewriter):
    """A walk that computes the interval of each integer.

    Attributes:
        known: intervals by value.
        trail: undo log of `known` for the open blocks.
        facts: facts that hold in a block, until the walk enters it.
        results: intervals of the results of blocks.
        variables: intervals of variables over all stores; None in the walk that computes them.
        stores: the intervals that this walk computes for `variables`.
        arguments: the hull of the arguments of all calls so far, by parameter; None if it is not known.
        block_dim: maximum number of threads of a block.
    """

    def __init__(
        self, rules: Mapping[type[Statement], Rule], variables: Mapping[Statement, Interval] | None = None
    ) -> None:
        super().__init__(rules)
        self.known: dict[Hashable, Interval] = {}
        self.trail: list[tuple[Hashable, Interval | None]] = []
        self.facts: dict[Block, list[Fact]] = {}
        self.results: dict[Block, Interval | None] = {}
        self.variables = variables
        self.stores: dict[Statement, Interval] = {}
        self.arguments: dict[Parameter, Interval | None] = {}
        self.block_dim, self.last = I32_MAX, I32_MAX  # of the task: threads of a block, the last iteration
        self.recorders = RECORDERS if variables is not None else RECORDERS_OF_STORES

    def run(self, kernel: Kernel) -> bool:
        """Walk all tasks and functions; return whether anything changed. The host evaluates bounds, so they stay."""
        for task in kernel.tasks:
            if task.prologue.statements:
                rules = self.rules
                self.with_rules({})
                self.block(task.prologue)
                self.with_rules(rules)
            self.block_dim = task.block_dim if task.synchronizes else I32_MAX
            if task.loop is not None:
                self.facts[task.body] = self.in_loop(task.loop)
                self.last = (trip_count(task.loop) or 1 << 31) - 1
            for root in task.roots()[1:]:
                self.block(root)
        self.block_dim, self.last = I32_MAX, I32_MAX
        for function in reversed(called(*(root for task in kernel.tasks for root in task.roots()))):
            self._know_arguments(function)
            self.block(function.body)
        return self.changed

    def _know_arguments(self, function: Function) -> None:
        """Assume the hull of the arguments of all calls, which are known since callers are walked first."""
        if function in called(function.body):
            return
        for parameter in function.parameters:
            interval = self.arguments.get(parameter)
            if interval is not None:
                self.known[parameter] = interval

    def block(self, block: Block) -> None:
        """Walk a block; facts that hold only inside it are dropped at its end."""
        mark = len(self.trail)
        for value, interval in self.facts.pop(block, ()):
            self.assume(value, interval)
        super().block(block)
        if block.result is not None:
            self.results[block] = self.of(block.result)
        for key, before in reversed(self.trail[mark:]):
            if before is None:
                del self.known[key]
            else:
                self.known[key] = before
        del self.trail[mark:]

    def visit(self, statement: Statement) -> None:
        """Walk a statement with blocks, and record the facts that hold after it."""
        match statement:
            case If() | IfExp():
                condition = self.resolve(statement.condition)
                self.facts[statement.then] = list(self.implied_by(condition, True))
                if statement.otherwise is not None:
                    self.facts[statement.otherwise] = list(self.implied_by(condition, False))
            case RangeFor():
                self.facts[statement.body] = self.in_loop(statement)
        super().visit(statement)
        self.record(statement)
        if isinstance(statement, If) and statement.then.statements and _exits(statement.then.statements[-1]):
            for value, interval in self.implied_by(statement.condition, False):
                self.assume(value, interval)

    def of(self, value: Statement) -> Interval | None:
        """Return the interval of a value or of the elements of a tensor; None if it is not an integer."""
        result = self.known.get(value)
        if result is not None:
            return result
        type = value.type
        if type.__class__ is Scalar and type.kind == "float":
            return None
        key_of = KEYS.get(value.__class__)
        result = self.known.get(value if key_of is None else key_of(value))
        return result if result is not None else _default_interval(value)

    def assume(self, value: Statement, interval: Interval) -> None:
        """Restrict a value to an interval until the current block ends."""
        before = self.of(value)
        if before is None or isinstance(value, Const):
            return
        both = max(before[0], interval[0]), min(before[1], interval[1])
        if value.__class__ is LoopIndex:
            both = _of_steps(value, both)
        if both != before and both[0] <= both[1]:  # else this code is unreachable
            key = _key(value)
            self.trail.append((key, self.known.get(key)))
            self.known[key] = both

    def record(self, statement: Statement) -> None:
        """Record the interval of a statement."""
        type = statement.type
        if type.__class__ is Scalar and type.kind == "float":
            return
        find = TRANSFER_FUNCTIONS.get(statement.__class__)
        result = None if find is None else find(self, statement)
        if result is not None:
            self.known[statement] = result

    def record_call(self, call: Call) -> None:
        """Record the intervals of the arguments of a call."""
        for parameter, argument in zip(call.function.parameters, call.arguments, strict=True):
            interval = None if parameter.by_reference else self.of(argument)
            before = self.arguments.get(parameter, interval)
            self.arguments[parameter] = None if interval is None or before is None else hull(before, interval)

    def record_store(self, store: LocalStore) -> None:
        """Record the interval of the variable that a statement stores to."""
        variable, result = base_pointer(store.pointer), self.of(store.value)
        if result is not None and isinstance(variable, Alloca):  # zero-initialized, unlike a reference
            self.stores[variable] = hull(self.stores.get(variable, (0, 0)), result)

    def in_loop(self, loop: RangeFor) -> list[Fact]:
        """Return the facts inside a loop body, which runs only if there is an iteration."""
        result: list[Fact] = []
        for axis, bounds in enumerate(zip(loop.starts, loop.ends, loop.steps, strict=True)):
            begin, end, step = (self.resolve(bound) for bound in bounds)
            first, last = self.of(begin), self.of(end)
            by = self.of(step)
            if first is None or last is None or by is None or by[0] <= 0 <= by[1]:
                continue
            if begin.type != i32 or end.type != i32:  # wider bounds are truncated, and may become negative
                continue
            is_up = by[0] > 0
            (low, lows), (high, highs) = ((begin, first), (end, last)) if is_up else ((end, last), (begin, first))
            inside = (lows[0], highs[1] - 1) if is_up else (lows[0] + 1, highs[1])
            if is_up and lows[0] == lows[1] and by[0] == by[1]:
                inside = inside[0], inside[1] - (inside[1] - inside[0]) % by[0]
            result += [
                (LoopIndex(loop, axis, type=i32), inside),
                (low, (lows[0], highs[1] - 1)),
                (high, (lows[0] + 1, highs[1])),
            ]
        return result

    def implied_by(self, condition: Statement, is_true: bool) -> Iterator[Fact]:
        """Yield the facts about the operands of a condition that is true, or false."""
        match condition:
            case Operation(op="logical_not", operands=[inner]):
                yield from self.implied_by(inner, not is_true)
            case Operation(op="logical_and" | "logical_or" as op, operands=[a, b]) if is_true == (op == "logical_and"):
                yield from self.implied_by(a, is_true)
                yield from self.implied_by(b, is_true)
            case IfExp(condition=first, then=then, otherwise=otherwise):
                last, other = (then, otherwise) if is_true else (otherwise, then)
                if last.result is not None and other.result is not None and is_const(other.result, not is_true):
                    yield from self.implied_by(first, is_true)
                    yield from self.implied_by(last.result, is_true)
            case Operation(op=op, operands=[a, b]) if op in NEGATED:
                yield from self._compared(op if is_true else NEGATED[op], a, b)

    def _compared(self, op: str, a: Statement, b: Statement) -> Iterator[Fact]:
        low, high = self.of(a), self.of(b)
        if low is None or high is None or not isinstance(a.type, Scalar) or not isinstance(b.type, Scalar):
            return
        match op:
            case "lt" | "le":
                strict = op == "lt"
                yield a, (low[0], high[1] - strict)
                yield b, (low[0] + strict, high[1])
            case "gt" | "ge":
                yield from self._compared("lt" if op == "gt" else "le", b, a)
            case "eq":
                yield a, high
                yield b, low
            case "ne":
                yield a, _without(low, high)
                yield b, _without(high, low)


def stored_ranges(kernel: Kernel) -> dict[Statement, Interval]:
    """Return the variables of a kernel whose stores are all known, with the hull of the stored values."""
    statements = list(kernel.statements())
    if not any(s.__class__ is Alloca and _has_integers(s.type) for s in statements):
        return {}
    walk_of_stores = ValueRanges({})
    walk_of_stores.run(kernel)
    escaped = _escaped(statements)
    return {variable: result for variable, result in walk_of_stores.stores.items() if variable not in escaped}


def _escaped(statements: Sequence[Statement]) -> set[Statement]:
    """Return the variables that are accessed by more than loads and stores."""
    accesses = (LocalStore, LocalLoad, MatrixPtr)
    others = [s for s in statements if s.__class__ not in accesses]
    return {base_pointer(o) for s in others for o in operands(s) if o.__class__ in (Alloca, MatrixPtr)}


def _has_integers(kind: Type | None) -> bool:
    return isinstance(kind, (Scalar, Tensor)) and element_of(kind).kind != "float"


def _without(interval: Interval, other: Interval) -> Interval:
    """Return an interval without the single number of another, if that is one of its ends."""
    if other[0] != other[1]:
        return interval
    return interval[0] + (interval[0] == other[0]), interval[1] - (interval[1] == other[0])


def _of_steps(index: Statement, interval: Interval) -> Interval:
    """Return an interval whose end the index of a loop reaches: 48, not 63, by steps of 16 from 0."""
    assert isinstance(index, LoopIndex)
    if not isinstance(index.loop, RangeFor):
        return interval
    start, step = index.loop.starts[index.axis], index.loop.steps[index.axis]
    if not (isinstance(start, Const) and isinstance(step, Const)) or step.value <= 1 or interval[1] < start.value:
        return interval
    return interval[0], interval[1] - int(interval[1] - start.value) % int(step.value)


def _exits(statement: Statement) -> bool:
    return isinstance(statement, (Break, Continue, Return))


def same_value(a: Statement, b: Statement) -> bool:
    """Return whether two statements have the same value wherever both are defined."""
    return bool(_key(a) == _key(b))


def _key(value: Statement) -> Hashable:
    """Return the key of a value in `known`."""
    key_of = KEYS.get(value.__class__)
    return value if key_of is None else key_of(value)


KEYS: dict[type[Statement], Callable[[Any], Hashable]] = {
    ArgLoad: attrgetter("parameter"),
    ArrayShape: attrgetter("array", "axis"),
    LoopIndex: attrgetter("loop", "axis"),
}
"""Keys in `known` of values of which several statements may read one: arguments, extents and indices."""


def _default_interval(value: Statement) -> Interval | None:
    """Return the interval of a value from its class and type alone."""
    if value.type is None or isinstance(value.type, Struct):
        return None
    if isinstance(value, (ArrayShape, Length)):
        return (1 if isinstance(value, ArrayShape) and isinstance(value.array, Texture) else 0), I32_MAX
    return whole(element_of(value.type))


# --- transfer functions -----------------------------------------------------------------------------------------------


def _const(walk: ValueRanges, const: Statement) -> Interval | None:
    assert isinstance(const, Const)
    is_integer = isinstance(const.type, Scalar) and const.type.is_integral
    return (int(const.value), int(const.value)) if is_integer else None


def _operation(walk: ValueRanges, operation: Statement) -> Interval | None:
    assert isinstance(operation, Operation)
    intervals = [interval for operand in operation.operands if (interval := walk.of(operand)) is not None]
    if operation.type is None or len(intervals) < len(operation.operands):
        return None
    first = operation.operands[-1 if operation.op == "select" else 0].type
    assert first is not None
    return interval_of(operation.op, element_of(first), intervals, element_of(operation.type))


def _cast(walk: ValueRanges, conversion: Statement) -> Interval | None:
    assert isinstance(conversion, Cast) and conversion.type is not None
    value = walk.of(conversion.value)
    if value is None or (conversion.bits and value[0] < 0):
        return None
    return cast(value, element_of(conversion.type))


def _elements(walk: ValueRanges, value: Statement) -> Interval | None:
    """Return the interval of all elements of a tensor, or items of a local array."""
    assert isinstance(value, (MatrixInit, ListInit))
    first, *others = value.elements if isinstance(value, MatrixInit) else value.items
    result = walk.of(first)
    for element in others:
        other = walk.of(element)
        result = None if result is None or other is None else hull(result, other)
    return result


def _matrix_element(walk: ValueRanges, element: Statement) -> Interval | None:
    assert isinstance(element, MatrixElement)
    return walk.of(element.value)


def _list_item(walk: ValueRanges, item: Statement) -> Interval | None:
    assert isinstance(item, ListItem)
    return walk.of(item.origin)


def _if_expression(walk: ValueRanges, choice: Statement) -> Interval | None:
    assert isinstance(choice, IfExp)
    a, b = walk.results.get(choice.then), walk.results.get(choice.otherwise)
    return None if a is None or b is None else hull(a, b)


def _local_load(walk: ValueRanges, load: Statement) -> Interval | None:
    assert isinstance(load, LocalLoad)
    return None if walk.variables is None else walk.variables.get(base_pointer(load.pointer))


def _cell_index(walk: ValueRanges, index: Statement) -> Interval | None:
    assert isinstance(index, CellIndex)
    array = index.loop.cells
    if array is None or array.shape is None:
        return None
    lower_bound = array.offset[index.axis] if array.offset else 0
    return lower_bound, lower_bound + array.shape[index.axis] - 1


def _thread_index(walk: ValueRanges, thread: Statement) -> Interval | None:
    assert isinstance(thread, ThreadIndex)
    of_block = 0, walk.block_dim - 1
    known = {"thread": of_block, "lane": of_block, "size": (1, I32_MAX), "global": (0, walk.last)}
    return known.get(thread.kind)


TRANSFER_FUNCTIONS: dict[type[Statement], Callable[[ValueRanges, Statement], Interval | None]] = {
    Const: _const,
    Operation: _operation,
    Cast: _cast,
    MatrixInit: _elements,
    ListInit: _elements,
    ListItem: _list_item,
    MatrixElement: _matrix_element,
    IfExp: _if_expression,
    LocalLoad: _local_load,
    CellIndex: _cell_index,
    ThreadIndex: _thread_index,
}

RECORDERS: dict[type[Statement], Recorder] = {**dict.fromkeys(TRANSFER_FUNCTIONS, ValueRanges.record)}
RECORDERS[Call] = ValueRanges.record_call
RECORDERS_OF_STORES: dict[type[Statement], Recorder] = {**RECORDERS, LocalStore: ValueRanges.record_store}
"""What a walk does after each statement; that of `stored_ranges` also after each store."""
