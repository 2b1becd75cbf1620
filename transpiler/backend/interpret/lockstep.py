"""Runs the threads of a block for the interpreter, one after the other, each up to its next synchronization point.

Each thread is a generator that yields the statement at which it waits and resumes with the result that is sent. This
shares no code with the printers, which split bodies at barriers, so it tests them.
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
from ..module.records import Iteration

Steps = Generator[Statement, Any, "type | None"]
"""Yields the statement at which a thread waits; returns the class of the statement that ended its block early."""


class IterationAborted(Exception):
    """A check failed in this iteration of the loop."""


def iteration_of(loop: RangeFor, linear: int, index: tuple[int, ...]) -> Iteration:
    """Return an iteration for messages: without indices if only a list on the device has them."""
    indices = dict(zip(loop.names, index, strict=False)) if loop.cells is None else None
    return Iteration(loop.location.line, linear, indices)


class Machine(Protocol):
    """The interpreter: the state of the running thread, and the evaluation of statements that do not wait."""

    values: dict[Statement, Any]
    indices: dict[Any, tuple[int, ...]]
    random: RandomStream
    shared: dict[Array, np.ndarray[Any, Any]]
    position: tuple[int, int]
    iteration: tuple[RangeFor, int, tuple[int, ...]] | None

    def run_block(self, block: Block) -> type | None:
        """Run statements in order."""

    def index_tuples(self, loop: RangeFor) -> Any:
        """Yield the indices of a loop."""

    def result(self, block: Block) -> Any:
        """Return the result of a block."""


@dataclass(eq=False, slots=True)
class _Thread:
    """One thread.

    path: the order of each enclosing loop and the number of its iteration.
    waits_at: the statement at which it waits, None before the start and after the end.
    answer: the value to resume with.
    """

    number: int
    values: dict[Statement, Any]
    indices: dict[Any, tuple[int, ...]]
    random: RandomStream
    steps: Steps
    linear: int
    iteration: tuple[RangeFor, int, tuple[int, ...]]
    path: list[int]
    waits_at: Statement | None = None
    answer: Any = None
    is_running: bool = True


@dataclass(eq=False, slots=True)
class Blocks:
    """Runs tasks whose threads synchronize.

    waiting: statements that wait, or contain one that does. order: the position of each statement in the task.
    parts: of blocks that contain such statements, those and the runs of others between them.
    """

    machine: Machine
    waiting: set[Statement] = field(default_factory=set)
    order: dict[Statement, int] = field(default_factory=dict)
    parts: dict[Block, list[Statement | Block]] = field(default_factory=dict)

    def run(self, task: Task, seed: int, iterations: list[tuple[int, ...]]) -> None:
        """Run one task. iterations: the index of each iteration of its loop."""
        self.waiting = {s for s in walk(task.body) if _synchronizes(s)}
        self.order = {statement: position for position, statement in enumerate(walk(task.body))}
        shared = {s.array for s in walk(task.body) if isinstance(s, GlobalPtr) and s.array.is_shared}
        for first in range(0, len(iterations), task.block_dim):
            self.machine.shared = {array: _unset(array) for array in shared}
            threads = [
                self.start(task, seed, first + number, number, iterations[first + number])
                for number in range(min(task.block_dim, len(iterations) - first))
            ]
            self.run_threads(threads)

    def start(self, task: Task, seed: int, linear: int, number: int, index: tuple[int, ...]) -> _Thread:
        """Return one thread, which has not run yet."""
        machine = self.machine
        indices = {**machine.indices, task.loop: index}
        random = RandomStream(seed, linear)
        assert task.loop is not None
        iteration = task.loop, linear, index
        path: list[int] = []
        steps = self.steps(task.body, path)
        return _Thread(number, dict(machine.values), indices, random, steps, linear, iteration, path)

    def run_threads(self, threads: list[_Thread]) -> None:
        """Run all threads of a block to their ends."""
        while any(thread.is_running for thread in threads):
            for thread in threads:
                if thread.is_running and thread.waits_at is None:
                    self.advance(thread)
            waiting = [thread for thread in threads if thread.is_running]
            if waiting and not self.resume_subgroups(waiting):
                self.resume_block(waiting)

    def advance(self, thread: _Thread) -> None:
        """Run a thread until it has to wait, or to its end."""
        machine = self.machine
        machine.values, machine.indices, machine.random = thread.values, thread.indices, thread.random
        machine.position, machine.iteration = (thread.number, thread.linear), thread.iteration
        answer, thread.answer = thread.answer, None
        try:
            thread.waits_at = thread.steps.send(answer)
        except (StopIteration, IterationAborted):
            thread.is_running, thread.waits_at = False, None

    def resume_subgroups(self, waiting: list[_Thread]) -> bool:
        """Resume the lanes that wait only for their subgroup; return whether there were any."""
        is_any = False
        for first in sorted({thread.number // SUBGROUP_SIZE for thread in waiting}):
            lanes = [thread for thread in waiting if thread.number // SUBGROUP_SIZE == first]
            waiting_here = [t for t in lanes if t.waits_at is not None and _scope(t.waits_at) != "block"]
            if waiting_here:  # lanes that are further ahead wait for the others
                earliest = min(map(self.progress, waiting_here))
                earliest_lanes = [thread for thread in waiting_here if self.progress(thread) == earliest]
                assert earliest_lanes[0].waits_at is not None
                self.resume(earliest_lanes[0].waits_at, earliest_lanes)
                is_any = True
        return is_any

    def progress(self, thread: _Thread) -> tuple[int, ...]:
        """Return how far a thread has run: order and iteration of each enclosing loop, and order of the statement."""
        assert thread.waits_at is not None
        return (*thread.path, self.order[thread.waits_at])

    def resume_block(self, waiting: list[_Thread]) -> None:
        """Resume the threads of a block, which must all wait at one statement."""
        statement = waiting[0].waits_at
        assert statement is not None
        if any(thread.waits_at is not statement for thread in waiting):
            raise TaichiRuntimeError(
                f"{statement.location.describe()}\nSome threads of a block wait here, others elsewhere"
            )
        self.resume(statement, waiting)

    def resume(self, statement: Statement, threads: list[_Thread]) -> None:
        """Resume each of `threads`, which wait at `statement`."""
        if isinstance(statement, Collective):
            collective = COLLECTIVES[statement.op]
            size = SUBGROUP_SIZE if collective.scope == "subgroup" else max(t.number for t in threads) + 1
            given = {t.number % size: tuple(t.values[operand] for operand in statement.operands) for t in threads}
            assert statement.type is not None
            convert = element_of(statement.type).numpy.type
            with np.errstate(all="ignore"):
                for thread in threads:
                    thread.values[statement] = convert(collective.model(given, thread.number % size, size))
        for thread in threads:
            self.advance(thread)

    # --- one thread

    def steps(self, block: Block, path: list[int]) -> Steps:
        """Run a block that may have to wait, as the interpreter runs blocks that do not."""
        machine = self.machine
        if block not in self.parts:
            self.parts[block] = self.parts_of(block)
        for part in self.parts[block]:
            if isinstance(part, Block):
                ended = machine.run_block(part)
            elif isinstance(part, (Barrier, Collective)):
                yield part
                continue
            else:
                ended = yield from self.control_flow(part, path)
            if ended is not None:
                return ended
        return None

    def parts_of(self, block: Block) -> list[Statement | Block]:
        """Return the statements of a block that wait, and blocks of the others between them."""
        parts: list[Statement | Block] = []
        for statement in block.statements:
            if statement in self.waiting:
                parts.append(statement)
            elif parts and isinstance(parts[-1], Block):
                parts[-1].statements.append(statement)
            else:
                parts.append(Block([statement]))
        return parts

    def control_flow(self, statement: Statement, path: list[int]) -> Steps:
        """Run an `if` or a loop that contains a statement that waits."""
        if isinstance(statement, If):
            branch = statement.then if self.machine.values[statement.condition] else statement.otherwise
            return (yield from self.steps(branch, path)) if branch is not None else None
        path += [self.order[statement], 0]
        ended = yield from self.loop(statement, path)
        del path[-2:]
        return ended

    def loop(self, statement: Statement, path: list[int]) -> Steps:
        """Run a loop; the last number of `path` counts its iterations."""
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


def _synchronizes(statement: Statement) -> bool:
    """Return whether threads wait at or in `statement`."""
    if isinstance(statement, Barrier):
        return not statement.memory_only
    return isinstance(statement, Collective) or any(
        _synchronizes(inner) for block in blocks(statement) for inner in block
    )


def _scope(statement: Statement) -> str:
    if isinstance(statement, Barrier):
        return statement.scope
    assert isinstance(statement, Collective)
    return COLLECTIVES[statement.op].scope


def _unset(array: Array) -> np.ndarray[Any, Any]:
    """Return uninitialized shared memory: with values that no program expects."""
    shape = (array.shape or ()) + (array.element.shape if isinstance(array.element, Tensor) else ())
    scalar = element_of(array.element)
    return np.full(shape, np.nan if scalar.is_float else 85, scalar.numpy)
