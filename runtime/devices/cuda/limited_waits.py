"""Waits for a GPU that end although a kernel does not: CUDA has no call that stops a kernel.

In: a device. Out: whether its launches have ended within some seconds; a device that refuses all later use.
"""

from __future__ import annotations

import time
from typing import Any, NoReturn

from ....transpiler.errors import TaichiRuntimeError
from .driver_objects import CudaEvent

FIRST_PAUSE, LONGEST_PAUSE = 2e-5, 1e-3
"""Between two questions to the driver [s]: the first ones follow each other fast, since most kernels are short."""

NOT_READY = 600
"""`cudaErrorNotReady`."""

STUCK: dict[int, str] = {}
"""By GPU, why this process cannot use it any more: its context runs a kernel that does not end."""


def finish_within(device: Any, seconds: float, stream: int | None = None) -> bool:
    """Wait for the launches of a stream, CuPy's current one if none is given; return whether they have ended."""
    require(device.index)
    event = CudaEvent(device.runtime)
    device.runtime.eventRecord(event.ptr, device.current_stream().ptr if stream is None else stream)
    end, pause = time.monotonic() + seconds, FIRST_PAUSE
    while _is_running(device, event):
        if time.monotonic() > end:
            STUCK_EVENTS.append(event)
            return False
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)
    return True


def _is_running(device: Any, event: Any) -> bool:
    """Return whether the work before an event goes on. After a fault it does not; the next wait reports it."""
    try:
        return bool(device.runtime.eventQuery(event.ptr) == NOT_READY)
    except device.failure:
        return False


STUCK_EVENTS: list[Any] = []
"""Events that nothing may destroy, since that would wait."""


def refuse(device: Any, reason: str) -> None:
    """Let a device refuse all later use, for a reason."""
    STUCK[device.index] = reason
    device.runtime = refusing = _Refusing(reason)
    for name in ("build", "load", "allocate", "allocate_pinned"):  # the driver waits in these too

        def refused(*args: Any, name: str = name, **options: Any) -> Any:
            return getattr(refusing, name)

        setattr(device, name, refused)


def require(index: int) -> None:
    """Raise TaichiRuntimeError for a GPU that runs a kernel without end."""
    if index in STUCK:
        raise TaichiRuntimeError(STUCK[index], "start the program again")


class _Refusing:
    """In place of CUDA's runtime."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def __getattr__(self, name: str) -> NoReturn:
        raise TaichiRuntimeError(self._reason, "start the program again")
