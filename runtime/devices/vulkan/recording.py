"""Prerecorded command buffers: launches that are submitted repeatedly without being recorded again.

In: launches. Out: `VulkanRecording`. Each command buffer has up to `CHUNK` launches, and one submit covers all buffers.
If arguments change, only the buffers of these launches are recorded again, into other buffers if the device may still
read the old ones. Arguments that exceed the push constants are in a block that belongs to their buffer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any
from weakref import finalize

from ..device import Launch
from ..hazards import Hazards
from .memory import Memory
from .queue import BATCH, Queue, Submission

CHUNK = 64
"""Launches per command buffer: few are recorded again for a changed one, and submitting many buffers costs little."""
ARGUMENT_ALIGNMENT = 64


class Tape:
    """A prerecorded command buffer, which replaces the queue in `VulkanProgram.submit_held`.

    serial: of the last submission that reads it. arguments: memory for arguments that exceed the push constants.
    """

    def __init__(self, queue: Queue, memory: Memory) -> None:
        self._queue, self._memory = queue, memory
        self.handle = queue.allocate_commands()
        self.serial = 0
        self.arguments: Any = None
        self.arguments_used = 0
        self._programs: dict[Any, Any] = {}
        self.commands = self.handle
        self.owner = queue.owner
        self.recorded = 0
        self.limit = BATCH
        self.recent: deque[str] = deque(maxlen=0)
        self.stages, self.barrier = queue.stages, queue.barrier

    @property
    def slot(self) -> Tape:
        """The owner of the memory for arguments."""
        return self

    def record(self, launches: Sequence[Launch], is_last: bool) -> None:
        """Record launches, with a barrier before a launch that depends on another since the last barrier.

        is_last: make their writes visible to the host. The caller holds the lock.
        """
        sizes = [program.indirect_bytes for program in (launch.program for launch in launches)]
        self._reserve(sum(-(-size // ARGUMENT_ALIGNMENT) * ARGUMENT_ALIGNMENT for size in sizes))
        self.arguments_used = 0
        self._queue.begin_tape(self.handle)
        hazards, ready = Hazards(), 0
        for number, launch in enumerate(launches):
            before = hazards.add(number, launch.access_set)
            waits = number == 0 or any(other >= ready for other in before)
            if waits:
                ready = number
            self.recorded = int(waits)  # 0: no barrier before its first task
            program = self._programs.get(launch.program)
            if program is None:
                program = self._programs[launch.program] = launch.program.onto(self)
            if launch.textures:
                program.use_textures(launch.textures)
            program.arguments[:] = launch.arguments
            program.submit_held(launch.counts)  # copies the arguments
        self._queue.end_tape(self.handle, is_last)

    def offer(self) -> None:
        """Do nothing: `VulkanProgram.submit_held` calls this after many commands."""

    def _reserve(self, size_bytes: int) -> None:
        if self.arguments is not None and self.arguments.size_bytes < size_bytes:
            self._memory.destroy_block(self.arguments)
            self.arguments = None
        if size_bytes and self.arguments is None:
            self.arguments = self._memory.make_argument_block(size_bytes)


class VulkanRecording:
    """Launches in prerecorded command buffers."""

    def __init__(self, queue: Queue, memory: Memory, launches: Sequence[Launch]) -> None:
        self._queue, self._memory = queue, memory
        self._launches = list(launches)
        self._count = -(-len(launches) // CHUNK)
        self._tapes: list[Tape | None] = [None] * self._count
        self._stale = set(range(self._count))
        self._spare: list[Tape] = []
        self._all: list[Tape] = []
        self._whole: Submission | None = None
        """The submission of all command buffers, until one is replaced."""
        self._names = list(dict.fromkeys(launch.program.name for launch in launches))
        finalize(self, _give_back, queue, memory, self._all).atexit = False

    def update(self, number: int, launch: Launch) -> None:
        """Replace a launch; its command buffer is recorded again before the next run."""
        self._launches[number] = launch
        self._stale.add(number // CHUNK)

    def run(self) -> None:
        """Submit all launches. If many are recorded again, the device starts before all are recorded."""
        queue = self._queue
        with queue.lock:
            queue.require()
            begin = 0
            for chunk in sorted(self._stale):
                self._record(chunk)
                if len(self._stale) > 1:
                    self._submit(begin, chunk + 1)
                    begin = chunk + 1
            if self._stale:
                self._stale.clear()
                self._whole = None
            if begin < self._count:
                self._submit(begin, self._count)
            queue.recent.extend(self._names)

    def _submit(self, begin: int, end: int) -> None:
        tapes = [tape for tape in self._tapes[begin:end] if tape is not None]
        submission = self._whole if end - begin == self._count else None
        if submission is None:
            submission = self._queue.make_submission([tape.handle for tape in tapes])
            self._whole = submission if end - begin == self._count else self._whole
        serial = self._queue.submit(submission)
        for tape in tapes:
            tape.serial = serial

    def _record(self, chunk: int) -> None:
        tape, old = self._free_tape(), self._tapes[chunk]
        begin = chunk * CHUNK
        tape.record(self._launches[begin : begin + CHUNK], chunk == self._count - 1)
        self._tapes[chunk] = tape
        if old is not None:
            self._spare.append(old)

    def _free_tape(self) -> Tape:
        """Return an unused tape that the device does not read, or a new one."""
        self._queue.poll()
        for position, tape in enumerate(self._spare):
            if tape.serial <= self._queue.completed:
                return self._spare.pop(position)
        tape = Tape(self._queue, self._memory)
        self._all.append(tape)
        return tape


def _give_back(queue: Queue, memory: Memory, tapes: list[Tape]) -> None:
    def destroy() -> None:
        queue.free_commands([tape.handle for tape in tapes])
        for tape in tapes:
            if tape.arguments is not None:
                memory.give_block(tape.arguments)

    if tapes:
        queue.defer(destroy)
