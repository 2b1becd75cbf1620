"""The times of all tasks of a session by the device's clock, for `ti.profiler`; with `ti.init(kernel_profiler=True)`.

In: the program of each instance. Out: a program that puts a time stamp before and after each task, and `LaunchTime`s,
which are read when somebody asks: CUDA events, Vulkan's queries, the host's clock for C and the interpreter. Tasks that
are timed do not overlap. Without the option nothing of this is loaded, and no launch pays for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary, ref

from ..locks import new_lock
from ..session.session import Session

if TYPE_CHECKING:
    from ..devices.device import Device, GpuDevice

DELAY_SECONDS = 3e-5
"""How long a GPU waits before a task, until stamps and task are queued: else the time would include Python's."""
MOST_QUEUED = 1000
"""Spans after which the stamps are read: each takes two objects of the driver."""


@dataclass(frozen=True, slots=True)
class LaunchTime:
    """One task of one launch.

    kernel, task: names; equal if the kernel has one task. launch: number of the launch in the session.
    start: when it started, counted from the start of the profile [s]: not before Python submitted it, nor before the
      task before it had ended. seconds: how long it took.
    count: its trip count, -1 if only the device knows it. arguments: as packed.
    instance: returns what was launched, None once that is gone.
    """

    kernel: str
    task: str
    launch: int
    start: float
    seconds: float
    count: int = -1
    arguments: bytes = b""
    instance: Any = None


@dataclass(frozen=True, slots=True)
class _Span:
    """A task whose time stamps were not read yet. submitted: by this process's clock [s]."""

    kernel: str
    task: str
    launch: int
    submitted: float
    count: int
    arguments: bytes
    instance: Any


class Profile:
    """The times of one session. clock: what they were measured by."""

    def __init__(self, device: Device) -> None:
        timer = device.timer()
        self._device, self._timer = device, timer
        self._lock = new_lock()
        self._queued: list[_Span] = []
        self._records: list[LaunchTime] = []
        self._begin = time.perf_counter()
        self._launches = 0
        self.clock = timer.clock

    def run(self, watched: TimedProgram, counts: Sequence[int], given: tuple[Any, ...]) -> None:
        """Submit the tasks of a launch one by one, each between two stamps."""
        with self._lock:
            self._launches += 1
            packed = given[0] if given and isinstance(given[0], bytes) else bytes(watched.arguments)
            with self._on_stream(given):
                self._run_tasks(watched, counts, given, packed)
            if len(self._queued) >= MOST_QUEUED:
                self._read()

    def _on_stream(self, given: tuple[Any, ...]) -> AbstractContextManager[None]:
        """Let the stamps be on the stream that a launch was given: torch's, of a launch with tensors."""
        if not (given and isinstance(given[0], int)):
            return nullcontext()
        return cast("GpuDevice", self._device).on_stream(given[0], None)

    def _run_tasks(self, watched: TimedProgram, counts: Sequence[int], given: tuple[Any, ...], packed: bytes) -> None:
        """Submit the tasks of a launch, each between two stamps."""
        for index, task in enumerate(watched.tasks):
            count = -1 if watched.is_whole else counts[index]
            if count == 0:
                continue
            submitted = time.perf_counter()
            self._timer.delay(DELAY_SECONDS)
            self._timer.start()
            try:
                watched.submit_task(index, counts, *given)
            finally:
                self._timer.stop()
                span = _Span(watched.kernel, task, self._launches, submitted, count, packed, watched.instance)
                self._queued.append(span)

    def records(self) -> list[LaunchTime]:
        """Wait for all launches, and return their times in order."""
        with self._lock:
            self._read()
            return list(self._records)

    def clear(self) -> None:
        """Forget all times."""
        with self._lock:
            self._read()
            self._records.clear()
            self._begin = time.perf_counter()

    @contextmanager
    def apart(self) -> Iterator[Callable[[], list[LaunchTime]]]:
        """Keep the launches of a `with` block out of the profile; yields a function that returns their times."""
        before, found = self.records(), list[LaunchTime]()
        try:
            yield lambda: found
        finally:
            with self._lock:
                found += self.records()[len(before) :]
                self._records = before

    def end(self) -> None:
        """Free the stamps, since the session ends."""
        self._timer.close()

    def _read(self) -> None:
        times, queued = self._timer.read(), self._queued
        self._queued = []
        end = self._records[-1].start + self._records[-1].seconds if self._records else 0.0
        for span, seconds in zip(queued, times, strict=True):
            start = max(end, span.submitted - self._begin)
            end = start + seconds
            self._records.append(
                LaunchTime(
                    span.kernel, span.task, span.launch, start, seconds, span.count, span.arguments, span.instance
                )
            )


class TimedProgram:
    """A program that times its tasks. tasks: their names."""

    def __init__(self, profile: Profile, instance: Any, program: Any) -> None:
        self._profile, self._program = profile, program
        self.kernel = instance.module.kernel
        self.is_whole = program.is_whole
        self.tasks = [self.kernel] if self.is_whole else [task.name for task in instance.module.tasks]
        self.instance = ref(instance)
        self.arguments = program.arguments
        self.lock = program.lock
        self.use_textures = getattr(program, "use_textures", None)
        self.submit_task = program.submit_task

    def submit(self, counts: Sequence[int], *given: Any) -> None:
        """Start all tasks."""
        self._profile.run(self, counts, given)

    def instantiate(self) -> Any:
        """Return a new instance of the program, which is not timed."""
        return self._program.instantiate()


PROFILES: WeakKeyDictionary[Session, Profile] = WeakKeyDictionary()
"""By session; made with its first launch that is timed."""


def profile_of(session: Session) -> Profile:
    """Return the times of a session."""
    found = PROFILES.get(session)
    if found is None:
        found = PROFILES[session] = Profile(session.device)
        session.register(found)
    return found


def timed(instance: Any, program: Any) -> Any:
    """Return a program that times what it submits; programs that submit nothing, but record, are returned as given."""
    return TimedProgram(profile_of(instance.session), instance, program) if hasattr(program, "submit_task") else program
