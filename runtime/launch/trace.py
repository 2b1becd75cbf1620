"""`with ti.trace() as t:` records what happens to kernels: registration, instantiation, passes, compilers, launches.

In: the events of `runtime/events.py`. Out: `Trace`, a table, and a file for Chrome's `about:tracing` or Perfetto.
Nothing is recorded, and no launch pays anything, outside of the `with` block.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

from ..events import CALL_OBSERVERS, LAUNCH, PASS, SINKS, Event
from ..session import session as sessions

ROWS = 200
"""Rows of the table; the file has all events."""


def _sync() -> bool:
    """Wait for all launches of the current session; return whether there is one."""
    session = sessions.active()
    if session is not None:
        session.sync()
    return session is not None


class Trace:
    """What was recorded. events: in the order in which they ended. wait: launches are timed to their end on the device.

    The time of a launch that is not waited for is that of the call in Python; the device may still be busy.
    """

    def __init__(self, wait: bool = False) -> None:
        self.events: list[Event] = []
        self.wait = wait
        self.start = perf_counter()

    def __enter__(self) -> Trace:
        self.start = perf_counter()
        SINKS.append(self._take)
        CALL_OBSERVERS.append(self._observe)
        return self

    def __exit__(self, *error: object) -> None:
        SINKS.remove(self._take)
        CALL_OBSERVERS.remove(self._observe)

    def _observe(self, kernel: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Begin a call. That there is an observer makes calls look for sinks."""
        if self.wait:
            _sync()

    def _take(self, event: Event) -> None:
        if self.wait and event.stage == LAUNCH and _sync():
            event = Event(
                event.stage, event.name, event.kernel, event.start, perf_counter() - event.start, event.thread,
                event.details,
            )  # fmt: skip
        self.events.append(event)

    def of(self, stage: str) -> list[Event]:
        """Return the events of one stage: "registration", "instantiation", "stage", "pass", "compiler", "launch"..."""
        return [event for event in self.events if event.stage == stage]

    def seconds(self, stage: str) -> float:
        """Return the time of all events of a stage [s]."""
        return sum(event.seconds for event in self.of(stage))

    def chrome(self) -> dict[str, Any]:
        """Return the events as Chrome's trace event format has them."""
        events = [
            {
                "name": event.name, "cat": event.stage, "ph": "X", "pid": os.getpid(), "tid": event.thread,
                "ts": 1e6 * (event.start - self.start), "dur": 1e6 * event.seconds,
                "args": {"kernel": event.kernel, **event.details},
            }
            for event in self._in_order()
        ]  # fmt: skip
        return {"traceEvents": events, "displayTimeUnit": "ms", "otherData": {"recorder": "shadesmith"}}

    def export(self, path: str | os.PathLike[str]) -> Path:
        """Write the events as JSON for `about:tracing` or https://ui.perfetto.dev; return the path. Raises: OSError."""
        file = Path(path).expanduser()
        file.write_text(json.dumps(self.chrome(), default=str), encoding="utf-8")
        return file

    def _in_order(self) -> list[Event]:
        """Return the events by their start, outer ones before those inside."""
        return sorted(self.events, key=lambda event: (event.start, -event.seconds))

    def __iter__(self) -> Iterator[Event]:
        return iter(self._in_order())

    def __str__(self) -> str:
        ordered = [event for event in self._in_order() if not _changes_nothing(event)]
        idle = [event for event in self.events if _changes_nothing(event)]
        lines = [f"{'at':>10}  {'for':>10}  {'stage':<13}  what"]
        for event, depth in list(_with_depths(ordered))[:ROWS]:
            details = ", ".join(_shown(name, value) for name, value in event.details.items() if _shown(name, value))
            what = event.name if event.kernel in event.name else f"{event.name} of {event.kernel}"
            at, length = 1e3 * (event.start - self.start), 1e3 * event.seconds
            what += f" ({details})" if details else ""
            lines.append(f"{at:7.3f} ms  {length:7.3f} ms  {event.stage:<13}  {'  ' * depth}{what}")
        if len(ordered) > ROWS:
            lines.append(f"and {len(ordered) - ROWS} more, which `export` writes")
        if idle:
            seconds = sum(event.seconds for event in idle)
            lines.append(f"{len(idle)} further runs of passes, {1e3 * seconds:.3f} ms, change nothing")
        return "\n".join(lines)


def _shown(name: str, value: object) -> str:
    """Return a detail as the table shows it."""
    return "" if name == "changed" or value == "generated" else f"{name} {value}"


def _changes_nothing(event: Event) -> bool:
    return event.stage == PASS and not event.details["changed"]


def _with_depths(events: list[Event]) -> Iterator[tuple[Event, int]]:
    """Yield events in order with the number of those around each."""
    around: list[Event] = []
    for event in events:
        around = [o for o in around if o.thread != event.thread or o.start + o.seconds > event.start]
        yield event, sum(other.thread == event.thread for other in around)
        around.append(event)


def trace(wait: bool = False) -> Trace:
    """Return a context manager that records what happens to kernels inside its `with` block.

    wait: wait for each launch, so that its time is that on the device; launches do not overlap then.

    Example:
        >>> @ti.kernel
        ... def fill(x: ti.types.ndarray(ti.f32, 1)):
        ...     for i in x:
        ...         x[i] = i
        >>> with ti.trace() as trace:
        ...     fill(ti.ndarray(ti.f32, 4))
        >>> type(trace).__name__
        'Trace'
    """
    return Trace(wait)
