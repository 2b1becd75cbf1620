"""The loop over elements of a gradient that sums what another loop adds to them.

In: a parallel loop, and additions of it whose indices are solved. Out: `Built`: the statements of the new loop, each
iteration of which runs those of the other one again that add to its element.
"""

from __future__ import annotations

import copy

from ....errors import NOWHERE, SourceLocation
from ....ir.builder import Builder
from ....ir.functions import Call
from ....ir.nodes import Block, Effect, Statement, blocks, walk, walk_inside
from ....ir.origins import extent_of
from ....ir.statements import (
    Alloca,
    Array,
    ArrayShape,
    AtomicOp,
    Cast,
    Const,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    If,
    LocalStore,
    LoopIndex,
    MatrixPtr,
    Operation,
    RangeFor,
    StructFor,
    While,
    base_pointer,
)
from ....ir.types import i32
from ....lazy_dataclasses import dataclass
from ...analysis.linear import Index, Linear, Reader, emit_again
from ...analysis.queries import conjuncts
from ...derivatives.parts.prune import prune
from .inverted_indices import Gathering, Source

Interval = tuple[Linear, Linear]
"""The first value of an index, and the one after the last."""


@dataclass(eq=False, slots=True)
class Built:
    """A loop.

    loads: the statements of the other loop that load an array and that it runs again. repeated: the loops and calls of
    it that each of these iterations runs again.
    """

    statements: list[Statement]
    loads: set[Statement]
    sources: int
    repeated: set[Statement]

    def is_longer_than(self, count: int) -> bool:
        """Return whether it repeats what the other loop does once, in more statements."""
        return self.sources > 1 and sum(1 for _ in walk(Block(self.statements))) > count


class Bounds:
    """The bounds of the indices of a parallel loop, and of the serial loops in it."""

    def __init__(self, loop: RangeFor | StructFor, reader: Reader) -> None:
        self.loop = loop
        self.reader = reader
        self.known: dict[Index, Interval] = {}

    def of(self, index: Index) -> Interval | None:
        """Return the bounds of an index, None if they differ from iteration to iteration."""
        if index in self.known:
            return self.known[index]
        loop, axis = index
        if isinstance(loop, StructFor):
            return self.of_array(loop.array, axis)
        assert isinstance(loop, RangeFor)
        start, end = self.reader.read(loop.starts[axis]), self.reader.read(loop.ends[axis])
        if start is None or end is None or start.indices or end.indices:
            return None
        return start, end

    def emit(self, builder: Builder, index: Index, number: int) -> Statement:
        """Emit a bound of an index, with the syntax of Python."""
        loop, axis = index
        bounds = self.of(index)
        assert bounds is not None
        if isinstance(loop, RangeFor) and index not in self.known:
            return emit_again(builder, (loop.starts, loop.ends)[number][axis])
        made = bounds[number].emit(builder, {})
        if isinstance(loop, StructFor) and isinstance(made, Const) and number and not loop.array.offset:
            made.origin = extent_of(loop.array, axis)
        return made

    def of_array(self, array: Array, axis: int) -> Interval:
        """Return the bounds of the indices of an array."""
        if not array.ndim:
            return Linear(), Linear(constant=1)
        start = array.offset[axis] if array.offset else 0
        if array.shape is not None:
            return Linear(constant=start), Linear(constant=start + array.shape[axis])
        extent = ArrayShape(self.reader.primal.get(array, array), axis, type=i32)
        return Linear(), Linear(values={self.reader.key(extent): (1, extent)})

    def range_of(self, value: Linear) -> Interval | None:
        """Return the bounds of a sum of indices."""
        low = high = Linear(values=value.values, constant=value.constant)
        for index, count in value.indices.items():
            bounds = self.of(index)
            if bounds is None:
                return None
            ends = bounds[0], bounds[1].shifted(-1)
            low, high = low.plus(ends[count < 0], count), high.plus(ends[count > 0], count)
        return low, high.shifted(1)


def is_at_most(one: Linear, other: Linear) -> bool:
    """Return whether a sum is at most another one, as far as their difference is a number."""
    difference = one.plus(other, -1).number
    return difference is not None and difference <= 0


