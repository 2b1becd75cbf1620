"""Launches that are waited for one by one, in command buffers that were recorded before.

In: the launches of one program that begin a batch. Out: for one that has begun several batches before, with the same
trip counts and arguments, a prerecorded command buffer. The queue keeps such a launch until it knows what follows. If
the batch is submitted, the prerecorded buffer is, and nothing is recorded, which takes 15 of the 31 us from call to end
on an H200. If another command follows, the launch is recorded as usual.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import finalize, ref

from ..device import Launch
from .memory import Memory
from .queue import EAGER_THREADS, Queue, Submission
from .recording import Tape, give_back

REPEATS = 4
"""The launch that records the command buffer, which takes as long as one or two launches."""
MOST_BUFFERS = 8
MOST_SEEN = 64
"""Launches of which none repeats, after which none is looked at any more."""

Key = tuple[Sequence[int], bytes]


class LoneLaunch:
    """A launch that the queue keeps. It holds the program, which nobody else may hold by the time it is submitted."""

    __slots__ = ("_key", "_program", "submission", "tape")

    def __init__(self, program: Any, key: Key, tape: Tape, submission: Submission) -> None:
        self._program, self._key = program, key
        self.tape, self.submission = tape, submission

    def record(self) -> None:
        """Record it into the queue's open command buffer, since other commands follow."""
        program, (counts, packed) = self._program, self._key
        following = bytes(program.arguments)
        program.arguments[:] = packed
        program.submit_held(counts)
        program.arguments[:] = following


class LoneLaunches:
    """The prerecorded launches of one program. The caller holds the queue's lock."""

    def __init__(self, queue: Queue, memory: Memory, program: Any) -> None:
        self._queue, self._memory, self._program = queue, memory, ref(program)
        self._launches: dict[Key, tuple[Tape, Submission]] = {}
        self._tapes: list[Tape] = []
        self._seen: dict[Key, int] = {}
        self._is_on = True
        finalize(self, give_back, queue, memory, self._tapes).atexit = False

    def keep(self, counts: Sequence[int]) -> bool:
        """Let the queue keep a launch that begins a batch, if it was seen often enough; return whether it does."""
        queue, program = self._queue, self._program()
        if not self._is_on or queue.lone is not None or queue.is_held or program is None:
            return False
        key = tuple(counts), bytes(program.arguments)
        found = self._launches.get(key) or self._made(program, key)
        if found is None:
            return False
        queue.require()
        queue.lone, queue.recorded = LoneLaunch(program, key, *found), 0
        queue.recent.append(program.name)
        if sum(counts) >= EAGER_THREADS:
            queue.offer()
        return True

    def _made(self, program: Any, key: Key) -> tuple[Tape, Submission] | None:
        """Return the buffer of a launch that was seen often enough, recorded now."""
        seen = self._seen.get(key, 0) + 1
        if seen < REPEATS or len(self._launches) >= MOST_BUFFERS:
            if len(self._seen) >= MOST_SEEN:
                self._seen.clear()
                self._is_on = False
            self._seen[key] = seen
            return None
        del self._seen[key]
        self._queue.require()
        tape = Tape(self._queue, self._memory)
        self._tapes.append(tape)
        tape.record([Launch(program, *key)], is_last=True, is_first=True)
        tape.forget_programs()
        found = self._launches[key] = tape, self._queue.make_submission([tape.handle])
        return found
