"""What a forked child may not do with a GPU of its parent, and how a process ends whose driver would wait for ever.

The driver's threads are only in the parent. CUDA refuses every call in the child, NVIDIA's Vulkan driver opens no
device there, lavapipe does; errors of both then say why.

lavapipe (Mesa 22.3) registers a function with `exit` that stops its threads and waits until they have ended. In a child
they do not exist, and `exit` waits for ever, whatever the child did. So it registers functions of its own, which run
before all that were registered before the fork: one writes what the streams of C hold, the next ends the process.

A driver also waits at the end of a process for a kernel that does not end. A process that has given up its GPU
(`launch/watchdog.py`) ends in the same way.
"""

from __future__ import annotations

import ctypes
import os

REASON = "this process was forked from one that uses a {api} device, which drivers do not survive"
HINT = "start processes by `spawn` or `forkserver`, or use `ti.init(arch=ti.cpu)` in the child"

_users: dict[str, int] = {}
"""The process that opened a device of an API first: this one, or one that it was forked from."""

_is_watched = False


def note_use(api: str) -> None:
    """Record that this process has opened a device of an API ("CUDA")."""
    _users.setdefault(api, os.getpid())


def inherited(api: str) -> str | None:
    """Return what is wrong if this process was forked from one that had opened a device of an API, else None."""
    return None if _users.get(api, os.getpid()) == os.getpid() else REASON.format(api=api)


def end_children_at_once() -> None:
    """Let children that are forked from now on end without the driver. Calls after the first do nothing."""
    global _is_watched
    if not _is_watched and hasattr(os, "register_at_fork"):
        _is_watched = True
        os.register_at_fork(after_in_child=end_without_drivers)


def end_without_drivers() -> None:
    """Let the process end, once Python has, before the handlers of `exit` run that are registered now.

    Those of Python's `atexit` and ones registered later run as always, and the exit status is kept.
    """
    library = ctypes.CDLL(None)
    if hasattr(library, "on_exit"):  # of glibc; handlers run in reverse order
        library.on_exit(library._exit, None)
        library.__cxa_atexit(library.fflush, None, None)