class GatheringLoop:
    """Makes the loop of one gathering."""

    def __init__(
        self, loop: RangeFor | StructFor, gathering: Gathering, bounds: Bounds, primal: dict[Array, Array]
    ) -> None:
        self.loop, self.gathering, self.bounds = loop, gathering, bounds
        self.before = Builder(Block())
        self.before.location = self.location = derivative_of(loop.location)
        self.primal = primal
        self.loads: set[Statement] = set()
        self.repeated: set[Statement] = set()

    def build(self) -> Built | None:
        """Return the loop, None if the iterations of a serial loop depend on one another."""
        array, axes = self.gathering.array, self.gathering.axes
        made, is_whole = self._loop()
        builder = Builder(made.body, self.location)
        for number, axis in enumerate(axes):
            self.bounds.known[made, number] = self.bounds.of_array(array, axis) if is_whole else self.domain[number]
        indices: dict[int, Statement] = {}
        for axis in range(array.ndim):
            if axis in axes:
                number = axes.index(axis)
                indices[axis] = builder.add(LoopIndex(made, number, type=i32, name=made.names[number]))
            else:
                indices[axis] = self.gathering.fixed[axis].emit(builder, {})
        element = GlobalPtr(array, list(indices.values()), type=array.element)
        total = None if self._adds_once() else Alloca(type=array.element, hint=f"{self._name(array)}_adj")
        builder.add(element if total is None else total)
        for source in self.gathering.sources.values():
            if not _Iteration(self, source, made, element, total).emit(builder):
                return None
        if total is not None:
            builder.location = self.location
            builder.add(element)
            builder.atomic("add", element, builder.load(total))
        self.before.add(made)
        return Built(self.before.block.statements, self.loads, len(self.gathering.sources), self.repeated)

    def _adds_once(self) -> bool:
        """Return whether an iteration adds one value at most."""
        additions = self.gathering.additions()
        first = next(iter(self.gathering.sources.values()))
        in_loop = any(not isinstance(outer, If) for outer, _ in additions[0].path)
        return len(additions) == 1 and not first.free and not in_loop

    def _name(self, array: Array) -> str:
        primal = self.primal.get(array)
        return array.name if primal is None else primal.name

    def _loop(self) -> tuple[RangeFor | StructFor, bool]:
        """Return the loop without statements, and whether it is over all elements of the array."""
        array, axes = self.gathering.array, self.gathering.axes
        names = self._names()
        self.domain = [self._domain(axis) for axis in axes]
        whole = [self.bounds.of_array(array, axis) for axis in axes]
        is_whole = len(axes) == array.ndim and all(
            a.key == b.key for one, other in zip(self.domain, whole) for a, b in zip(one, other)
        )
        location, parallelize = self.location, self.loop.parallelize
        if is_whole:
            over = array if array.shape is not None else self.primal.get(array, array)
            return StructFor(over, names, parallelize=parallelize, location=location), True
        starts, ends = ([bound[k].emit(self.before, {}) for bound in self.domain] for k in (0, 1))
        for axis, end in zip(axes, ends):
            if (
                isinstance(end, Const)
                and array.shape is not None
                and not array.offset
                and end.value == array.shape[axis]
            ):
                end.origin = extent_of(array, axis)
        steps: list[Statement] = [self.before.const(1) for _ in axes]
        return RangeFor(starts, ends, steps, names, parallelize=parallelize, location=location), False

    def _names(self) -> list[str]:
        first = next(iter(self.gathering.sources.values()))
        names: list[str] = []
        for axis in self.gathering.axes:
            name = name_of(first.solved[axis])
            names.append(f"{name}_{axis}" if name in names else name)
        return names

    def _domain(self, axis: int) -> Interval:
        """Return the bounds of the elements along an axis that the other loop adds to."""
        start, end = self.bounds.of_array(self.gathering.array, axis)
        ranges = [self.bounds.range_of(source.sums[axis]) for source in self.gathering.sources.values()]
        known = [each for each in ranges if each is not None]
        if len(known) < len(ranges):
            return start, end
        return (
            self._outermost([low for low, _ in known], start, "min", "max"),
            self._outermost([high for _, high in known], end, "max", "min"),
        )

    def _outermost(self, values: list[Linear], limit: Linear, widen: str, clip: str) -> Linear:
        """Return the least (or greatest) of some bounds, but none beyond a limit."""

        def is_beyond(one: Linear, other: Linear) -> bool:
            return is_at_most(one, other) if widen == "min" else is_at_most(other, one)

        if any(is_beyond(value, limit) for value in values):
            return limit
        found = [values[0]]
        for value in values[1:]:
            if any(is_beyond(known, value) for known in found):
                continue
            found = [*(known for known in found if not is_beyond(value, known)), value]
        total = self._combined(found, widen)
        if total.plus(limit, -1).number is not None:
            return total
        return self._combined([total, limit], clip)

    def _combined(self, values: list[Linear], op: str) -> Linear:
        if len(values) == 1:
            return values[0]
        made = [value.emit(self.before, {}) for value in values]
        result = made[0]
        for value in made[1:]:
            result = self.before.op(op, result, value)
        return Linear(values={result: (1, result)})


