"""Loop peeling: runs the iterations at the ends of rows by themselves on C, where the others need no bounds.

    for i, j in (0 .. n, 0 .. n) {                     for i, j in (0 .. n, 1 .. n - 1) {
        y[i, j] = x[i, min(j + 1, n - 1)]                  y[i, j] = x[i, j + 1] + x[i, j - 1]
                + x[i, (j - 1) % n]               ->   }
    }                                                  for i, border in (0 .. n, 0 .. 2) {
                                                           j = border if border < 1 else border + n - 2
                                                           y[i, j] = x[i, min(j + 1, n - 1)] + x[i, (j - 1) % n]
                                                       }

A compiler loads such elements one by one, after it has computed each index. Elements at `j + 1` are neighbours: means
of 17 of them, clamped at the ends of rows of 2048 x 2048 floats, took two cores 22 ms before, and 1.5 ms after.

In: a parallel loop whose iterations load elements at bounded indices along their last axis: `min`, `max`, `%`, or a
choice between two indices by a comparison; or which in serial loops load elements under a condition that holds inside
of rows. Out: two tasks. Iterations are independent, so their order does not matter; loops stay that reduce, store to an
array that they read so, or do more than load and store. Bounds are numbers, extents and arguments.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import field

from ...ir.builder import Builder
from ...ir.constants import constant_range
from ...ir.nodes import Block, Effect, Remark, Statement, reads, replace_uses, walk, walk_blocks
from ...ir.statements import (
    ArrayShape,
    Const,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    If,
    IfExp,
    LocalStore,
    LoopIndex,
    Operation,
    RangeFor,
    is_const,
    repeats,
)
from ...ir.tasks import Kernel, Task
from ...ir.types import i32, u1
from ...lazy_dataclasses import dataclass
from ..analysis.aliasing import written_objects
from ..analysis.linear import Index, Linear, Reader
from ..analysis.queries import conjuncts, count_along, is_given, is_index_of, names_of, trip_count
from ..context import PassContext
from ..tasks.parts.copies import copy_of, put_in_place

FEWEST = 1 << 14
"""The fewest iterations that are worth one more task, if their number is known."""
MOST_OF_ROW = 4
"""One of so many iterations of a row may be at its ends; all of shorter rows are."""
WIDEST = 64
"""The most iterations at an end of a row, if their number is not known."""
FARTHEST = 1 << 20
"""The largest number that is added to an extent: the sum does not wrap if it is inside the row."""
COMPARISONS = {"lt": (-1, 1, -1), "le": (-1, 1, 0), "gt": (1, -1, -1), "ge": (1, -1, 0)}
"""A comparison is true where this sum is not negative: so many times the operands, and a number."""


@dataclass(slots=True)
class Borders:
    """What iterations need no bounds.

    Attributes:
        before, behind: how many iterations at the ends of a row need some.
        most: further indices up to which none is needed: extents less numbers, by extent.
        simpler: what a bounded index is there, a sum, and a comparison, its result.
    """

    before: int = 0
    behind: int = 0
    most: dict[Hashable, Linear] = field(default_factory=dict)
    simpler: dict[Statement, Linear | bool] = field(default_factory=dict)


def peel_borders(kernel: Kernel, context: PassContext) -> bool:
    """Split the loops of C whose inner iterations need no bounds on indices."""
    if not context.capabilities.vectorizes_loops:
        return False
    changed = False
    for task in list(kernel.tasks):
        if task.loop is not None and _may_be_split(task, task.loop):
            borders = _Search(task, task.loop).run()
            if borders is not None:
                _split(kernel, task, borders)
                changed = True
    return changed


def _may_be_split(task: Task, loop: RangeFor) -> bool:
    """Return whether the order of the iterations does not matter, and all tasks can compute their bounds."""
    if not task.is_plain or task.tile or loop.cells is not None:
        return False
    if loop.order or not is_const(loop.steps[-1], 1) or loop.ends[-1].type != i32:
        return False
    if not isinstance(loop.starts[-1], Const) or not is_given(loop.ends[-1]) or (trip_count(loop) or FEWEST) < FEWEST:
        return False
    stores = (GlobalStore, LocalStore)
    return not any(s.EFFECT & ~Effect.READ and not s.BLOCKS and not isinstance(s, stores) for s in walk(task.body))


# --- which iterations need no bounds ----------------------------------------------------------------------------------


class _Search(Reader):
    """Finds the bounds on indices along the last axis of a loop."""

    def __init__(self, task: Task, loop: RangeFor) -> None:
        super().__init__({loop, *walk(task.body)}, {}, scales=True)
        self.task, self.loop = task, loop
        self.axis = loop, len(loop.starts) - 1
        self.borders = Borders()
        start, end, count = self.read(loop.starts[-1]), self.read(loop.ends[-1]), count_along(loop, -1)
        assert start is not None and end is not None
        self.start, self.last = start, end.shifted(-1)
        self.widest = WIDEST if count is None else count // MOST_OF_ROW // 2
        self.middle = None if count is None or start.number is None else start.number + count // 2

    def run(self) -> Borders | None:
        """Return the bounds, None if no load needs any."""
        for statement in walk(self.task.body):
            if isinstance(statement, Operation) and len(statement.operands) == 2:
                self._bound(statement)
        return self.borders if self._are_for_loads() else None

    def _are_for_loads(self) -> bool:
        """Return whether loads are at bounded indices, or guarded, of arrays that the iterations do not store to."""
        simpler = self.borders.simpler
        chosen = {s for s, value in simpler.items() if not isinstance(value, bool)}
        written, found = written_objects(self.task.body), False
        for statement in walk(self.task.body):
            if any(value in chosen for value in reads(statement)) or _condition_of(statement) in simpler:
                chosen.add(statement)
            if isinstance(statement, GlobalLoad) and statement.pointer in chosen:
                pointer = statement.pointer
                if not isinstance(pointer, GlobalPtr) or pointer.array in written:
                    return False
                found |= bool(pointer.indices) and pointer.indices[-1] in chosen
        guarded = [load.pointer for load in self._guarded_loads()]
        if any(isinstance(pointer, GlobalPtr) and pointer.array in written for pointer in guarded):
            return False
        return found or any(isinstance(pointer, GlobalPtr) and self._is_along(pointer) for pointer in guarded)

    def _guarded_loads(self) -> list[GlobalLoad]:
        """Return the loads in serial loops under conditions that hold where no bounds are needed."""
        serial = [s for s in walk(self.task.body) if isinstance(s, RangeFor) and repeats(s)]
        branches = {s for each in serial for s in walk(each.body) if isinstance(s, If)}
        simpler = self.borders.simpler
        guards = [s for s in branches if any(simpler.get(part) is True for part in conjuncts(s.condition))]
        return [s for guard in guards for s in walk(guard.then) if isinstance(s, GlobalLoad)]

    def _is_along(self, pointer: GlobalPtr) -> bool:
        """Return whether the last index of an element contains the index along the row."""
        last = self.read(pointer.indices[-1]) if pointer.indices else None
        return last is not None and self._factor(last) != 0

    def read(self, value: Statement) -> Linear | None:
        """Return a value as a sum, of a bounded index what it is without bounds."""
        simpler = self.borders.simpler.get(value)
        return simpler if isinstance(simpler, Linear) else super().read(value)

    def _is_exact(self, total: Linear) -> bool:
        """Return whether a sum does not wrap: of indices, numbers, and extents, which are at most 2^30 here."""
        values = total.values
        is_plain = all(abs(count) == 1 and self._is_extent(key, value) for key, (count, value) in values.items())
        lowest, highest = self._range(total)
        return is_plain and lowest > -FARTHEST and highest < (FARTHEST if values else 1 << 31)

    def _is_extent(self, key: Hashable, value: Statement) -> bool:
        """Return whether a value is an extent of an array, or the end of the loop: at least as much as the index."""
        return isinstance(value, ArrayShape) or key in self.last.values

    def _range(self, total: Linear) -> tuple[int, int]:
        """Return limits of a sum without extents, far ones if they are not known."""
        lowest = highest = total.constant
        for index, count in total.indices.items():
            indices = _indices_of(index)
            if indices is None and index == self.axis and abs(count) == 1:
                continue  # less than an extent
            if not indices:
                return -FARTHEST, 1 << 31
            ends = (count * indices[0], count * indices[-1])
            lowest, highest = lowest + min(ends), highest + max(ends)
        return lowest, highest

    def _factor(self, total: Linear) -> int:
        """Return how often a sum contains the index of the row."""
        return total.indices.get(self.axis, 0)

    def _bound(self, operation: Operation) -> None:
        """Record what is simpler without bounds, and where it is so."""
        first, second = (self.read(operand) for operand in operation.operands)
        if first is None or second is None or self._factor(first) == self._factor(second):
            return
        if not self._is_exact(first) or not self._is_exact(second):
            return
        if operation.op in ("min", "max"):
            self._bound_by(operation, first, second)
        elif operation.op == "mod" and not second.indices:
            self._bound_modulo(operation, first, second)
        elif operation.op in COMPARISONS:
            of_first, of_second, more = COMPARISONS[operation.op]
            self._decide(operation, Linear().plus(first, of_first).plus(second, of_second).shifted(more))
        elif operation.op in ("eq", "ne"):
            self._differ(operation, first.plus(second, -1))

    def _bound_by(self, operation: Operation, first: Linear, second: Linear) -> None:
        """Record where the minimum or the maximum of two values is that of them which contains the index."""
        if self._factor(first) == 0:
            first, second = second, first
        sign = 1 if operation.op == "max" else -1
        if self._factor(second) == 0 and self._add(Linear().plus(first, sign).plus(second, -sign)):
            self.borders.simpler[operation] = first

    def _bound_modulo(self, operation: Operation, first: Linear, second: Linear) -> None:
        """Record where a remainder is its dividend, less a multiple of the divisor."""
        if second.number is not None:
            if second.number <= 0:
                return
            middle = second.number // 2 if self.middle is None else self._factor(first) * self.middle
            times = (first.constant + middle) // second.number
        else:
            times = next((first.values[key][0] for key in second.values if key in first.values), 0)
        rest = first.plus(second, -times)
        if self._add(rest, second.shifted(-1).plus(rest, -1)):
            self.borders.simpler[operation] = rest

    def _decide(self, operation: Operation, total: Linear) -> None:
        """Record where a comparison has one result: on one side of a limit. total: not negative where it is true."""
        is_true = self._is_usual(total)
        if self._add(total if is_true else Linear().plus(total, -1).shifted(-1)):
            self.borders.simpler[operation] = is_true

    def _differ(self, operation: Operation, difference: Linear) -> None:
        """Record where two values differ: on one side of where they are equal."""
        one_side = difference if self._is_usual(difference) else Linear().plus(difference, -1)
        if self._add(one_side.shifted(-1)):
            self.borders.simpler[operation] = operation.op == "ne"

    def _is_usual(self, total: Linear) -> bool:
        """Return whether a sum is positive for most iterations: with extents, or for a large index."""
        factor = self._factor(total)
        if not total.values and self.middle is not None:
            return total.constant + factor * self.middle > 0
        return (sum(count for count, _ in total.values.values()) or factor) > 0

    def _add(self, *totals: Linear) -> bool:
        """Record limits of the index that keep sums from being negative; return whether these are near the ends."""
        found = []
        for total in totals:
            limit = self._limit(total)
            if limit is None:
                return False
            is_least = self._factor(total) > 0
            inside = self.start.plus(limit, -1) if is_least else limit.plus(self.last, -1)
            if inside.number is None and (is_least or not self._is_near(limit)):
                return False
            if inside.number is not None and -inside.number > self.widest:
                return False
            found.append((is_least, limit, inside.number))
        for is_least, limit, number in found:
            if number is None:
                key = frozenset(limit.values)
                other = self.borders.most.get(key, limit)
                self.borders.most[key] = min(limit, other, key=lambda each: each.constant)
            elif is_least:
                self.borders.before = max(self.borders.before, -number)
            else:
                self.borders.behind = max(self.borders.behind, -number)
        return True

    def _limit(self, total: Linear) -> Linear | None:
        """Return the index from which on, or up to which, a sum is not negative; None if it is not known before."""
        factor = self._factor(total)
        if abs(factor) != 1:
            return None
        least = total.constant
        for index, times in total.indices.items():
            if index == self.axis:
                continue
            indices = _indices_of(index)
            if not indices or index[0] is self.loop:
                return None
            least += min(times * indices[0], times * indices[-1])
        if abs(least) >= FARTHEST or not all(is_given(value) for _, value in total.values.values()):
            return None
        return Linear().plus(Linear({}, total.values, least), -factor)

    def _is_near(self, limit: Linear) -> bool:
        """Return whether a limit is an extent less a few iterations; only the launch knows if that ends the loop."""
        values = list(limit.values.values())
        is_extent = len(values) == 1 and values[0][0] == 1 and isinstance(values[0][1], ArrayShape)
        return is_extent and -self.widest <= limit.constant < 0


def _indices_of(index: Index) -> range | None:
    """Return the indices of a loop along an axis, None if its bounds are not constant."""
    loop, axis = index
    return constant_range(loop, axis) if isinstance(loop, RangeFor) else None


def _condition_of(statement: Statement) -> Statement | None:
    """Return the condition by which a statement chooses between two values."""
    if isinstance(statement, IfExp):
        return statement.condition
    return statement.operands[0] if isinstance(statement, Operation) and statement.op == "select" else None


# --- two tasks --------------------------------------------------------------------------------------------------------


def _split(kernel: Kernel, task: Task, borders: Borders) -> None:
    """Replace a task by one of the iterations that need no bounds, and one of the others."""
    border = copy_of(task)
    put_in_place(kernel, task, [task, border])
    first, end = _add_bounds(task, borders)
    assert task.loop is not None
    _run_at_ends(border, *_add_bounds(border, borders))
    task.loop.starts[-1], task.loop.ends[-1], task.loop.over = first, end, None
    _leave_bounds(task.body, borders)
    name = names_of(task.loop)[-1]
    _remark(task, f"{name} needs no bounds here; iterations at the ends of rows are another task (peel_borders)")
    _remark(border, "iterations at the ends of rows (peel_borders)")


def _remark(task: Task, note: str) -> None:
    """Add a comment to the first statement of a task that has an effect, or a block."""
    statement = next(s for s in task.body if s.BLOCKS or s.EFFECT & Effect.WRITE)
    statement.remarks = (Remark(note, "above", statement.location), *statement.remarks)


def _add_bounds(task: Task, borders: Borders) -> tuple[Statement, Statement]:
    """Add to a task the first index that needs no bounds, and the end of these indices, which is not less."""
    loop = task.loop
    assert loop is not None
    builder = Builder(task.prologue, loop.location)
    start, end = loop.starts[-1], loop.ends[-1]
    assert isinstance(start, Const)
    first, behind = builder.const(int(start.value) + borders.before), builder.const(borders.behind)
    if isinstance(end, Const):
        last: Statement = builder.const(int(end.value) - borders.behind)
    else:
        enough = builder.const(int(start.value) + MOST_OF_ROW * (borders.before + borders.behind))
        inner = builder.op("sub", end, behind) if borders.behind else end
        last = builder.op("select", builder.op("ge", end, enough), inner, first)
    for limit in borders.most.values():
        last = builder.op("min", last, limit.shifted(1).emit(builder, {}))
    return first, builder.op("max", last, first) if borders.most else last


def _run_at_ends(task: Task, first: Statement, last: Statement) -> None:
    """Let a task run the iterations before an index, and from another one on."""
    loop = task.loop
    assert loop is not None
    axis, name = len(loop.starts) - 1, names_of(loop)[-1]
    builder = Builder(task.prologue, loop.location)
    start, end = loop.starts[-1], loop.ends[-1]
    before, behind = _difference(builder, first, start), _difference(builder, end, last)
    loop.starts[-1], loop.ends[-1] = builder.const(0), builder.op("add", before, behind)
    loop.names, loop.over = [*names_of(loop)[:-1], "border"], None
    body, task.body.statements = task.body.statements, []
    builder = Builder(task.body, loop.location)
    index = builder.add(LoopIndex(loop, axis, type=i32))
    more = _difference(builder, builder.again(last), builder.again(before))
    is_before = builder.op("lt", index, builder.again(before))
    own = builder.op(
        "select", is_before, builder.op("add", index, builder.again(start)), builder.op("add", index, more)
    )
    own.name = name
    old: dict[Statement, Statement] = {s: own for s in walk(Block(body)) if is_index_of(s, loop) and s.axis == axis}
    task.body.statements += [s for s in body if s not in old]
    replace_uses(task.body, old)


def _difference(builder: Builder, a: Statement, b: Statement) -> Statement:
    """Return how much is between two bounds, a number if they are."""
    if isinstance(a, Const) and isinstance(b, Const):
        return builder.const(int(a.value) - int(b.value))
    return a if is_const(b, 0) else builder.op("sub", a, b)


def _leave_bounds(body: Block, borders: Borders) -> None:
    """Replace bounded indices by what they are without bounds, and comparisons by their results."""
    replaced: dict[Statement, Statement] = {}
    for block in list(walk_blocks(body)):
        builder = Builder(Block())
        for statement in block.statements:
            builder.location = statement.location
            simpler = borders.simpler.get(statement)
            if simpler is None:
                builder.add(statement)
            elif isinstance(simpler, bool):
                replaced[statement] = builder.const(simpler, u1)
            else:
                known = {(loop, axis): builder.add(LoopIndex(loop, axis, type=i32)) for loop, axis in simpler.indices}  # type: ignore[arg-type]
                replaced[statement] = simpler.emit(builder, known)
        block.statements = builder.block.statements
    replace_uses(body, replaced)
