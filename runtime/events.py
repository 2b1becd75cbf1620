"""What happens between the definition of a kernel and its launch, for `ti.trace`.

In: notes of what just ended, at the places where it happens. Out: `Event`s, handed to each of `SINKS`. Without a sink a
note is one look at an empty list, and no launch has even that (`launch/kernel.py`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import field
from time import perf_counter
from typing import Any

from ..transpiler.lazy_dataclasses import dataclass

REGISTRATION, INSTANTIATION, CACHE = "registration", "instantiation", "cache"
STAGE, PASS, COMPILER, LAUNCH = "stage", "pass", "compiler", "launch"


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened.

    stage: one of the constants of this module. name: of the kernel, of the pass, of the compiler.
    kernel: the kernel that it is about. start: by `perf_counter` [s]. thread: identity of the thread.
    """

    stage: str
    name: str
    kernel: str
    start: float
    seconds: float
    thread: int
    details: dict[str, Any] = field(default_factory=dict)


CALL_OBSERVERS: list[Callable[..., Any]] = []
"""Observers of the calls of all kernels (`launch/kernel.py`). Without observers a call only checks that it is empty."""

SINKS: list[Callable[[Event], None]] = []
"""Receive every event."""


def note(stage: str, name: str, kernel: str, start: float, seconds: float | None = None, **details: Any) -> None:
    """Hand an event to all sinks. seconds: None: it ends now."""
    if SINKS:
        length = perf_counter() - start if seconds is None else seconds
        event = Event(stage, name, kernel, start, length, threading.get_ident(), details)
        for sink in tuple(SINKS):
            sink(event)
