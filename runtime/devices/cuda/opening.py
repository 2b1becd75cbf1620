"""Opens a GPU in another thread: the driver needs 0.2 to 0.3 s for it, in which Python can import what a program needs.

In: the number of a GPU. Out: what is known of it, after half of this time, and an opening that can be waited for. Only
modules of Python's library are imported here, so that `ti.init` can begin before the rest of this package is imported.
Failures are reported by the calls that follow.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
from collections.abc import Callable, Mapping
from typing import NamedTuple

DRIVER = "nvcuda.dll" if os.name == "nt" else "libcuda.so.1"


NAME_BYTES = 256

MULTIPROCESSORS, THREADS_OF_MULTIPROCESSOR, MAJOR, MINOR = 16, 39, 75, 76
"""Attributes of the driver's `CUdevice_attribute`."""


class Gpu(NamedTuple):
    """What the driver knows of a GPU without a context. arch: "sm_90"; resident_threads: how many it runs at once."""

    title: str
    arch: str
    resident_threads: int
    driver: str


def read_gpu(number: int) -> Gpu | None:
    """Return what the driver, which has been started, knows of a GPU; None if it refuses to say it.

    Each question takes a microsecond, and Python's lock is held: once released, another thread that imports may have
    it for 5 ms.
    """
    driver = ctypes.PyDLL(DRIVER)
    device, version, name = ctypes.c_int(), ctypes.c_int(), ctypes.create_string_buffer(NAME_BYTES)
    codes = [
        driver.cuDeviceGet(ctypes.byref(device), number),
        driver.cuDriverGetVersion(ctypes.byref(version)),
        driver.cuDeviceGetName(name, NAME_BYTES, device),
    ]
    values = []
    for attribute in (MULTIPROCESSORS, THREADS_OF_MULTIPROCESSOR, MAJOR, MINOR):
        value = ctypes.c_int()
        codes.append(driver.cuDeviceGetAttribute(ctypes.byref(value), attribute, device))
        values.append(value.value)
    if any(codes):
        return None
    multiprocessors, threads, major, minor = values
    title = name.value.decode(errors="replace")
    return Gpu(title, f"sm_{major}{minor}", multiprocessors * threads, str(version.value))


def gpu_number(environment: Mapping[str, str]) -> int:
    """Return the number of the GPU that the environment selects."""
    text = environment.get("SHADESMITH_DEVICE") or environment.get("TI_VISIBLE_DEVICE") or "0"
    return int(text) if text.isdigit() else 0  # a name selects a Vulkan device


class Opening:
    """A GPU that is being opened. number: of the GPU."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._gpu: Gpu | None = None
        self._has_context = False
        self._is_known, self._is_done = threading.Event(), threading.Event()
        threading.Thread(target=self._run, name="the GPU's start", daemon=True).start()

    def _run(self) -> None:
        """Make the GPU's context, after it is known what it is."""
        try:
            driver = ctypes.CDLL(DRIVER)
            if driver.cuInit(0) == 0:
                self._gpu = read_gpu(self.number)
                self._is_known.set()
                device, context = ctypes.c_int(), ctypes.c_void_p()
                if driver.cuDeviceGet(ctypes.byref(device), self.number) == 0:
                    self._has_context = driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) == 0
        except OSError:  # there is no driver
            pass
        finally:
            self._is_known.set()
            self._is_done.set()

    def then(self, act: Callable[[str], None]) -> None:
        """Call `act` with the architecture, "sm_90", in another thread as soon as it is known, if it ever is."""

        def wait() -> None:
            gpu = self.gpu()
            if gpu is not None:
                with contextlib.suppress(RuntimeError):  # at the end of the program no thread can be started
                    act(gpu.arch)

        threading.Thread(target=wait, name="after the GPU's start", daemon=True).start()

    def gpu(self) -> Gpu | None:
        """Return what is known of the GPU, once the driver has been started; None if there is none."""
        self._is_known.wait()
        return self._gpu

    def wait(self) -> bool:
        """Wait for the GPU; return whether it has a context."""
        self._is_done.wait()  # not `join`: after Ctrl-C Python 3.11 takes a thread that was joined for ended
        return self._has_context


_openings: dict[int, Opening] = {}
"""By number: a context is made once in a process, and stays."""


def begin(number: int) -> Opening:
    """Begin to open a GPU, unless that has begun already."""
    found = _openings.get(number)
    if found is None:
        found = _openings[number] = Opening(number)
    return found


def _wait() -> None:
    """Wait before a fork: a child would have half a context."""
    for opening in _openings.values():
        opening.wait()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait, after_in_child=_openings.clear)
