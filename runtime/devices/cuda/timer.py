"""Events of a CUDA stream: two per span, recorded between launches on CuPy's current stream.

In: spans between launches. Out: seconds by the GPU's clock. An idle GPU stamps an event at once, and the span would
include the time that Python takes to launch the next kernel: so before a span a kernel keeps the GPU busy until the
whole span has been queued.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

from .driver_objects import CudaEvent
from .nvrtc import compile_cubin

MAX_HOLD_SECONDS = 0.01
"""Limit of the delay: a GPU that also drives a display must not be blocked for long."""

BUSY = """\
extern "C" __global__ void keep_busy(unsigned long long nanoseconds) {
    unsigned long long begin, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
    do {
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    } while (now - begin < nanoseconds);
}
"""


@cache
def _busy_cubin(arch: str) -> bytes:
    return compile_cubin(BUSY, arch, name="keep_busy.cu")[0]


class CudaTimer:
    """A timer of events of a device."""

    clock = "the device's time stamps"
    resolution = 5e-7
    """As documented for `cudaEventElapsedTime`."""

    def __init__(self, device: Any) -> None:
        self._device = device
        self._describe, self._failure = device.describe, device.failure
        self._spans: list[tuple[CudaEvent, Any]] = []
        self._idle: list[CudaEvent] = []
        self._loaded = device.load_code(_busy_cubin(device.arch))
        self._busy = self._loaded.function("keep_busy")
        self._nanoseconds = ctypes.c_ulonglong()
        self._parameters = (ctypes.c_void_p * 1)(ctypes.addressof(self._nanoseconds))

    def delay(self, seconds: float) -> None:
        """Keep the GPU busy for some seconds."""
        self._device.enter()  # the driver's launch, unlike CuPy's runtime, gives a new thread no context
        self._nanoseconds.value = int(min(seconds, MAX_HOLD_SECONDS) * 1e9)
        stream = self._device.current_stream().ptr
        address = ctypes.addressof(self._parameters)
        try:
            self._device.launch_kernel(self._busy, 1, 1, 1, 1, 1, 1, 0, stream, address, 0)
        except self._failure as error:
            raise self._describe(error) from error

    def start(self) -> None:
        """Record the first event of a span."""
        self._spans.append((self._record(), None))

    def stop(self) -> None:
        """Record the second event."""
        begin, _ = self._spans.pop()
        self._spans.append((begin, self._record()))

    def _record(self) -> CudaEvent:
        try:
            event = self._idle.pop() if self._idle else CudaEvent(self._device.runtime, timed=True)
            self._device.runtime.eventRecord(event.ptr, self._device.current_stream().ptr)
        except self._failure as error:
            raise self._describe(error) from error
        return event

    def read(self) -> list[float]:
        """Wait, and return the lengths of all spans since the last `read` [s]."""
        spans, self._spans = self._spans, []
        if not spans:
            return []
        try:
            spans[-1][1].synchronize()
            found = [begin.ms_until(end) * 1e-3 for begin, end in spans]
        except self._failure as error:
            raise self._describe(error) from error
        self._idle += [event for span in spans for event in span]
        return found

    def close(self) -> None:
        """Free the events."""
        self._spans, self._idle = [], []
