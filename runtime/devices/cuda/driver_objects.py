"""Memory, code and events of a GPU, by the calls of CUDA that CuPy binds, without CuPy's own classes.

In: `cupy_backends.cuda.api.runtime` and `driver`. To import `cupy` takes 0.3 s, as long as the driver needs to open a
GPU; `cupy_backends`, of the same package, takes 3 ms. So a program pays for CuPy's arrays, pool and streams only if it
uses them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Hashable
from contextlib import suppress
from types import SimpleNamespace
from typing import Any
from weakref import finalize

ALIGNMENT = 512
"""Sizes of blocks are multiples of it [bytes], so that blocks of nearly the same size serve each other."""

MANY_RETURNED = 64
"""Blocks that went back to the driver, each of which waits for the GPU: a program with more gets CuPy's pool."""


def load_bindings() -> tuple[Any, Any]:
    """Return CuPy's bindings of CUDA's driver and runtime. Raises: ImportError.

    At their first call CuPy 13 and 14 look up all functions of the driver, and import all of `cupy` for each message
    that one was found. Such messages are shown if CUPY_DEBUG_LIBRARY_LOAD=1; otherwise nothing is imported here.
    """
    from cupy_backends.cuda.api import driver, runtime

    if os.environ.get("CUPY_DEBUG_LIBRARY_LOAD") != "1":
        with suppress(ImportError):
            from cupy_backends.cuda import _softlink

            if hasattr(_softlink, "_log"):
                _softlink._log = _ignore
    return driver, runtime


def _ignore(message: str) -> None:
    """Show no message."""


class Block:
    """Memory, which is idle again when nothing refers to the object. ptr: its address."""

    __slots__ = ("_idle", "ptr", "size_bytes")

    def __init__(self, ptr: int, size_bytes: int, idle: list[tuple[int, int]]) -> None:
        self.ptr, self.size_bytes, self._idle = ptr, size_bytes, idle

    def __del__(self) -> None:
        self._idle.append((self.size_bytes, self.ptr))  # which no thread can interrupt


class Blocks:
    """The memory of one kind in this process: of a GPU, or page-locked memory of the host.

    An idle block serves the next request for its size. The first request for another size returns all idle ones.
    returned: how many went back to the driver.
    """

    def __init__(self) -> None:
        self._idle: list[tuple[int, int]] = []
        self.returned = 0

    def take(self, size_bytes: int, allocate: Callable[[int], int], free: Callable[[int], None]) -> Block:
        """Return a block, whose bytes are arbitrary. allocate, free: the driver's; what they raise is raised."""
        size = max(1, -(-size_bytes // ALIGNMENT)) * ALIGNMENT
        for found in reversed(list(self._idle)):
            if found[0] == size:
                try:
                    self._idle.remove(found)
                except ValueError:  # another thread has taken it
                    continue
                return Block(found[1], size, self._idle)
        self.release(free)
        return Block(allocate(size), size, self._idle)

    def release(self, free: Callable[[int], None]) -> None:
        """Return idle blocks to the driver, which waits for the GPU first."""
        while self._idle:
            free(self._idle.pop()[1])
            self.returned += 1


BLOCKS: dict[Hashable, Blocks] = {}
"""By GPU, and by "host": fields may outlive the device whose session has made them."""


def blocks_of(owner: Hashable) -> Blocks:
    """Return the blocks of a GPU, given by its number, or of the host, "host"."""
    return BLOCKS.setdefault(owner, Blocks())


class LoadedCode:
    """Code that a GPU has loaded, unloaded with the object. driver: the binding.

    enter: sets the thread's context if it has none; the driver needs one to unload code.
    """

    def __init__(self, driver: Any, code: bytes, enter: Callable[[], None]) -> None:
        enter()
        self._driver, self._module = driver, driver.moduleLoadData(code)
        finalize(self, _unload, driver, self._module, enter).atexit = False

    def function(self, name: str) -> int:
        """Return the handle of a kernel. Raises: the driver's error if the code has none of this name."""
        return int(self._driver.moduleGetFunction(self._module, name))


def _unload(driver: Any, module: int, enter: Callable[[], None]) -> None:
    with suppress(Exception):  # after a fault every call fails, and the context is lost with its code
        enter()
        driver.moduleUnload(module)


class CudaEvent:
    """An event, destroyed with the object. runtime: the binding. ptr: its handle. timed: it has a time."""

    def __init__(self, runtime: Any, timed: bool = False) -> None:
        self.ptr: int = runtime.eventCreateWithFlags(0 if timed else runtime.eventDisableTiming)
        self._runtime = runtime
        finalize(self, _destroy, runtime, self.ptr).atexit = False

    @property
    def done(self) -> bool:
        """Whether it has occurred. Raises: the runtime's error if a launch failed."""
        return bool(self._runtime.eventQuery(self.ptr) == 0)

    def synchronize(self) -> None:
        """Wait until it has occurred. Raises: as `done`."""
        self._runtime.eventSynchronize(self.ptr)

    def ms_until(self, later: CudaEvent) -> float:
        """Return the time to a later event, if both have occurred [ms]. Raises: as `done`."""
        return float(self._runtime.eventElapsedTime(self.ptr, later.ptr))


def _destroy(runtime: Any, event: int) -> None:
    with suppress(Exception):  # as in `_unload`
        runtime.eventDestroy(event)


DEFAULT = SimpleNamespace(ptr=0)
"""The default stream, which is the current one as long as CuPy has not been imported."""


def current_stream_of(index: int) -> Callable[[], Any]:
    """Return a function that returns CuPy's current stream on a GPU, which has a `ptr`. All launches call it."""
    modules, found = sys.modules, None

    def current() -> Any:
        nonlocal found
        if found is not None:
            return found(index)  # without a number CuPy calls the runtime
        if "cupy" in modules:
            found = getattr(modules.get("cupy.cuda.stream"), "get_current_stream", None)
            return DEFAULT if found is None else found(index)
        return DEFAULT

    return current
