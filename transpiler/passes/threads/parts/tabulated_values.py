"""Finds the values of a task that its threads would compute again and again: those that `lookup_tables` tabulates.

In: a task in its final form, and the intervals of its integers. Out: an `Entry` for each value, with the integers that
it depends on (`Axis`), and how many instructions a table saves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from ....ir.constants import constant_range
from ....ir.functions import Call, Function
from ....ir.nodes import Block, Effect, Statement, blocks, operands, users_of, walk
from ....ir.statements import (
    ArgLoad,
    ArrayShape,
    Cast,
    Const,
    GlobalLoad,
    GlobalPtr,
    GlobalTemporary,
    If,
    IfExp,
    LoopIndex,
    MatrixElement,
    MatrixInit,
    MatrixPtr,
    Operation,
    RangeFor,
    StructElement,
    StructPtr,
    While,
    base_pointer,
)
from ....ir.tasks import Kernel, Task
from ....ir.types import Scalar, Tensor, Type, f64, i32
from ....options import MAX_ITERATIONS
from ...analysis.aliasing import MemoryObject, may_alias, underlying_object, written_objects
from ...analysis.intervals import Interval, interval_of, whole
from ...analysis.queries import ends_loop, is_index_of, trip_count
from ...analysis.speculation import DIVISIONS, is_total
from ...analysis.value_ranges import RECORDERS, ValueRanges, stored_ranges

GROUPS = {
    8: "div sqrt rsqrt normal_sqrt normal_rsqrt normal_reciprocal", 12: "exp exp2 exp10 norm",
    14: "log paired_sin paired_cos", 20: "short_sin short_cos normalized", 25: "asin acos tanh short_atan2",
    40: "sin cos tan atan2 asinh acosh atanh pow",
}  # fmt: skip
COSTS = {op: cost for cost, ops in GROUPS.items() for op in ops.split()}
"""Instructions of f32 operations that take many; special function units count as eight."""
OF_F64, OF_OTHERS = 4, 1
"""By what the instructions of f64 operations are multiplied, and those of an operation that is not listed."""
OF_INTEGER_DIVISION = 16
LOAD, BARRIER = 4, 64
"""Instructions that a load from shared memory takes the place of, and a barrier."""
FEWEST_RUNS, FEWEST_OF_THREADS = 32, 8
"""Compilers unroll shorter loops, and compute equal values of their iterations once; that depends on the thread,
only seldom."""
UNKNOWN_TRIPS = 4
FEWEST_ENTRIES, MOST_ENTRIES = 16, 1024
"""How many a table has. Compilers compute fewer values before the loops around."""
MOST_INDEX = MAX_ITERATIONS - (1 << 10)
"""The greatest integer: the threads of a block count further."""
PURE = (Operation, Cast, MatrixElement, MatrixInit, StructElement)


@dataclass(frozen=True, slots=True)
class Axis:
    """An integer along which a table has an entry for each value.

    value: the integer, or the loop whose index it is along its axis `along`. low, end: the bounds of that loop, if they
    are constants of the program.
    """

    value: Statement
    along: int
    name: str
    interval: Interval
    low: Const | None = None
    end: Const | None = None

    @property
    def extent(self) -> int:
        """How many values there are."""
        return self.interval[1] - self.interval[0] + 1


@dataclass(eq=False, slots=True)
class Entry:
    """A value for which there may be a table. block: that it is in. gain: instructions that a thread has less."""

    value: Statement
    block: Block
    axes: tuple[Axis, ...]
    gain: float

    @property
    def size_bytes(self) -> int:
        """The bytes of the table."""
        assert self.value.type is not None
        return self.value.type.size_bytes * prod(axis.extent for axis in self.axes)


def tabulated(task: Task, intervals: Mapping[Statement, Interval]) -> list[Entry]:
    """Return the values of a task for which tables are worth it, those that save most first."""
    return _Finder(task, intervals).entries()


def may_have_tables(task: Task) -> bool:
    """Return whether a serial loop of a task has an operation that takes many instructions."""
    loops = [s for s in walk(task.body) if isinstance(s, RangeFor)]
    return any(cost_of(s) >= 2 * LOAD for loop in loops for s in walk(loop.body))


def intervals_of(kernel: Kernel) -> dict[Statement, Interval]:
    """Return the intervals of all integers of a kernel where they are computed."""
    ranges = _Ranges(stored_ranges(kernel))
    ranges.run(kernel)
    return ranges.found


class _Ranges(ValueRanges):
    """Intervals of all integers where they are computed."""

    def __init__(self, variables: Mapping[Statement, Interval]) -> None:
        super().__init__({}, variables)
        self.found: dict[Statement, Interval] = {}
        self.recorders = {**RECORDERS, **dict.fromkeys((*RECORDERS, LoopIndex), _record)}
        self.recorders[Call] = RECORDERS[Call]


def _record(ranges: _Ranges, statement: Statement) -> None:
    ranges.record(statement)
    interval = ranges.of(statement)
    if interval is not None:
        ranges.found[statement] = interval


def cost_of(statement: Statement, callers: frozenset[Function] = frozenset()) -> float:
    """Return how many instructions a statement takes about, those of a function that calls itself once."""
    if isinstance(statement, Call):
        function = statement.function
        return 0 if function in callers else _cost_of_block(function.body, callers | {function})
    if not isinstance(statement, Operation) or statement.type is None:
        return 0
    kind = statement.type
    element = kind.element if isinstance(kind, Tensor) else kind
    if not isinstance(element, Scalar):
        return 0
    count = kind.size if isinstance(kind, Tensor) else 1
    if element.is_integral and statement.op in DIVISIONS:
        return 1 if isinstance(statement.operands[1], Const) else OF_INTEGER_DIVISION
    cost = COSTS.get(statement.op, OF_OTHERS)
    return count * cost * (OF_F64 if element == f64 else 1)


def _cost_of_block(block: Block, callers: frozenset[Function]) -> float:
    """Return how many instructions a block of a function takes about, with those inside of it."""
    cost = 0.0
    for statement in block:
        inner = sum(_cost_of_block(each, callers) for each in blocks(statement))
        cost += cost_of(statement, callers) + inner * _runs_of(statement)
    return cost


def _runs_of(statement: Statement) -> float:
    """Return how often the blocks of a statement run about."""
    if isinstance(statement, (RangeFor, While)):
        count = trip_count(statement) if isinstance(statement, RangeFor) else None
        runs = UNKNOWN_TRIPS if count is None else count
        return runs * (0.5 if any(map(ends_loop, blocks(statement)[-1])) else 1)
    return 0.5 if isinstance(statement, (If, IfExp)) else 1


@dataclass(slots=True)
class _Finder:
    """Finds the values of a task for which a table is worth it.

    around: the statements with blocks around each one, from the outermost on. block_of: where each one is.
    order: their numbers. axes: of loops. known: the axes of values. spans: the intervals of operations over
    all entries.
    """

    task: Task
    intervals: Mapping[Statement, Interval]
    around: dict[Statement, tuple[Statement, ...]] = field(default_factory=dict)
    block_of: dict[Statement, Block] = field(default_factory=dict)
    order: dict[Statement, int] = field(default_factory=dict)
    axes: dict[tuple[Statement, int], Axis | None] = field(default_factory=dict)
    known: dict[Statement, frozenset[Axis] | None] = field(default_factory=dict)
    spans: dict[Statement, Interval | None] = field(default_factory=dict)
    written: frozenset[MemoryObject] = frozenset()
    aliases: bool = False

    def entries(self) -> list[Entry]:
        """Return the values, those that save most first."""
        self._nest(self.task.body, ())
        self.written = frozenset(written_objects(self.task.body))
        self.aliases = any(map(may_alias, self.written))
        users = users_of(self.around)
        found: list[Entry] = []
        covered: set[Statement] = set()
        for statement in self.around:
            axes = self._axes(statement)
            if axes and self._is_root(statement, users[statement]):
                found += self._entry(statement, axes)
                covered.update(computed_inside(statement))
        for statement in self.around:
            if statement not in covered and cost_of(statement) > 2 * LOAD and self._axes(statement) is None:
                found += self._by_integer(statement)
        return sorted(found, key=lambda entry: -entry.gain)

    def _nest(self, block: Block, around: tuple[Statement, ...]) -> None:
        for statement in block:
            self.around[statement], self.block_of[statement] = around, block
            self.order[statement] = len(self.order)
            for inner in blocks(statement):
                if (
                    self.task.single is None or inner is not self.task.single.block
                ):  # that is a function, and seldom runs
                    self._nest(inner, (*around, statement))

    def _is_root(self, value: Statement, users: Sequence[Statement]) -> bool:
        """Return whether something else than another value of the same kind needs a value."""
        kind = value.type
        if not isinstance(kind, Scalar) or kind.bits < 32 or isinstance(value, (LoopIndex, GlobalLoad)):
            return False
        return any(self._axes(user) is None for user in users)

    def _axes(self, value: Statement) -> frozenset[Axis] | None:
        """Return the axes on which a value depends, none for one that is the same everywhere; None for others."""
        if value in self.known:
            return self.known[value]
        self.known[value] = None  # no value depends on itself
        found = self.known[value] = self._new_axes(value)
        return found

    def _new_axes(self, value: Statement) -> frozenset[Axis] | None:
        match value:
            case Const() | ArgLoad() | ArrayShape():
                return frozenset()
            case LoopIndex(loop=RangeFor() as loop) if loop is not self.task.loop:
                if (loop, value.axis) not in self.axes:
                    self.axes[loop, value.axis] = self._axis_of(loop, value.axis)
                axis = self.axes[loop, value.axis]
                return None if axis is None else frozenset([axis])
            case GlobalLoad(pointer=pointer):
                return self._joined(self._indices_of(pointer)) if self._is_constant(pointer) else None
            case Call(function=function) if value.EFFECT == Effect.NONE and not (function.reads or function.snippets):
                return self._joined(value.arguments) if is_total(function) else None
        if not isinstance(value, PURE) or value.EFFECT != Effect.NONE or not self._may_be_early(value):
            return None
        return self._joined(operands(value))

    def _joined(self, values: Iterable[Statement]) -> frozenset[Axis] | None:
        found: frozenset[Axis] = frozenset()
        for value in values:
            axes = self._axes(value)
            if axes is None:
                return None
            found |= axes
        return found

    def _axis_of(self, loop: RangeFor, along: int) -> Axis | None:
        """Return the axis of an index of a serial loop, None if it may be one of many numbers, or of unknown ones."""
        indices = constant_range(loop, along)
        start, end = loop.starts[along], loop.ends[along]
        name = loop.names[along] if along < len(loop.names) else "index"
        if indices is not None and len(indices) > 0:
            is_plain = indices.step == 1 and isinstance(start, Const) and isinstance(end, Const)
            low, high = (start, end) if is_plain else (None, None)
            found = Axis(loop, along, name, (min(indices), max(indices)), low, high)  # type: ignore[arg-type]
            return found if found.extent <= MOST_ENTRIES else None
        numbers = [self.intervals.get(s) for s in self.around if is_index_of(s, loop) and s.axis == along]
        known = [interval for interval in numbers if interval is not None]
        if not known or len(known) < len(numbers):
            return None
        found = Axis(loop, along, name, (min(low for low, _ in known), max(high for _, high in known)))
        return found if found.extent <= MOST_ENTRIES else None

    def _is_constant(self, pointer: Statement) -> bool:
        """Return whether an element surely exists, and no iteration changes it."""
        base, target = base_pointer(pointer), underlying_object(pointer)
        if target is None or target in self.written:
            return False
        if isinstance(base, GlobalTemporary):
            return True
        if not isinstance(base, GlobalPtr) or (base.array.may_alias and self.aliases):
            return False
        array = base.array
        is_plain = base.cell is None and not base.is_flat and base.lanes == 1 and not base.by_word
        if not is_plain or array.shape is None or array.is_shared or array.clamped or array.place is not None:
            return False
        first = array.offset or (0,) * array.ndim
        if not all(map(self._is_inside, base.indices, first, array.shape)):
            return False
        while isinstance(pointer, (MatrixPtr, StructPtr)):
            kind = pointer.origin.type
            if isinstance(pointer, MatrixPtr) and not self._are_inside(pointer.indices, kind):
                return False
            pointer = pointer.origin
        return True

    def _are_inside(self, indices: Sequence[Statement], kind: Type | None) -> bool:
        """Return whether indices are of an element of a matrix."""
        return all(isinstance(index, Const) for index in indices) or (
            isinstance(kind, Tensor) and all(self._is_inside(i, 0, n) for i, n in zip(indices, kind.shape, strict=True))
        )

    def _is_inside(self, index: Statement, first: int, extent: int) -> bool:
        interval = self._interval(index)
        return interval is not None and first <= interval[0] and interval[1] < first + extent

    def _interval(self, value: Statement) -> Interval | None:
        """Return the interval of an integer over all entries, also those of iterations that a branch leaves out."""
        kind = value.type
        if isinstance(value, Const):
            return int(value.value), int(value.value)
        if not isinstance(kind, Scalar):
            return None
        if isinstance(value, LoopIndex):
            return next((axis.interval for axis in self._axes(value) or ()), whole(kind))
        if value not in self.spans:
            self.spans[value] = self._interval_of(value, kind) if isinstance(value, Operation) else whole(kind)
        return self.spans[value]

    def _interval_of(self, operation: Operation, kind: Scalar) -> Interval | None:
        first = operation.operands[-1 if operation.op == "select" else 0].type
        intervals = [self._interval(operand) for operand in operation.operands]
        known = [interval for interval in intervals if interval is not None]
        if len(known) < len(intervals) or not isinstance(first, Scalar):
            return whole(kind)
        return interval_of(operation.op, first, known, kind)

    def _indices_of(self, pointer: Statement) -> list[Statement]:
        found: list[Statement] = []
        while not isinstance(pointer, (GlobalPtr, GlobalTemporary)):
            inner = operands(pointer)
            found += inner[1:]
            pointer = inner[0]
        return [*found, *operands(pointer)]

    def _by_integer(self, value: Statement) -> list[Entry]:
        """Return the entry of a value that depends on one integer that few numbers are possible of."""
        best: Axis | None = None
        for inner in computed_inside(value):
            interval = self.intervals.get(inner)
            if inner is value or interval is None or inner.type != i32 or not isinstance(inner, (Operation, LoopIndex)):
                continue
            extent = interval[1] - interval[0] + 1
            if extent > MOST_ENTRIES or (best is not None and extent > best.extent):
                continue
            if self._depends_on(value, inner, {}):
                best = Axis(inner, 0, inner.name or "table", interval)
        return [] if best is None else self._entry(value, (best,))

    def _depends_on(self, value: Statement, integer: Statement, known: dict[Statement, bool]) -> bool:
        """Return whether a value depends on one integer alone that differs from thread to thread."""
        if value is integer or self._axes(value) == frozenset():
            return True
        if value not in known:
            is_pure = isinstance(value, PURE) and value.EFFECT == Effect.NONE and self._may_be_early(value)
            known[value] = is_pure and all(self._depends_on(o, integer, known) for o in operands(value))
        return known[value]

    def _may_be_early(self, value: Statement) -> bool:
        """Return whether a value exists where the program does not ask for it: integers divided by 0 may be a trap."""
        if isinstance(value, MatrixElement):
            return self._are_inside(value.indices, value.value.type)
        if not isinstance(value, Operation) or value.op not in DIVISIONS or not isinstance(value.type, Scalar):
            return True
        divisor = value.operands[1]
        return not value.type.is_integral or (isinstance(divisor, Const) and divisor.value not in (0, -1))

    def _entry(self, value: Statement, axes: Iterable[Axis]) -> list[Entry]:
        """Return the entry of a value, none if a table is not worth it."""
        axes = tuple(sorted(axes, key=lambda axis: (self.order[axis.value], axis.along)))
        kind, extent = value.type, prod(axis.extent for axis in axes)
        if any(max(-axis.interval[0], axis.interval[1]) > MOST_INDEX for axis in axes):
            return []
        if not FEWEST_ENTRIES <= extent <= MOST_ENTRIES or not isinstance(kind, Scalar) or kind.bits < 32:
            return []
        integers = {axis.value for axis in axes}
        values = computed_inside(value, lambda inner: inner in integers or self.known.get(inner) == frozenset())
        cost = sum(map(cost_of, values))
        runs = self._runs(value, axes)
        share = -(-extent // self.task.block_dim)
        gain = runs * (cost - LOAD) - share * (cost + LOAD)
        fewest = FEWEST_RUNS if all(isinstance(axis.value, RangeFor) for axis in axes) else FEWEST_OF_THREADS
        is_worth_it = cost >= 3 * LOAD and runs >= fewest and gain >= BARRIER
        return [Entry(value, self.block_of[value], axes, gain)] if is_worth_it else []

    def _runs(self, value: Statement, axes: Sequence[Axis]) -> float:
        """Return how often a thread computes a value about, if compilers move it out of the loops it does not need."""
        around = self.around[value]
        inner = [k for k, s in enumerate(around) if any(self._needs(axis, s) for axis in axes)]
        runs = 1.0
        for number, statement in enumerate(around):
            if isinstance(statement, (If, IfExp)) or number <= max(inner, default=-1):
                runs *= _runs_of(statement)
        return runs

    def _needs(self, axis: Axis, loop: Statement) -> bool:
        """Return whether an axis changes in a loop."""
        if not isinstance(loop, (RangeFor, While)):
            return False
        return axis.value is loop or (not isinstance(axis.value, RangeFor) and loop in self.around[axis.value])


def computed_inside(value: Statement, leaves_out: Callable[[Statement], bool] | None = None) -> list[Statement]:
    """Return a value and all that it is computed from, but for values that are to be left out."""
    found, pending = {value: None}, [value]
    while pending:
        for operand in operands(pending.pop()):
            if operand not in found and not (leaves_out is not None and leaves_out(operand)):
                found[operand] = None
                pending.append(operand)
    return list(found)
