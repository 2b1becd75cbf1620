"""Locks that a forked child finds open: the thread that held one in the parent does not exist in the child.

Without that, a child of a program whose threads launch kernels waits for ever if it was forked at the wrong moment.
"""

from __future__ import annotations

import os
import threading
from typing import Any
from weakref import WeakSet

_LOCKS: WeakSet[Any] = WeakSet()


def new_lock() -> Any:
    """Return a reentrant lock that is open in a forked child."""
    lock = threading.RLock()
    _LOCKS.add(lock)
    return lock


def _after_fork() -> None:
    for lock in list(_LOCKS):
        lock._at_fork_reinit()  # as the locks of `logging` and `threading` are


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
