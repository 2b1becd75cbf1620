"""Runs the threads of a block from barrier to barrier, one after the other: how the interpreter lets them meet.

Each thread is a generator that stops where it has to wait for others and goes on with the answer it is sent. It knows
nothing of how the printers cut bodies at barriers, so it checks them.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from ...errors import TaichiRuntimeError
from ...ir.nodes import Block, Statement, blocks, walk
from ...ir.statements import Array, Break, GlobalPtr, If, RangeFor, Return, While
from ...ir.tasks import Task
from ...ir.threads import COLLECTIVES, SUBGROUP_SIZE, Barrier, Collective
from ...ir.types import Tensor, element_of
from ..module.random_stream import RandomStream
from ..module.records import Turn

Steps = Generator[Statement, Any, "type | None"]
"""What a thread waits at, the answer, and the class of the statement that ended its block early."""


class TurnEnded(Exception):
    """A check failed in this turn of the loop."""


def turn_of(loop: RangeFor, linear: int, index: tuple[int, ...]) -> Turn:
    """Return a turn as reports show it: without indices where only a list on the device has them."""
    indices = dict(zip(loop.names, index, strict=False)) if loop.cells is None else None
    return Turn(loop.location.line, linear, indices)


class Machine(Protocol):
    """What the interpreter offers: the state of the thread that runs, and the meaning of statements without waiting."""

    values: dict[Statement, Any]
    indices: dict[Any, tuple[int, ...]]
    random: RandomStream
    shared: dict[Array, np.ndarray[Any, Any]]
    position: tuple[int, int]
    turn: Turn | None
    table: dict[type, Any]

    def run_block(self, block: Block) -> type | None:
        """Run statements in order."""

    def index_tuples(self, loop: RangeFor) -> Any:
        """Yield the indices of a loop."""

    def result(self, block: Block) -> Any:
        """Return the result of a block."""


@dataclass(eq=False, slots=True)
class _Thread:
    """One thread. waits_at: where it stopped, None before it starts and after its end. path: loops and their turns."""

    number: int
    values: dict[Statement, Any]
    indices: dict[Any, tuple[int, ...]]
    random: RandomStream
    steps: Steps
    linear: int
    turn: Turn
    path: list[int]
    waits_at: Statement | None = None
    answer: Any = None
    is_running: bool = True


@dataclass(eq=False, slots=True)
class Blocks:
    """Runs tasks whose threads work together.

    meeting: statements that wait, or hold one that does. order: of all statements in the text.
    """

    machine: Machine
    meeting: set[Statement] = field(default_factory=set)
    order: dict[Statement, int] = field(default_factory=dict)

    def run(self, task: Task, seed: int, turns: list[tuple[int, ...]]) -> None:
        """Run one task. turns: the index of each turn of its loop."""
        self.meeting = {s for s in walk(task.body) if _meets(s)}
        self.order = {statement: position for position, statement in enumerate(walk(task.body))}
        shared = {s.array for s in walk(task.body) if isinstance(s, GlobalPtr) and s.array.is_shared}
        for first in range(0, len(turns), task.block_dim):
            self.machine.shared = {array: _unset(array) for array in shared}
            threads = [
                self.start(task, seed, first + number, number, turns[first + number])
                for number in range(min(task.block_dim, len(turns) - first))
            ]
            self.run_threads(threads)

    def start(self, task: Task, seed: int, linear: int, number: int, index: tuple[int, ...]) -> _Thread:
        """Make one thread, which has not run yet."""
        machine = self.machine
        indices = {**machine.indices, task.loop: index}
        random = RandomStream(seed, linear)
        assert task.loop is not None
        turn = turn_of(task.loop, linear, index)
        path: list[int] = []
        return _Thread(number, dict(machine.values), indices, random, self.steps(task.body, path), linear, turn, path)

    def run_threads(self, threads: list[_Thread]) -> None:
        """Let all threads of a block run to their ends."""
        while any(thread.is_running for thread in threads):
            for thread in threads:
                if thread.is_running and thread.waits_at is None:
                    self.go_on(thread)
            waiting = [thread for thread in threads if thread.is_running]
            if waiting and not self.subgroups_meet(waiting):
                self.block_meets(waiting)

    def go_on(self, thread: _Thread) -> None:
        """Run a thread up to where it has to wait, or to its end."""
        machine = self.machine
        machine.values, machine.indices, machine.random = thread.values, thread.indices, thread.random
        machine.position, machine.turn = (thread.number, thread.linear), thread.turn
        answer, thread.answer = thread.answer, None
        try:
            thread.waits_at = thread.steps.send(answer)
        except (StopIteration, TurnEnded):
            thread.is_running, thread.waits_at = False, None

    def subgroups_meet(self, waiting: list[_Thread]) -> bool:
        """Answer the lanes that wait for their subgroup only; return whether there were any."""
        found = False
        for first in sorted({thread.number // SUBGROUP_SIZE for thread in waiting}):
            lanes = [thread for thread in waiting if thread.number // SUBGROUP_SIZE == first]
            waiting_here = [t for t in lanes if t.waits_at is not None and _scope(t.waits_at) != "block"]
            if waiting_here:  # lanes that are further on wait for the others to come up
                earliest = min(map(self.progress, waiting_here))
                meeting = [thread for thread in waiting_here if self.progress(thread) == earliest]
                assert meeting[0].waits_at is not None
                self.answer(meeting[0].waits_at, meeting)
                found = True
        return found

    def progress(self, thread: _Thread) -> tuple[int, ...]:
        """Return how far a thread has come: the place and turn of each loop around it, and where it waits."""
        assert thread.waits_at is not None
        return (*thread.path, self.order[thread.waits_at])

    def block_meets(self, waiting: list[_Thread]) -> None:
        """Answer the threads of a block, which all wait at one place."""
        place = waiting[0].waits_at
        assert place is not None
        if any(thread.waits_at is not place for thread in waiting):
            raise TaichiRuntimeError(
                f"{place.location.describe()}\nSome threads of a block wait here, others elsewhere"
            )
        self.answer(place, waiting)

    def answer(self, place: Statement, threads: list[_Thread]) -> None:
        """Send each of `threads`, which wait at `place`, on its way."""
        if isinstance(place, Collective):
            row = COLLECTIVES[place.op]
            size = SUBGROUP_SIZE if row.scope == "subgroup" else max(t.number for t in threads) + 1
            given = {t.number % size: tuple(t.values[operand] for operand in place.operands) for t in threads}
            assert place.type is not None
            convert = element_of(place.type).numpy.type
            with np.errstate(all="ignore"):
                for thread in threads:
                    thread.values[place] = convert(row.model(given, thread.number % size, size))
        for thread in threads:
            self.go_on(thread)

    # --- one thread

    def steps(self, block: Block, path: list[int]) -> Steps:
        """Run a block that may have to wait; the like of the interpreter's own way through control flow."""
        machine = self.machine
        for statement in block.statements:
            if statement not in self.meeting:
                ended = machine.run_block(Block([statement]))
            elif isinstance(statement, (Barrier, Collective)):
                yield statement
                continue
            else:
                ended = yield from self.holder(statement, path)
            if ended is not None:
                return ended
        return None

    def holder(self, statement: Statement, path: list[int]) -> Steps:
        """Run control flow around a place to wait at."""
        if isinstance(statement, If):
            branch = statement.then if self.machine.values[statement.condition] else statement.otherwise
            return (yield from self.steps(branch, path)) if branch is not None else None
        path += [self.order[statement], 0]
        ended = yield from self.loop(statement, path)
        del path[-2:]
        return ended

    def loop(self, statement: Statement, path: list[int]) -> Steps:
        """Run a loop; the last number of `path` counts its turns."""
        machine = self.machine
        if isinstance(statement, While):
            while True:
                yield from self.steps(statement.condition, path)
                assert statement.condition.result is not None
                if not machine.values[statement.condition.result]:
                    return None
                ended = yield from self.steps(statement.body, path)
                if ended in (Break, Return):
                    return None if ended is Break else ended
                path[-1] += 1
        assert isinstance(statement, RangeFor)
        for index in machine.index_tuples(statement):
            machine.indices[statement] = index
            ended = yield from self.steps(statement.body, path)
            if ended in (Break, Return):
                return None if ended is Break else ended
            path[-1] += 1
        return None


def _meets(statement: Statement) -> bool:
    """Return whether threads wait at or in `statement`."""
    if isinstance(statement, Barrier):
        return not statement.memory_only
    return isinstance(statement, Collective) or any(_meets(inner) for block in blocks(statement) for inner in block)


def _scope(statement: Statement) -> str:
    if isinstance(statement, Barrier):
        return statement.scope
    assert isinstance(statement, Collective)
    return COLLECTIVES[statement.op].scope


def _unset(array: Array) -> np.ndarray[Any, Any]:
    """Return memory as a block finds it: with numbers that a program would not mean."""
    shape = (array.shape or ()) + (array.element.shape if isinstance(array.element, Tensor) else ())
    scalar = element_of(array.element)
    return np.full(shape, np.nan if scalar.is_float else 85, scalar.numpy)
