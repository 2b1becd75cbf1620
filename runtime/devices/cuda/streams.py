"""Streams and events of a GPU, by CuPy.

In: a device. Out: streams that launches use, the order between two of them, and moments in them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from .driver_objects import CudaEvent


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
