"""Several GPUs in one process: which one is current in a thread, copies between them, a list of them.

CUDA's runtime and CuPy work on the current GPU of a thread. With one GPU open it is set once, when the device is
opened. As soon as a second one is open, the methods of a device set their own GPU and set the one before again.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

from ....transpiler.errors import TaichiRuntimeError
from .driver_objects import CudaEvent
from .opening import DRIVER, NAME_BYTES, Gpu, read_gpu

F = TypeVar("F", bound=Callable[..., Any])

OPENED: set[int] = set()
"""Numbers of the GPUs that were opened in this process."""

PEERS: dict[tuple[int, int], bool] = {}
"""Whether a GPU reads the memory of another directly, by (reader, owner)."""


def on_own_gpu(method: F) -> F:
    """Let a method of a device run with its GPU as the current one."""

    @functools.wraps(method)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        if len(OPENED) < 2:
            return method(self, *args, **kwargs)
        restore = activate(self)
        try:
            return method(self, *args, **kwargs)
        finally:
            restore()

    return cast(F, wrapper)


def all_on_own_gpu(names: Iterable[str]) -> Callable[[type], Any]:
    """Return a decorator that lets the methods of these names run with the device's GPU as the current one."""

    def decorate(kind: type) -> Any:
        for name in names:
            setattr(kind, name, on_own_gpu(getattr(kind, name)))
        return kind

    return decorate


def _nothing() -> None:
    pass


def activate(device: Any) -> Callable[[], None]:
    """Make a device's GPU the current one of this thread; return the function that makes the one before current."""
    before = device.runtime.getDevice()
    if before == device.index:
        return _nothing
    device.runtime.setDevice(device.index)
    return functools.partial(device.runtime.setDevice, before)


def copy_between(owner: Any, source: int, reader: Any, destination: int, size_bytes: int) -> None:
    """Copy from an address of one device to one of another, on the same or another GPU, in order with both streams.

    The host does not wait: the copy is on the destination's stream, after all earlier work on the source's stream, and
    later work there waits for the copy. The driver copies directly where the GPUs can do that, else through the host.
    """
    if not size_bytes:
        return
    runtime = reader.runtime
    restore = activate(owner)
    try:
        source_stream = owner.ordered_stream()
        written = CudaEvent(owner.runtime)
        owner.runtime.eventRecord(written.ptr, source_stream)
    finally:
        restore()
    restore = activate(reader)
    try:
        _let_read(runtime, reader.index, owner.index)
        stream = reader.ordered_stream()
        runtime.streamWaitEvent(stream, written.ptr)
        if reader.index == owner.index:
            runtime.memcpyAsync(destination, source, size_bytes, runtime.memcpyDeviceToDevice, stream)
        else:
            runtime.memcpyPeerAsync(destination, reader.index, source, owner.index, size_bytes, stream)
        read = CudaEvent(runtime)
        runtime.eventRecord(read.ptr, stream)
    except reader.failure as error:
        raise reader.describe(error) from error
    finally:
        restore()
    restore = activate(owner)
    try:
        owner.runtime.streamWaitEvent(source_stream, read.ptr)
    finally:
        restore()


def _let_read(runtime: Any, reader: int, owner: int) -> bool:
    """Let the current GPU read another's memory directly, if the driver allows that; return whether it does."""
    key = reader, owner
    if reader == owner:
        return True
    if key not in PEERS:
        PEERS[key] = bool(runtime.deviceCanAccessPeer(reader, owner))
        if PEERS[key]:
            with contextlib.suppress(runtime.CUDARuntimeError):  # another library has enabled it
                runtime.deviceEnablePeerAccess(owner)
    return PEERS[key]


def list_devices() -> list[tuple[str, int | None]]:
    """Return the GPUs' names with their memory [bytes]; [] without a driver. Needs no CuPy and makes no context."""
    try:
        driver = ctypes.CDLL(DRIVER)
    except OSError:
        return []
    count = ctypes.c_int()
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return []
    found: list[tuple[str, int | None]] = []
    for index in range(count.value):
        device, name, size = ctypes.c_int(), ctypes.create_string_buffer(NAME_BYTES), ctypes.c_size_t()
        driver.cuDeviceGet(ctypes.byref(device), index)
        driver.cuDeviceGetName(name, NAME_BYTES, device)
        driver.cuDeviceTotalMem_v2(ctypes.byref(size), device)
        found.append((name.value.decode(errors="replace"), size.value))
    return found


def enter_gpu(runtime: Any, index: int | str) -> tuple[int, int, Gpu]:
    """Make a GPU the thread's current one; return its number, the one before, and what it is."""
    number, before = _number_of(index, runtime.getDeviceCount()), runtime.getDevice()
    runtime.setDevice(number)
    runtime.free(0)  # creates the context, which loading a kernel needs
    gpu = read_gpu(number)
    assert gpu is not None
    return number, before, gpu


def _number_of(index: int | str, count: int) -> int:
    """Return the number of a GPU given by that or part of its name. Raises: TaichiRuntimeError if it is missing."""
    if isinstance(index, int):
        numbers = [index] if index < count else []
    else:
        names = enumerate(name.lower() for name, _ in list_devices())
        numbers = [number for number, name in names if index.lower() in name]
    if not numbers:
        shown = f"number {index}" if isinstance(index, int) else f"`{index}`"
        raise TaichiRuntimeError(f"There is no GPU {shown}: the driver shows {count}.")
    return numbers[0]
