"""Where the threads that share the serial loops of an iteration have to wait for each other (for `shared_steps`).

    for j in 0 .. n {                            for j in 0 .. n {
        for d in 0 .. 64 {                           barrier        loads see what others stored for j - 1
            path[i, j, d] = path[i, j - 1, ...       for d in lane .. 64 step 32 {
        }                                    ->          path[i, j, d] = path[i, j - 1, ...
        path[i, j, 0] = 0                            }
    }                                                barrier
                                                     if lane == 0 { path[i, j, 0] = 0 }
                                                 }

All threads run what is outside of the shared loops, and compute the same values; stores and atomic operations are for
the first of them. Between two accesses of threads that may be of one element, one of which stores, is a barrier. All
threads come to it: conditions and bounds outside of the shared loops are the same for all.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ....ir.functions import Call, Reference
from ....ir.nodes import Block, Statement, blocks, walk
from ....ir.statements import (
    Alloca,
    Array,
    AtomicOp,
    Break,
    Const,
    Continue,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    IfExp,
    LocalStore,
    RangeFor,
    While,
    base_pointer,
    repeats,
)
from ...analysis.aliasing import split_offset
from ...analysis.queries import base_array, is_index_of
from .first_lane import Users, is_for_one, parts_of

ALL, FIRST = "all", "first"


@dataclass(frozen=True, slots=True)
class Access:
    """An access to an array that a task stores to. pointer: None for all elements. by: which threads, or the loop."""

    array: Array
    pointer: GlobalPtr | None
    stores: bool
    by: RangeFor | str

    def conflicts(self, other: Access) -> bool:
        """Return whether different threads may access one element, which one of them changes."""
        if self.array is not other.array or not (self.stores or other.stores) or self.by == other.by == FIRST:
            return False
        if self.pointer is None or other.pointer is None:
            return True
        if _is_of_one_thread(self, other):
            return False
        pairs = zip(self.pointer.indices, other.pointer.indices, strict=True)
        return not any(isinstance(a, Const) and isinstance(b, Const) and a.value != b.value for a, b in pairs)


def _is_of_one_thread(one: Access, other: Access) -> bool:
    """Return whether two shared loops access elements at their indices, which one thread has in both."""
    loops = (one.by, other.by)
    if not (isinstance(loops[0], RangeFor) and isinstance(loops[1], RangeFor)):
        return False
    starts, steps = [loop.starts[0] for loop in loops], [loop.steps[0] for loop in loops]  # type: ignore[union-attr]
    for first, second in (starts, steps):
        if not (isinstance(first, Const) and isinstance(second, Const) and first.value == second.value):
            return False
    assert one.pointer is not None and other.pointer is not None
    for pair in zip(one.pointer.indices, other.pointer.indices, strict=True):
        (index, shift), (index_there, shift_there) = map(split_offset, pair)
        if is_index_of(index, loops[0]) and is_index_of(index_there, loops[1]) and shift == shift_there:
            return True
    return False


State = dict[Access, None]
"""The accesses since the last barrier, on any way to a place."""


@dataclass(slots=True)
class Phase:
    """Statements that threads run without waiting for each other. by: `ALL`, `FIRST`, or the loop that they share."""

    statements: list[Statement]
    by: RangeFor | str
    accesses: list[Access] = field(default_factory=list)


class Change(NamedTuple):
    """A store or an atomic operation. serial: the loops around it that all threads run. shared: the one they share."""

    statement: GlobalStore | AtomicOp
    serial: tuple[Statement, ...]
    shared: Statement | None


def changed_by_several(body: Block, shared: Mapping[RangeFor, object], unordered: Container[Statement]) -> set[Array]:
    """Return the arrays of which several threads may change one element, so that the order of their changes matters.

    unordered: atomic operations whose order nobody sees.
    """
    changes = dict[Array, list[Change]]()
    for change in _changes(body, shared, (), None):
        array = base_array(change.statement.pointer)
        if array is not None:
            changes.setdefault(array, []).append(change)
    return {
        array
        for array, found in changes.items()
        if not all(change.statement in unordered for change in found) and not _have_one_thread(found)
    }


def _changes(
    block: Block, shared: Mapping[RangeFor, object], serial: tuple[Statement, ...], loop: Statement | None
) -> Iterator[Change]:
    for statement in block:
        if isinstance(statement, (GlobalStore, AtomicOp)):
            yield Change(statement, serial, loop)
        inner = loop if loop is not None or statement not in shared else statement
        around = (*serial, statement) if inner is None and repeats(statement) else serial
        for each in blocks(statement):
            yield from _changes(each, shared, around, inner)


def _have_one_thread(changes: Sequence[Change]) -> bool:
    """Return whether one thread makes all changes of an element: in one shared loop, in one step of those around it."""
    if any(change.shared is not changes[0].shared or change.serial != changes[0].serial for change in changes):
        return False
    if changes[0].shared is None:
        return True  # the first thread
    pointers = [base_pointer(change.statement.pointer) for change in changes]
    places = [[split_offset(i) for i in p.indices] for p in pointers if isinstance(p, GlobalPtr)]
    return len(places) == len(changes) and all(
        isinstance(loop, RangeFor)
        and any(is_index_of(axis[0][0], loop) and len(set(axis)) == 1 for axis in zip(*places, strict=True))
        for loop in changes[0].serial
    )


class Phases:
    """The phases of the iteration of a task, with the barriers between them.

    Attributes:
        shared: the loops that threads share. stored: the arrays of which threads see what others store.
        waits: the first statements of phases with a barrier before them.
        waits_at_head: `while` loops whose condition is evaluated behind a barrier.
    """

    def __init__(self, body: Block, shared: Mapping[RangeFor, object], stored: Iterable[Array], users: Users) -> None:
        self.shared, self.stored, self.users = shared, set(stored), users
        self.waits, self.waits_at_head = set[Statement](), set[While]()
        self.phases: dict[int, list[Phase]] = {}
        self.exits: list[tuple[State, State]] = []
        self.find(body, {})

    def of(self, block: Block) -> list[Phase]:
        """Return the phases of a block."""
        if id(block) not in self.phases:
            self.phases[id(block)] = list(self.divide(block.statements))
        return self.phases[id(block)]

    def divide(self, statements: Sequence[Statement]) -> Iterable[Phase]:
        """Yield the phases of some statements in order."""
        pending, stored = list[Statement](), set[Array | None]()
        for statement in statements:
            is_single = bool(statement.BLOCKS) and not isinstance(statement, IfExp) and not is_for_one(statement)
            accesses = [] if is_single else self.accesses([statement], ALL)
            if is_single or any(a.array in stored for a in accesses if not a.stores):
                yield from self.parts(pending)
                pending, stored = [], set()
            if not is_single:
                pending.append(statement)
                stored.update(access.array for access in accesses if access.stores)
            elif isinstance(statement, RangeFor) and statement in self.shared:
                yield Phase([statement], statement, self.accesses(statement.body.statements, statement))
            elif self.is_for_one(statement):
                yield Phase([statement], FIRST, self.accesses([statement], FIRST))
            else:
                yield Phase([statement], ALL)
        yield from self.parts(pending)

    def is_for_one(self, loop: Statement) -> bool:
        """Return whether the first thread runs a serial loop alone, that stores and of which others need nothing."""
        inside = [s for block in blocks(loop) for s in walk(block)]
        if not repeats(loop) or any(s in self.shared for s in inside):
            return False
        own = {s for s in inside if isinstance(s, Alloca)}
        others = [base_pointer(s.pointer) for s in inside if isinstance(s, LocalStore)]
        stores = any(isinstance(s, (GlobalStore, AtomicOp)) for s in inside)
        return stores and all(variable in own or isinstance(variable, Reference) for variable in others)

    def parts(self, statements: Sequence[Statement]) -> Iterable[Phase]:
        """Yield the phases of statements without loops: what all threads run, and what the first one does."""
        for part in parts_of(statements, self.users):
            by = FIRST if part.is_alone else ALL
            yield Phase(part.statements, by, self.accesses(part.statements, by))

    def accesses(self, statements: Sequence[Statement], by: RangeFor | str) -> list[Access]:
        """Return the accesses of statements to arrays of interest."""
        found: dict[Access, None] = {}
        for statement in walk(Block(list(statements))):
            if isinstance(statement, (GlobalLoad, GlobalStore, AtomicOp)):
                array, base = base_array(statement.pointer), base_pointer(statement.pointer)
                if array in self.stored and isinstance(base, GlobalPtr):
                    found[Access(base.array, base, not isinstance(statement, GlobalLoad), by)] = None
            elif isinstance(statement, Call):
                found |= dict.fromkeys(Access(a, None, False, by) for a in statement.function.reads & self.stored)
        return list(found)

    # --- where threads wait

    def find(self, block: Block, state: State) -> State | None:
        """Find the barriers of a block; return the accesses since the last one, None if nothing goes on behind it."""
        current: State | None = state
        for phase in self.of(block):
            if current is None:
                return None
            first = phase.statements[0]
            has_conflict = any(one.conflicts(access) for access in phase.accesses for one in current)
            (self.waits.add if has_conflict else self.waits.discard)(first)
            current = dict.fromkeys([*({} if has_conflict else current), *phase.accesses])
            if phase.by == ALL and first.BLOCKS and not isinstance(first, IfExp):
                current = self.inside(first, current)
            elif any(isinstance(s, (Break, Continue)) for s in phase.statements):
                left = self.exits[-1][isinstance(phase.statements[-1], Continue)]
                left.update(current)
                return None
        return current

    def inside(self, statement: Statement, state: State) -> State | None:
        """Find the barriers in a statement with blocks; return what is true behind it."""
        if not isinstance(statement, (RangeFor, While)):
            ends = [self.find(inner, state) for inner in blocks(statement)]
            ends += [state] if len(ends) == 1 else []
            reached = [end for end in ends if end is not None]
            return {access: None for end in reached for access in end} if reached else None
        end = self.inside_loop(statement, state)
        inner = set(walk(statement.body))
        needed = self.waits & inner
        without = self.inside_loop(statement, {})
        if state and self.waits & inner < needed:  # a barrier before the loop, in place of one in each iteration
            self.waits.add(statement)
            return without
        self.waits -= {statement}
        return self.inside_loop(statement, state) if state else end

    def inside_loop(self, loop: RangeFor | While, state: State) -> State:
        """Find the barriers in a loop; return what is true behind it."""
        head = dict(state)
        if isinstance(loop, While) and (of_condition := self.accesses(loop.condition.statements, ALL)):
            self.waits_at_head.add(loop)
            head = dict.fromkeys(of_condition)
        while True:
            self.exits.append(({}, {}))
            end = self.find(loop.body, head)
            broken, continued = self.exits.pop()
            again = {} if loop in self.waits_at_head else {**(end or {}), **continued}
            if again.keys() <= head.keys():
                return {**head, **broken}
            head |= again
