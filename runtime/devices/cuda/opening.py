"""Opens a GPU in another thread: the driver needs 0.2 to 0.3 s for it, in which Python can import what a program needs.

In: the number of a GPU. Out: an opening that can be waited for. Only modules of Python's library are imported here, so
that `ti.init` can begin before the rest of this package is imported. Failures are reported by the calls that follow.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
from collections.abc import Callable, Mapping

DRIVER = "nvcuda.dll" if os.name == "nt" else "libcuda.so.1"


def gpu_number(environment: Mapping[str, str]) -> int:
    """Return the number of the GPU that the environment selects."""
    text = environment.get("SHADESMITH_DEVICE") or environment.get("TI_VISIBLE_DEVICE") or "0"
    return int(text) if text.isdigit() else 0  # a name selects a Vulkan device


class Opening:
    """A GPU that is being opened. number: of the GPU."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._arch = ""
        self._is_known = threading.Event()
        self._thread = threading.Thread(target=self._run, name="the GPU's start", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        """Make the GPU's context, after its architecture is known."""
        try:
            driver = ctypes.CDLL(DRIVER)
            device, context, major, minor = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_int(), ctypes.c_int()
            if driver.cuInit(0) == 0 and driver.cuDeviceGet(ctypes.byref(device), self.number) == 0:
                if driver.cuDeviceComputeCapability(ctypes.byref(major), ctypes.byref(minor), device) == 0:
                    self._arch = f"sm_{major.value}{minor.value}"
                self._is_known.set()
                driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
        except OSError:  # there is no driver
            pass
        finally:
            self._is_known.set()

    def then(self, act: Callable[[str], None]) -> None:
        """Call `act` with the architecture, "sm_90", in another thread as soon as it is known, if it ever is."""

        def wait() -> None:
            self._is_known.wait()
            if self._arch:
                with contextlib.suppress(RuntimeError):  # at the end of the program no thread can be started
                    act(self._arch)

        threading.Thread(target=wait, name="after the GPU's start", daemon=True).start()

    def wait(self) -> None:
        """Wait for the GPU."""
        self._thread.join()


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
