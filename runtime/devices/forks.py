"""Lets a forked child of a process that used Vulkan end: the driver's threads are only in the parent.

lavapipe (Mesa 22.3) registers a function with `exit` that stops its threads and waits until they have ended. In a child
they do not exist, and `exit` waits for ever, whatever the child did. So it registers functions of its own, which run
before all that were registered before the fork: one writes what the streams of C hold, the next ends the process.
"""

from __future__ import annotations

import ctypes
import os

_is_watched = False


def end_children_at_once() -> None:
    """Let children that are forked from now on end without the driver. Calls after the first do nothing."""
    global _is_watched
    if not _is_watched and hasattr(os, "register_at_fork"):
        _is_watched = True
        os.register_at_fork(after_in_child=_skip_earlier_handlers)


def _skip_earlier_handlers() -> None:
    """End the process before the handlers run that are registered now; later ones run as always."""
    library = ctypes.CDLL(None)
    if hasattr(library, "on_exit"):  # of glibc; handlers run in reverse order
        library.on_exit(library._exit, None)
        library.__cxa_atexit(library.fflush, None, None)
