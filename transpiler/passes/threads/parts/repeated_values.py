"""Finds values of a parallel loop that its iterations along some axis compute again and again: for `common_values`.

In: a task. Out: a `Repeated` for each value, those that save most first. What counts is what all iterations compute, so
that nothing is computed, loaded or waited for that the loop would leave out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod

from ....ir.constants import constant_range
from ....ir.functions import Call
from ....ir.nodes import Block, Effect, Statement, operands, users_of, walk
from ....ir.statements import (
    ArgLoad,
    ArrayShape,
    Assert,
    Const,
    GlobalLoad,
    GlobalPtr,
    GlobalTemporary,
    LoopIndex,
    MatrixPtr,
    RangeFor,
    StructPtr,
    base_pointer,
    is_const,
)
from ....ir.tasks import Task
from ....lazy_dataclasses import dataclass
from ...analysis.aliasing import MemoryObject, may_alias, underlying_object, written_objects
from ...analysis.queries import computed_from, count_along, is_dense
from .tabulated_values import PURE, cost_of

LEAST_COST, LEAST_OF_ITERATION = 64, 256
"""Instructions of a value, and those that an iteration of the loop has less. A block of `register_tiles` computes what
takes fewer for each of its elements; loops without serial loops wait for memory."""
LEAST_OF_NUMBER = 8
"""Instructions for each number that is stored and loaded in their place."""
FEWEST_REPEATS = 16
LEAST_SAVED = 1 << 27
"""Instructions of all iterations: a task more takes about 2 us, in which an H200 has 2^25."""
MOST_NUMBERS = 1 << 22
"""Numbers of all entries: 16 MB, which stay in the L2 cache."""
OF_PEELED = 8
"""Instructions that an iteration computes again, if it loads something else for that."""

Axis = tuple[RangeFor, int]
"""A loop, and which of its axes."""
POINTERS = (GlobalPtr, GlobalTemporary, MatrixPtr, StructPtr)


@dataclass(eq=False, slots=True)
class Repeated:
    """A value that depends on some axes of a parallel loop, and of serial loops with constant bounds.

    axes: of these, in the order of the elements that it loads. cost: instructions. saved: those of all iterations.
    """

    value: Statement
    axes: tuple[Axis, ...]
    cost: float
    saved: float = 0

    @property
    def entries(self) -> int:
        """For how many indices there is a value."""
        return prod(extent_of(axis) for axis in self.axes)


def extent_of(axis: Axis) -> int:
    """Return how many indices there are along an axis."""
    return count_along(*axis) or 0


def repeated_values(task: Task) -> list[Repeated]:
    """Return the values of a task that a task before it is to compute."""
    loop = task.loop
    if loop is None or len(loop.starts) < 2 or task.when or task.unless:
        return []
    if sum(map(cost_of, walk(task.body))) < LEAST_COST or not _has_known_axes(loop) or not _runs_to_its_end(task):
        return []
    return sorted(_Finder(task, loop).found(), key=lambda repeated: -repeated.saved)


def _has_known_axes(loop: RangeFor) -> bool:
    """Return whether a loop has iterations, of which all indices are known."""
    is_plain = loop.cells is None and not loop.order and all(is_const(step, 1) for step in loop.steps)
    return is_plain and all(constant_range(loop, axis) for axis in range(len(loop.starts)))


def _runs_to_its_end(task: Task) -> bool:
    """Return whether no iteration ends early, and none of its loops."""
    return not any(isinstance(s, Assert) or (s.EFFECT & Effect.CONTROL and not s.BLOCKS) for s in walk(task.body))


class _Finder:
    """Finds such values.

    own: the axes of the parallel loop. certain: the statements that all iterations run, with the loops around each.
    written: what the task stores to. known: the axes on which values depend, None for others.
    """

    def __init__(self, task: Task, loop: RangeFor) -> None:
        self.task, self.loop = task, loop
        self.own: list[Axis] = [(loop, axis) for axis in range(len(loop.starts))]
        self.certain: dict[Statement, tuple[RangeFor, ...]] = dict(_certain(task.body, ()))
        self.written: set[MemoryObject] = set(written_objects(task.body))
        self.may_overlap = any(map(may_alias, self.written))
        self.known: dict[Statement, frozenset[Axis] | None] = {}

    def found(self) -> Iterator[Repeated]:
        """Yield the values."""
        users = users_of(walk(self.task.body))
        candidates = {value for value in self.certain if self._repeats(value)}
        roots = (value for value in self.certain if value in candidates and not candidates.issuperset(users[value]))
        for value in dict.fromkeys(map(self._without_light_steps, roots)):
            repeated = self._repeated(value)
            if repeated is not None:
                yield repeated

    def _repeats(self, value: Statement) -> bool:
        """Return whether iterations along some axis compute the same."""
        axes = self.axes_of(value)
        if axes is None or axes.isdisjoint(self.own) or isinstance(value, POINTERS):
            return False
        return prod(extent_of(axis) for axis in self.own if axis not in axes) >= FEWEST_REPEATS

    def axes_of(self, value: Statement) -> frozenset[Axis] | None:
        """Return the axes on which a value depends; None if it depends on something else, too."""
        if value not in self.known:
            self.known[value] = None  # no value depends on itself
            self.known[value] = self._new_axes(value)
        return self.known[value]

    def _new_axes(self, value: Statement) -> frozenset[Axis] | None:
        match value:
            case Const() | ArgLoad() | ArrayShape():
                return frozenset()
            case LoopIndex(loop=RangeFor() as loop, axis=axis):
                indices = constant_range(loop, axis)
                return frozenset([(loop, axis)]) if indices and indices.step == 1 else None
            case GlobalLoad(pointer=pointer):
                return self._joined(operands(value)) if self._is_constant(pointer) else None
            case Call(function=function) if value.EFFECT == Effect.NONE and not (function.reads or function.snippets):
                return self._joined(value.arguments)
        is_pure = isinstance(value, (*PURE, *POINTERS)) and value.EFFECT == Effect.NONE
        return self._joined(operands(value)) if is_pure else None

    def _joined(self, values: Iterable[Statement]) -> frozenset[Axis] | None:
        found: frozenset[Axis] = frozenset()
        for value in values:
            axes = self.axes_of(value)
            if axes is None:
                return None
            found |= axes
        return found

    def _is_constant(self, pointer: Statement) -> bool:
        """Return whether no iteration changes an element."""
        base, target = base_pointer(pointer), underlying_object(pointer)
        if target is None or target in self.written or (self.may_overlap and may_alias(target)):
            return False
        return isinstance(base, GlobalTemporary) or (isinstance(base, GlobalPtr) and is_dense(base.array))

    def _without_light_steps(self, value: Statement) -> Statement:
        """Return what takes most of the instructions of a value, and has no more entries."""
        while isinstance(value, PURE):
            total = _cost(value)
            heavy = [o for o in operands(value) if self.axes_of(o) and _cost(o) >= total - OF_PEELED]
            if len(heavy) != 1 or isinstance(heavy[0], (GlobalLoad, LoopIndex, *POINTERS)):
                break
            value = heavy[0]
        return value

    def _repeated(self, value: Statement) -> Repeated | None:
        """Return a value with its axes, None if a task for it is not worth it."""
        axes, cost = self.axes_of(value), _cost(value)
        if not axes or value not in self.certain or not self._repeats(value) or cost < LEAST_COST:
            return None
        found = Repeated(value, self._in_order(value, axes), cost)
        around = self.certain[value]
        needed = [number for number, loop in enumerate(around) if any(loop is axis[0] for axis in axes)]
        loops = around[: max(needed, default=-1) + 1]  # compilers move it out of the others
        runs = prod(prod(count_along(loop, axis) or 0 for axis in range(len(loop.starts))) for loop in loops)
        iterations = prod(map(extent_of, self.own))
        found.saved = (runs * iterations - found.entries) * cost
        is_worth_it = runs * cost >= LEAST_OF_ITERATION and found.saved >= LEAST_SAVED
        return found if is_worth_it and found.entries <= MOST_NUMBERS else None

    def _in_order(self, value: Statement, axes: frozenset[Axis]) -> tuple[Axis, ...]:
        """Return axes in the order of the indices of what is loaded, the others in that of the loops."""
        order: dict[Axis, None] = {}
        inside = computed_from(value)
        pointers = [s for s in self.certain if s in inside and isinstance(s, GlobalPtr)]
        for index in (index for pointer in pointers for index in pointer.indices):
            order |= dict.fromkeys(self._of_loops(self.axes_of(index) or frozenset()))
        order |= dict.fromkeys(self._of_loops(axes))
        return tuple(axis for axis in order if axis in axes)

    def _of_loops(self, axes: frozenset[Axis]) -> list[Axis]:
        """Return axes in the order of the loops."""
        loops = [self.loop, *(s for s in self.certain if isinstance(s, RangeFor))]
        return sorted(axes, key=lambda axis: (loops.index(axis[0]), axis[1]))


def _certain(block: Block, around: tuple[RangeFor, ...]) -> Iterator[tuple[Statement, tuple[RangeFor, ...]]]:
    """Yield the statements of a block that run whenever it does, with the loops around each."""
    for statement in block:
        yield statement, around
        if isinstance(statement, RangeFor) and statement.cells is None:
            if all(constant_range(statement, axis) for axis in range(len(statement.starts))):
                yield from _certain(statement.body, (*around, statement))


def _cost(value: Statement) -> float:
    """Return how many instructions a value takes about."""
    return sum(map(cost_of, computed_from(value)))
