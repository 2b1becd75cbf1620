"""The times of all launches of a session, for `ti.profiler`; only with `ti.init(kernel_profiler=True)`.

In: a launch. Out: a launch that waits for its end and records its time: launches that are timed do not overlap.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from ..session.session import Session


@dataclass(frozen=True, slots=True)
class LaunchTime:
    """One launch. start, seconds: since the first launch, and how long it took [s]."""

    name: str
    start: float
    seconds: float


RECORDS: WeakKeyDictionary[Session, list[LaunchTime]] = WeakKeyDictionary()
"""By session, in order."""


def timed(session: Session, name: str, launch: Callable[..., Any]) -> Callable[..., Any]:
    """Return `launch` of kernel `name` with its time recorded."""
    records = RECORDS.setdefault(session, [])

    def run(*args: Any) -> Any:
        session.sync()
        start = time.perf_counter()
        result = launch(*args)
        session.sync()
        end = time.perf_counter()
        records.append(LaunchTime(name, start, end - start))
        return result

    return run
