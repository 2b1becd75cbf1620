"""Launches that repeat, recorded once: one of several tasks is one command, one that is alone needs no recording.

In: a program whose arguments are packed, and trip counts. Out: `Repeats.submit`, which starts the launch if an
equal one was recorded: with the same trip counts and the same packed arguments, which hold all addresses. Programs
with textures, or with arguments that do not fit into push constants, have none.

A launch that finds no open command buffer is held by the queue: if something waits for it at once, as in a loop of
`kernel(); ti.sync()`, a command buffer of its own is submitted: on an H200 the two take 18 us in place of 24.
`ti.init(task_graphs=False)` switches all of it off.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from weakref import finalize

from .queue import Queue, Repeat

REPEATS = 3
"""The launch that is recorded for later ones, which takes 20 us."""
MOST_REPEATS = 64
"""Recorded launches of a program: one for each time step of a frame, say."""
MOST_SEEN = 256
"""Launches of which none repeats, after which none is looked at any more."""


Key = tuple[tuple[int, ...], bytes]
"""Trip counts and packed arguments."""


class Page:
    """A command buffer in place of a queue: `submit_held` records into it."""

    def __init__(self, queue: Queue) -> None:
        self.commands: Any = None
        self.recorded = 0
        self.limit = queue.limit
        self.recent: list[str] = []
        self.stages, self.barrier = queue.stages, queue.barrier

    def offer(self) -> None:
        """Do nothing: `submit_held` calls this after much work."""


class Repeats:
    """The recorded launches of one program.

    is_on: False once so many launches have differed from each other that no more are looked at.
    """

    __slots__ = (
        "__weakref__",
        "_arguments",
        "_handles",
        "_recorded",
        "_queue",
        "_record",
        "_seen",
        "is_on",
        "_name",
    )

    def __init__(self, queue: Queue, name: str, arguments: Any, onto: Callable[[Any], Any]) -> None:
        """arguments: the block that a launcher packs. onto: returns the program, recording into another queue."""
        self._queue, self._name, self._arguments, self._record = queue, name, arguments, onto
        self._recorded: dict[Key, Repeat] = {}
        self._seen: dict[Key, int] = {}
        self._handles: list[Any] = []
        self.is_on = True
        finalize(self, _give_back, queue, self._handles).atexit = False

    def submit(self, counts: Sequence[int]) -> bool:
        """Start a launch with the packed arguments, and return whether that was possible. The queue's lock is held."""
        key = tuple(counts), self._arguments[:]
        repeat = self._recorded.get(key)
        if repeat is None:
            repeat = self._look_at(key)
            if repeat is None:
                return False
        queue = self._queue
        if queue.commands is None and queue.held is None:
            queue.hold(repeat)
        else:
            queue.insert(repeat)
        return True

    def _look_at(self, key: Key) -> Repeat | None:
        """Return a launch, recorded now if it was seen often enough."""
        seen = self._seen.get(key, 0) + 1
        if seen < REPEATS:
            if len(self._seen) >= MOST_SEEN:
                self._seen.clear()
                self.is_on = False
            self._seen[key] = seen
            return None
        if len(self._recorded) >= MOST_REPEATS:
            return None
        del self._seen[key]
        repeat = self._recorded[key] = self._make(*key)
        return repeat

    def _make(self, counts: Sequence[int], arguments: bytes) -> Repeat:
        queue = self._queue
        queue.require()
        inner, alone = queue.allocate_commands(is_inner=True), queue.allocate_commands()
        self._handles += inner, alone
        page = Page(queue)
        program = self._record(page)
        program.arguments[:] = arguments
        for handle in (inner, alone):
            queue.begin_tape(handle, is_inner=handle is inner)
            page.commands, page.recorded = handle, 0
            program.submit_held(counts)
            queue.end_tape(handle, is_last=handle is alone)
        array = queue.api.array("VkCommandBuffer", [inner])
        return Repeat(self._name, page.recorded, array, queue.make_submission([alone]))


def _give_back(queue: Queue, handles: list[Any]) -> None:
    if handles:
        queue.defer(lambda: queue.free_commands(handles))
