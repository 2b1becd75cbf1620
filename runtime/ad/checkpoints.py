"""`ti.ad.checkpoint`: a long loop on a tape of which a few states are kept, and the others are computed again.

    with ti.ad.Tape(loss):
        for t in ti.ad.checkpoint(1000, memory=40):
            step(t)
        measure()

A state is what the arrays contain before an iteration, as far as the loop overwrites them. The launches of an iteration
are recorded, without what they overwrite. The backward pass restores the last kept state before an iteration, launches
the iterations between again, and keeps states on the way, so that each iteration runs as rarely as the memory allows.
Source: the schedule is that of Griewank and Walther, "Algorithm 799: Revolve" (2000).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import comb
from typing import Any

from ...transpiler.errors import TaichiRuntimeError
from .contents import Latest, copy_of, write_back

TAPES: list[Any] = []
"""The tapes that record now, the innermost last."""


def checkpoint(steps: int, memory: int) -> Iterator[int]:
    """Return `range(steps)` for a loop on a tape that keeps at most `memory` states of its arrays at a time.

    What the body does must be launches, `fill`, `from_numpy` and `copy_from`, or functions of `ti.ad.grad_replaced`:
    these are done again in the backward pass. The gradient has the same bits as without. Without a tape nothing is
    kept.
    Raises: TaichiRuntimeError for less than 2 states, and for a loop inside such a loop.

    Example:
        >>> list(ti.ad.checkpoint(3, 2))
        [0, 1, 2]
    """
    if memory < 2 or steps < 0:
        raise TaichiRuntimeError(
            f"`ti.ad.checkpoint` keeps at least 2 states of 0 or more steps, found memory={memory}, steps={steps}",
            "a state is one copy of each array that the loop overwrites",
        )
    return _iterations(steps, memory)


def _iterations(steps: int, memory: int) -> Iterator[int]:
    if not TAPES:
        yield from range(steps)
        return
    loop = CheckpointedLoop(steps, memory)
    TAPES[-1].begin_loop(loop)
    try:
        for step in range(steps):
            loop.begin(step)
            yield step
    finally:
        loop.is_open = False


def split(steps: int, states: int) -> int:
    """Return after how many of `steps` iterations the next state is kept, if `states` more may be kept; 0 for none."""
    if steps < 2 or states < 1:
        return 0
    total, repeats = states + 1, 1
    while comb(total + repeats, total) < steps:
        repeats += 1
    least = comb(total + repeats - 2, total) if repeats > 1 else 1
    return min(steps - 1, max(least, steps - comb(states + repeats, states)))


class State:
    """The values of arrays before an iteration, each from its first write since then."""

    def __init__(self, step: int) -> None:
        self.step = step
        self.values: dict[int, tuple[Any, Any]] = {}

    def restore(self, latest: Latest) -> None:
        """Give the arrays these values."""
        for array, values in reversed(self.values.values()):  # views of one memory: the first write counts
            latest.keep(array)
            write_back(array, values)


class CheckpointedLoop:
    """The iterations of a loop.

    Attributes:
        iterations: the calls of each.
        states: those that are kept, the earliest first.
        free: how many more may be kept; one is for the iteration that is being differentiated.
        written, used: the arrays that the loop writes, and all that it uses, by identity.
        is_open: the loop is running.
    """

    grad = None

    def __init__(self, steps: int, memory: int) -> None:
        self.iterations: list[list[Any]] = []
        self.states: list[State] = []
        self.free = memory - 1
        self.written: dict[int, Any] = {}
        self.used: dict[int, Any] = {}
        self.is_open = True
        self._wanted: set[int] = {0}
        first, states = 0, memory - 2
        while distance := split(steps - first, states):
            first, states = first + distance, states - 1
            self._wanted.add(first)

    def begin(self, step: int) -> None:
        """Begin an iteration, before which the state may be kept."""
        self.iterations.append([])
        if step in self._wanted:
            self.states.append(State(step))
            self.free -= 1

    def add(self, record: Any, written: Iterable[Any], used: Iterable[Any] = ()) -> None:
        """Add a call to the present iteration. written, used: the arrays that it writes, and others."""
        self.iterations[-1].append(record)
        for array in written:
            self.written[id(array)] = self.used[id(array)] = array
        for array in used:
            self.used[id(array)] = array

    def save_before_write(self, array: Any, copy: Callable[[], Any]) -> None:
        """Keep an array that is about to be written, in the loop or after it, for all states that lack it."""
        if not self.is_open and id(array) not in self.used:
            return
        for state in reversed(self.states):
            if id(array) in state.values:
                break  # the earlier ones have it, too
            state.values[id(array)] = array, copy()

    @property
    def lacking(self) -> list[int]:
        """The identities of the arrays that it used and whose values no state has yet."""
        return [key for key in self.used if key not in self.states[-1].values] if self.states else []

    def run_gradients(self, make_tape: Callable[..., Any], latest: Latest) -> None:
        """Launch the gradients of all iterations, last first. make_tape: makes the tape of one iteration."""
        last = len(self.iterations)
        while self.states:
            self._backward(self.states[-1], last, self.free, make_tape, latest)
            last = self.states[-1].step
            if last == 0:  # it stays, for gradients of other results
                break
            self.states.pop()
            self.free += 1

    def _backward(self, state: State, last: int, free: int, make_tape: Callable[..., Any], latest: Latest) -> None:
        """Launch the gradients of the iterations from a state up to `last`. free: how many more states may be kept."""
        while state.step < last:
            state.restore(latest)
            distance = split(last - state.step, free)
            if not distance:
                self._run(state.step, last - 1)
                self._differentiate(last - 1, make_tape, latest)
                last -= 1
                continue
            middle = State(state.step + distance)
            self._run(state.step, middle.step)
            middle.values = {key: (array, copy_of(array)) for key, array in self.written.items()}
            self._backward(middle, last, free - 1, make_tape, latest)
            last = middle.step

    def _run(self, first: int, last: int) -> None:
        for records in self.iterations[first:last]:
            for record in records:
                record.function(*record.args, **record.kwargs)

    def _differentiate(self, step: int, make_tape: Callable[..., Any], latest: Latest) -> None:
        """Launch one iteration again on a tape, and its gradients."""
        tape = make_tape()
        tape.attach()
        try:
            self._run(step, step + 1)
        finally:
            tape.detach()
        tape.run_gradients(latest)


class Loops:
    """The loops of a tape.

    ended: those that have ended, by the identity of each array whose values they lack, which are saved at its next
        write and never again. So a write takes no time for loops that have its array, however many there are.
    """

    def __init__(self) -> None:
        self.ended: dict[int, list[CheckpointedLoop]] = {}
        self._last: CheckpointedLoop | None = None

    def begin(self, loop: CheckpointedLoop) -> None:
        """Add a loop, after all others have ended."""
        self._last = loop

    @property
    def running(self) -> CheckpointedLoop | None:
        """The loop that has not ended."""
        last = self._last
        if last is not None and not last.is_open:
            for key in last.lacking:
                self.ended.setdefault(key, []).append(last)
            self._last = None
        return self._last

    def save_before_write(self, array: Any, copy: Callable[[], Any]) -> None:
        """Keep an array that is about to be written for all loops that lack it."""
        running = self.running
        for loop in self.ended.pop(id(array), ()):
            loop.save_before_write(array, copy)
        if running is not None:
            running.save_before_write(array, copy)
