"""Streams and events of a GPU, by CuPy.

In: a device. Out: streams that launches use, the order between two of them, moments in them, and how far the GPU lags.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from itertools import count
from typing import Any

from .driver_objects import CudaEvent

LAUNCHES = 16
"""Launches from one look at the backlog to the next: a GPU that lags by more has one."""


def make_stream(device: Any) -> Any:
    """Return a new stream, which does not wait for the default stream."""
    try:
        return device.cupy.cuda.Stream(non_blocking=True)
    except device.failure as error:
        raise device.describe(error) from error


def make_event(device: Any) -> Any:
    """Return a new event with a time."""
    try:
        return CudaEvent(device.runtime, timed=True)
    except device.failure as error:
        raise device.describe(error) from error


def record_event(device: Any, event: Any, stream: int) -> None:
    """Place an event after the work on a stream so far."""
    device.runtime.eventRecord(event.ptr, stream)


def wait_event(device: Any, stream: int, event: Any) -> None:
    """Let later work on a stream wait for an event."""
    device.runtime.streamWaitEvent(stream, event.ptr)


def elapsed_ms(device: Any, begin: Any, end: Any) -> float:
    """Return the time between two events that have occurred [ms]."""
    return float(begin.ms_until(end))


@contextmanager
def on_stream(device: Any, handle: int, owner: Any) -> Iterator[None]:
    """Make a stream CuPy's and torch's current one in this thread. owner: what keeps it valid."""
    of_cupy = device.cupy.cuda
    is_own = isinstance(owner, (of_cupy.Stream, of_cupy.ExternalStream))
    own = owner if is_own else _stream_of(of_cupy, handle, owner, device.index)
    torch: Any = sys.modules.get("torch")
    is_used = torch is not None and hasattr(torch, "cuda") and torch.cuda.is_initialized()
    of_torch = torch.cuda.stream(torch.cuda.ExternalStream(handle, device=device.index)) if is_used else nullcontext()
    with own, of_torch:
        yield


class _External:
    """A stream of another library, as CuPy takes it. owner: what keeps it valid."""

    def __init__(self, handle: int, owner: Any) -> None:
        self._handle, self.owner = handle, owner

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self._handle


def _stream_of(of_cupy: Any, handle: int, owner: Any, index: int) -> Any:
    """Return a stream of another library as CuPy's."""
    from_external = getattr(of_cupy.Stream, "from_external", None)  # since CuPy 14, for which the other is deprecated
    return of_cupy.ExternalStream(handle, index) if from_external is None else from_external(_External(handle, owner))


class Backlog:
    """What waits for a GPU on its default stream: if much does, launches serve the GPU, else the host.

    The driver starts a graph in less time than a kernel, but the more different graphs wait, the later it runs each.

    Attributes:
        is_long: at the last look the GPU had not ended what was launched before the look before.
        launches: counts those that look at all.
    """

    __slots__ = ("_event", "_failure", "_runtime", "is_long", "launches")

    def __init__(self, runtime: Any, failure: tuple[type[Exception], ...]) -> None:
        self._runtime, self._failure = runtime, failure
        self._event: CudaEvent | None = None
        self.is_long = False
        self.launches: Iterator[int] = count(1)

    def look(self) -> None:
        """Update `is_long`; a launch that failed is reported by the next call that starts or waits."""
        with suppress(*self._failure):
            if self._event is None:
                self._event = CudaEvent(self._runtime)
            else:
                self.is_long = not self._event.done
            self._runtime.eventRecord(self._event.ptr, 0)

    def end(self) -> None:
        """Record that nothing waits for the GPU."""
        self.is_long = False
