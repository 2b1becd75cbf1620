"""Statistics of the cache in this process: hits, misses and their reasons, compiler runs, seconds spent on keys.

The counters cover the whole process, since several sessions share a cache. `ti.cache.stats()` shows them.
"""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter

from ...transpiler.lazy_dataclasses import dataclass
from ..locks import new_lock
from ..viewed import Viewed

LOGGER = logging.getLogger("shadesmith")
LISTENERS: list[Callable[[Event], object]] = []
"""Called with each look-up, in the thread that compiles: `ti.init(on_compile=...)`."""
MAX_EVENTS = 4096
"""Length limit of `Stats.events`, which has the newest."""


@dataclass(frozen=True, slots=True)
class Event:
    """One look-up in the cache.

    stage: "text", "ir" or "binary".
    what: the kernel or file, for people.
    reason: why it missed, or where a hit came from.

    Example:
        >>> ti.cache.Event("text", "fill", False, "no entry").hit
        False
    """

    stage: str
    what: str
    hit: bool
    reason: str

    def __str__(self) -> str:
        return f"{'hit ' if self.hit else 'miss'} {self.stage:<6} {self.what or '-'}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Stats(Viewed):
    """Statistics of the cache in this process so far.

    hits, misses, stored: numbers by stage.
    frontend_runs: kernels that the frontend built from Python.
    compiler_runs: number of runs by tool.
    compiler_seconds: time in which at least one compiler ran.
    key_seconds: time spent on keys.
    disk_seconds: time spent on reading and writing entries.
    events: all look-ups, in order.

    Example:
        >>> ti.cache.stats().frontend_runs >= 0
        True
    """

    hits: dict[str, int]
    misses: dict[str, int]
    stored: dict[str, int]
    frontend_runs: int
    compiler_runs: dict[str, int]
    compiler_seconds: float
    key_seconds: float
    disk_seconds: float
    events: tuple[Event, ...]

    def __str__(self) -> str:
        stages = sorted({*self.hits, *self.misses, *self.stored})
        lines = [
            f"{stage:<8}{self.hits.get(stage, 0):>6} hits {self.misses.get(stage, 0):>6} misses"
            f" {self.stored.get(stage, 0):>6} stored"
            for stage in stages
        ]
        compilers = ", ".join(f"{name}: {count}" for name, count in sorted(self.compiler_runs.items())) or "none"
        compilers += f", {self.compiler_seconds:.3f} s" if self.compiler_runs else ""
        lines += [
            f"frontend runs: {self.frontend_runs}; compiler runs: {compilers}",
            f"keys: {1e3 * self.key_seconds:.2f} ms; reading and writing: {1e3 * self.disk_seconds:.2f} ms",
        ]
        reasons = Counter((event.stage, event.reason) for event in self.events if not event.hit)
        lines += [f"{count:>6} x {stage}: {reason}" for (stage, reason), count in reasons.most_common()]
        return "\n".join(lines)


class Counts:
    """The counters; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._hits: Counter[str] = Counter()
        self._misses: Counter[str] = Counter()
        self._stored: Counter[str] = Counter()
        self._compiler_runs: Counter[str] = Counter()
        self._frontend_runs = 0
        self._key_seconds = self._disk_seconds = self._compiler_seconds = 0.0
        self._compiling, self._compiling_since = 0, 0.0
        self._events: deque[Event] = deque(maxlen=MAX_EVENTS)

    def hit(self, stage: str, what: str, where: str) -> None:
        """Count a hit. where: for example "disk"."""
        self._note(Event(stage, what, True, where), self._hits)

    def miss(self, stage: str, what: str, reason: str) -> None:
        """Count a miss with its reason."""
        self._note(Event(stage, what, False, reason), self._misses)

    def _note(self, event: Event, counter: Counter[str]) -> None:
        with self._lock:
            counter[event.stage] += 1
            self._events.append(event)
        LOGGER.debug("cache: %s", event)
        for listener in LISTENERS:
            listener(event)

    def stored(self, stage: str) -> None:
        """Count a stored entry."""
        with self._lock:
            self._stored[stage] += 1

    def frontend_ran(self) -> None:
        """Count a run of the frontend."""
        with self._lock:
            self._frontend_runs += 1

    def compiler_ran(self, tool: str) -> None:
        """Count a run of a compiler: a process, or NVRTC."""
        with self._lock:
            self._compiler_runs[tool] += 1

    @contextmanager
    def compiler_time(self) -> Iterator[None]:
        """Count the time inside the `with` block as compiler time; overlapping blocks count once."""
        with self._lock:
            if self._compiling == 0:
                self._compiling_since = perf_counter()
            self._compiling += 1
        try:
            yield
        finally:
            with self._lock:
                self._compiling -= 1
                if self._compiling == 0:
                    self._compiler_seconds += perf_counter() - self._compiling_since

    @contextmanager
    def key_time(self) -> Iterator[None]:
        """Count the time inside the `with` block as spent on keys."""
        start = perf_counter()
        try:
            yield
        finally:
            with self._lock:
                self._key_seconds += perf_counter() - start

    def add_disk_time(self, seconds: float) -> None:
        """Count time as spent on reading or writing entries."""
        with self._lock:
            self._disk_seconds += seconds

    def snapshot(self) -> Stats:
        """Return the counters as they are now."""
        with self._lock:
            return Stats(
                dict(self._hits),
                dict(self._misses),
                dict(self._stored),
                self._frontend_runs,
                dict(self._compiler_runs),
                self._compiler_seconds,
                self._key_seconds,
                self._disk_seconds,
                tuple(self._events),
            )


COUNTS = Counts()
"""The counters of this process."""


def stats() -> Stats:
    """Return the statistics of the cache in this process so far.

    Example:
        >>> type(ti.cache.stats().hits).__name__
        'dict'
    """
    return COUNTS.snapshot()