class _Iteration:
    """Emits, into an iteration of a gathering, the iterations of the other loop that add by the same indices."""

    def __init__(
        self,
        outer: GatheringLoop,
        source: Source,
        made: RangeFor | StructFor,
        element: GlobalPtr,
        total: Alloca | None,
    ) -> None:
        self.outer, self.source, self.made, self.element, self.total = outer, source, made, element, total
        self.loop, self.bounds = outer.loop, outer.bounds
        self.values: dict[Index, Statement] = {}
        self.sums: dict[Index, Linear] = {}
        self.copies: dict[Statement, Statement] = {}
        self.hoisted = {loop for loop, _ in (*source.free, *source.solved.values()) if loop is not self.loop}
        self.additions = {access.statement for access in source.additions}

    def emit(self, builder: Builder) -> bool:
        """Emit it; return False if the iterations of a serial loop depend on one another."""
        outer_block = builder.block
        builder.location = self.outer.location
        for axis in range(len(self.outer.gathering.axes)):
            own = LoopIndex(self.made, axis, type=i32, name=self.made.names[axis])
            self.values[self.made, axis] = builder.add(own)
        for index in self.source.free:
            self._free_loop(builder, index)
        if not self._solve(builder):
            return False
        copied = self._copied(self.loop.body)
        prune(copied)
        live = set(walk(copied))
        originals = {original for original, made in self.copies.items() if made in live}
        if any(self._is_carried(loop, originals) for loop in self.hoisted):
            return False
        self.outer.loads |= {s for s in originals if isinstance(s, GlobalLoad)}
        if self.source.free or self.hoisted or len(self.outer.gathering.sources) > 1:
            around = {outer for addition in self.source.additions for outer, _ in addition.path}
            self.outer.repeated |= {s for s in originals - around if isinstance(s, (RangeFor, While, Call))}
        if self.total is not None:
            self._sum_up(copied)
        condition = self._guard(builder, copied)
        if condition is None:
            builder.block.statements += copied.statements
        else:
            builder.add(If(condition, copied))
        builder.block = outer_block
        return True

    def _free_loop(self, builder: Builder, index: Index) -> None:
        """Emit a serial loop over an index, and go on in it."""
        loop, axis = index
        bounds = self.bounds.of(index)
        assert bounds is not None
        start, end = (self.bounds.emit(builder, index, number) for number in (0, 1))
        unroll = isinstance(loop, RangeFor) and loop is not self.loop and loop.unroll
        made = RangeFor([start], [end], [builder.const(1)], [name_of(index)], serialize=True, unroll=unroll)
        made.location = derivative_of(loop.location)
        builder.add(made)
        builder.block = made.body
        self.values[index] = builder.add(LoopIndex(made, type=i32, name=name_of(index)))

    def _solve(self, builder: Builder) -> bool:
        """Emit the values of the indices that are solved for."""
        pending = dict(self.source.solved)
        while pending:
            axis = next((a for a, i in pending.items() if set(self._rest(a, i).indices) <= set(self.values)), None)
            if axis is None:
                return False
            index = pending.pop(axis)
            number = self.outer.gathering.axes.index(axis)
            factor = self.source.sums[axis].indices[index]
            element = Linear({(self.made, number): 1}).plus(self._rest(axis, index), -1)
            self.sums[index] = Linear().plus(element, factor)
            value = self.sums[index].emit(builder, self.values)
            if value.name is None and not isinstance(value, Const):
                value.hint = name_of(index)
            self.values[index] = value
        return True

    def _rest(self, axis: int, index: Index) -> Linear:
        whole = self.source.sums[axis]
        return whole.plus(Linear({index: whole.indices[index]}), -1)

    # --- what an iteration adds

    def _copied(self, block: Block) -> Block:
        """Return the statements of a block for the values of the indices, without those that write memory."""
        builder = Builder(Block())
        for statement in block.statements:
            builder.location = statement.location
            if statement in self.hoisted:
                assert isinstance(statement, RangeFor)
                self._hoisted(builder, statement)
            elif isinstance(statement, LoopIndex) and (statement.loop, statement.axis) in self.values:
                self.copies[statement] = self.values[statement.loop, statement.axis]
            elif statement in self.additions:
                assert isinstance(statement, AtomicOp)
                pointer = self._pointer(builder, statement.pointer)
                builder.atomic(statement.op, pointer, self.copies.get(statement.value, statement.value))
            elif not _writes_memory(statement):
                self._copy(builder, statement)
        if block.result is not None:
            builder.block.result = self.copies.get(block.result, block.result)
        return builder.block

    def _hoisted(self, builder: Builder, loop: RangeFor) -> None:
        """Emit the one iteration of a serial loop in which its index has its value."""
        body = self._copied(loop.body)
        index = loop, 0
        if self.bounds.of(index) is not None:
            builder.block.statements += body.statements
            return
        start, end = (self.copies.get(bound, bound) for bound in (loop.starts[0], loop.ends[0]))
        value = self.values[index]
        within = builder.op("logical_and", builder.op("le", start, value), builder.op("lt", value, end))
        builder.add(If(within, body))

    def _copy(self, builder: Builder, statement: Statement) -> None:
        shorter = self._shorter_sum(statement)
        if shorter is not None:
            self.copies[statement] = shorter.emit(builder, self.values)
            return
        copied = copy.copy(statement)
        copied.remarks = ()
        if copied.name and isinstance(copied, (Operation, Cast, GlobalLoad)):  # a variable only where one is needed
            copied.name, copied.hint = None, copied.name
        self.copies[statement] = copied
        for attribute in statement.OPERANDS:
            value = getattr(statement, attribute)
            if isinstance(value, list):
                setattr(copied, attribute, [self.copies.get(v, v) for v in value])
            elif value is not None:
                setattr(copied, attribute, self.copies.get(value, value))
        if isinstance(copied, LoopIndex):
            copied.loop = self.copies.get(copied.loop, copied.loop)  # type: ignore[assignment]
        for attribute in statement.BLOCKS:
            inner = getattr(statement, attribute)
            if inner is not None:
                setattr(copied, attribute, self._copied(inner))
        builder.add(copied)

    def _shorter_sum(self, statement: Statement) -> Linear | None:
        """Return an index as a sum if terms cancel out: `i + d` of the iteration `a - d` is `a`."""
        own = self.bounds.reader.read(statement) if isinstance(statement, Operation) else None
        if own is None or not own.indices.keys() <= self.values.keys():
            return None
        total = Linear(values=own.values, constant=own.constant)
        terms = 0
        for index, factor in own.indices.items():
            value = self.sums.get(index, Linear({index: 1}))
            terms += len(value.indices) + len(value.values)
            total = total.plus(value, factor)
        return total if len(total.indices) + len(total.values) < terms + len(own.values) else None

    def _pointer(self, builder: Builder, pointer: Statement) -> Statement:
        """Return the pointer to a part of the element."""
        if not isinstance(pointer, MatrixPtr):
            return self.element
        origin = self._pointer(builder, pointer.origin)
        return builder.element_ptr(origin, [self.copies.get(index, index) for index in pointer.indices])

    def _is_carried(self, loop: Statement, live: set[Statement]) -> bool:
        """Return whether an iteration of a serial loop changes a variable from outside that the sum needs."""
        inside = set(walk_inside(loop))
        for statement in inside & live:
            if isinstance(statement, (LocalStore, AtomicOp)):
                base = base_pointer(statement.pointer)
                if isinstance(base, Alloca) and base not in inside:
                    return True
        return False

    def _sum_up(self, block: Block) -> None:
        """Let the additions go to the variable of the sum."""
        assert self.total is not None
        builder = Builder(Block())
        moved: dict[Statement, Statement] = {self.element: self.total}
        for statement in block.statements:
            for inner in blocks(statement):
                self._sum_up(inner)
            builder.location = statement.location
            if isinstance(statement, MatrixPtr) and statement.origin in moved:
                statement.origin = moved[statement.origin]
                moved[statement] = statement
                builder.add(statement)
            elif isinstance(statement, AtomicOp) and base_pointer(statement.pointer) in (self.element, self.total):
                pointer = moved.get(statement.pointer, statement.pointer)
                sum = builder.op(statement.op, builder.load(pointer), statement.value)
                builder.store(pointer, sum)
            else:
                builder.add(statement)
        block.statements = builder.block.statements

    # --- which iterations there are

    def _guard(self, builder: Builder, copied: Block) -> Statement | None:
        """Emit whether the other loop has the iteration; None if it certainly has it, or does nothing otherwise."""
        implied = self._implied(copied)
        conditions: list[Statement] = []
        for index, value in self.sums.items():
            bounds = self.bounds.of(index)
            if bounds is None:
                continue
            start, end = bounds
            own = self.bounds.range_of(value)
            known = implied.get(index, [])
            if not any(is_at_most(start, low) for low, _ in [*known, *([own] if own else [])] if low is not None):
                conditions.append(builder.op("ge", self.values[index], self.bounds.emit(builder, index, 0)))
            if not any(is_at_most(high, end) for _, high in [*known, *([own] if own else [])] if high is not None):
                conditions.append(builder.op("lt", self.values[index], self.bounds.emit(builder, index, 1)))
        return builder.all_of(conditions)

    def _implied(self, copied: Block) -> dict[Index, list[tuple[Linear | None, Linear | None]]]:
        """Return the bounds that the condition around all loads gives to indices."""
        found: dict[Index, list[tuple[Linear | None, Linear | None]]] = {}
        path = self.source.additions[0].path
        if not path or not isinstance(path[0][0], If) or path[0][1] is not path[0][0].then:
            return found
        branch = self.copies[path[0][0]]
        outside = (s for s in copied.statements if s is not branch)
        if any(isinstance(s, GlobalLoad) for s in walk(Block(list(outside)))):
            return found
        for comparison in conjuncts(path[0][0].condition):
            difference = self._difference(comparison) if isinstance(comparison, Operation) else None
            if difference is not None and len(difference.indices) == 1:
                index, factor = next(iter(difference.indices.items()))
                rest = difference.plus(Linear({index: factor}), -1)
                if factor == 1:  # index + rest <= 0
                    found.setdefault(index, []).append((None, Linear(constant=1).plus(rest, -1)))
                elif factor == -1:  # rest <= index
                    found.setdefault(index, []).append((rest, None))
        return found

    def _difference(self, comparison: Operation) -> Linear | None:
        """Return a sum that is at most 0 if the comparison holds."""
        one, other = (self.bounds.reader.read(operand) for operand in comparison.operands)
        if one is None or other is None or comparison.op not in ("lt", "le", "gt", "ge"):
            return None
        if comparison.op in ("gt", "ge"):
            one, other = other, one
        return one.plus(other, -1).shifted(1 if comparison.op in ("lt", "gt") else 0)


def _writes_memory(statement: Statement) -> bool:
    if isinstance(statement, (GlobalStore, AtomicOp)):
        return not isinstance(base_pointer(statement.pointer), Alloca)
    return bool(statement.EFFECT & Effect.WRITE) and not isinstance(statement, LocalStore)


def name_of(index: Index) -> str:
    """Return the name of a loop's index in Python."""
    loop, axis = index
    assert isinstance(loop, (RangeFor, StructFor))
    return loop.names[axis] if axis < len(loop.names) else "k"


def derivative_of(location: SourceLocation) -> SourceLocation:
    """Return the location of what differentiates a statement."""
    return location if location is NOWHERE else location._replace(is_derivative=True)
