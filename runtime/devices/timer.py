"""How long work takes on a device: spans of work between two time stamps, read all at once.

In: `start` and `stop` around launches, in order with them. Out: seconds. GPUs take the time on their own clocks, so a
launch from Python costs nothing in it; here are the protocol and what serves for devices that are this process.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol


class Timer(Protocol):
    """Takes the time of spans of work. Use it from one thread; other threads should not launch meanwhile.

    clock: whose it is, in words. resolution: the shortest time it can tell from none [s].
    """

    clock: str
    resolution: float

    def delay(self, seconds: float) -> None:
        """Keep the device from what follows until all of it is given, up to `stop`; or for some seconds.

        Else a device that is faster than Python waits between two launches, and that time is in the span.
        """

    def start(self) -> None:
        """Begin a span, once all work before has ended."""

    def stop(self) -> None:
        """End the span when all work so far has."""

    def read(self) -> list[float]:
        """Wait, and return the lengths of all spans since `read` was last called [s]."""

    def close(self) -> None:
        """Give up what belongs to the device."""


class HostTimer:
    """A timer by this process's clock, for devices that run where Python does or have no clock.

    synchronize: waits for what was launched.
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
        """Begin a span, once all work before has ended."""
        self._synchronize()
        self._begin = time.perf_counter_ns()

    def stop(self) -> None:
        """End the span when all work so far has."""
        self._synchronize()
        self._spans.append((time.perf_counter_ns() - self._begin) * 1e-9)

    def read(self) -> list[float]:
        """Return the lengths of all spans since `read` was last called [s]."""
        spans, self._spans = self._spans, []
        return spans

    def close(self) -> None:
        """Nothing to do."""
