"""Timing of work on a device: spans between two time stamps, which are read together.

In: `start` and `stop` around launches, in order with them. Out: seconds. GPUs use their own clocks, so the time of a
launch in Python is not included. This module has the protocol, and the timer for devices that run in this process.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol


class Timer(Protocol):
    """Measures spans of work. Use it from one thread, while other threads launch nothing.

    clock: name of the clock. resolution: the shortest measurable time [s].
    """

    clock: str
    resolution: float

    def delay(self, seconds: float) -> None:
        """Delay the work that follows until all of it is queued, up to `stop`, or for `seconds`.

        Without the delay a device that is faster than Python would wait between two launches, and the span would
        include this time.
        """

    def start(self) -> None:
        """Start a span when all earlier work has ended."""

    def stop(self) -> None:
        """End the span when all work so far has ended."""

    def read(self) -> list[float]:
        """Wait, and return the lengths of all spans since the last `read` [s]."""

    def close(self) -> None:
        """Free the timer's resources on the device."""


class HostTimer:
    """A timer by this process's clock, for devices that run in this process or have no clock.

    synchronize: waits for all launches.
    """

    clock = "the host's clock"
    resolution = 1e-6

    def __init__(self, synchronize: Callable[[], None]) -> None:
        self._synchronize = synchronize
        self._spans: list[float] = []
        self._begin = 0

    def delay(self, seconds: float) -> None:
        """Do nothing: launches do not run ahead."""

    def start(self) -> None:
        """Start a span when all earlier work has ended."""
        self._synchronize()
        self._begin = time.perf_counter_ns()

    def stop(self) -> None:
        """End the span when all work so far has ended."""
        self._synchronize()
        self._spans.append((time.perf_counter_ns() - self._begin) * 1e-9)

    def read(self) -> list[float]:
        """Return the lengths of all spans since the last `read` [s]."""
        spans, self._spans = self._spans, []
        return spans

    def close(self) -> None:
        """Do nothing: there are no resources."""
