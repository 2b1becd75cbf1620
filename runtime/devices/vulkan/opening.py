"""Opens a Vulkan device in another thread: drivers need 0.15 s, in which Python can import what a program needs.

In: the preferred device. Out: nothing; the session that opens a device finds an instance, and a logical device of the
one that it chooses. `ti.init` begins before most of this package is imported, so little is imported here.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from ...loading import loader

if TYPE_CHECKING:
    from typing import Protocol

    class _InstanceModule(Protocol):
        def load_api(self) -> object: ...

        def make_early(self, preference: int | str | None) -> None: ...


_instance: Callable[[], _InstanceModule] = loader(".instance", __package__)
_threads: dict[int, threading.Thread] = {}
"""By process: an instance is made once, and stays."""


def begin(preference: int | str | None) -> None:
    """Begin to open a device, once in a process; see `open_device`. Errors are left to that.

    What Python has to do for it comes first: it takes 4 ms here, and 20 in a thread while this one imports, since a
    thread gets Python's lock 5 ms after it asks for it.
    """
    if os.getpid() not in _threads:
        with suppress(Exception):
            _instance().load_api()
        thread = threading.Thread(
            target=lambda: _instance().make_early(preference), name="shadesmith's Vulkan device", daemon=True
        )
        _threads[os.getpid()] = thread
        thread.start()


def wait() -> None:
    """Wait until what was begun has ended: before the device is opened, before a fork, before `ti.init` returns."""
    thread = _threads.get(os.getpid())
    if thread is not None:
        thread.join()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=wait)
