"""Recordings for devices that finish a launch inside `submit`: launches with packed arguments.

In: launches. Out: `Calls`, which runs them one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .device import Launch

Call = tuple[Any, Sequence[int], bytes]
"""A program's `submit`, counts, packed arguments."""


class Calls:
    """Launches of programs without a lock, whose `submit` takes the packed arguments."""

    def __init__(self, launches: Sequence[Launch]) -> None:
        self._calls = [_call(launch) for launch in launches]

    def update(self, number: int, launch: Launch) -> None:
        """Replace a launch."""
        self._calls[number] = _call(launch)

    def run(self) -> None:
        """Run all launches."""
        for submit, counts, arguments in self._calls:
            submit(counts, arguments)


def _call(launch: Launch) -> Call:
    return launch.program.submit, launch.counts, launch.arguments


class LockedCalls:
    """Launches of programs that own their argument buffer, which is packed under a lock."""

    def __init__(self, launches: Sequence[Launch]) -> None:
        self._launches = list(launches)

    def update(self, number: int, launch: Launch) -> None:
        """Replace a launch."""
        self._launches[number] = launch

    def run(self) -> None:
        """Run all launches."""
        for launch in self._launches:
            program = launch.program
            with program.lock:
                program.arguments[: len(launch.arguments)] = launch.arguments
                program.submit(launch.counts)
