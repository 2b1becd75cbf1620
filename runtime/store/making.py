"""Many processes that miss the same entry: one makes it, the others wait and then find it.

The lock is one of the operating system (`flock`) on a temporary file, so it ends with its process, however that ends.
The file is removed with the lock; one that a killed process leaves is removed as other temporary files are, and blocks
nobody. A process that waits too long, or whose file system has no locks, makes the entry itself: that costs time and
nothing else.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from .entries import TEMPORARY

if sys.platform != "win32":
    import fcntl

LONGEST_WAIT = 60.0
"""How long a process waits for another one that makes the same entry [s]."""
FIRST_PAUSE, LONGEST_PAUSE = 0.002, 0.05
"""Time between two tries [s]."""


@contextmanager
def one_at_a_time(folder: str, key: bytes) -> Iterator[bool]:
    """Hold the lock of a key inside the `with` block; yield whether others may have made the entry in the meantime."""
    path = os.path.join(folder, f"{TEMPORARY}lock-{key.hex()}")
    descriptor, has_waited = (None, False) if sys.platform == "win32" else _take(path)
    try:
        yield has_waited
    finally:
        if descriptor is not None:
            with suppress(OSError):
                os.unlink(path)  # those that wait for it see that, and make another one
            os.close(descriptor)


def _take(path: str) -> tuple[int | None, bool]:
    """Return a descriptor that has the lock, None if there is none to be had, and whether another process had it."""
    end, pause, has_waited = time.monotonic() + LONGEST_WAIT, FIRST_PAUSE, False
    while time.monotonic() < end:
        descriptor = None
        try:
            descriptor = _open(path)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(descriptor).st_nlink:
                return descriptor, has_waited
            os.close(descriptor)  # the process that had it has removed it
        except BlockingIOError:
            has_waited = True
            if descriptor is not None:
                os.close(descriptor)
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
        except OSError:  # a folder that takes no files, or a file system without locks
            if descriptor is not None:
                os.close(descriptor)
            break
    return None, has_waited


def _open(path: str) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
    try:
        return os.open(path, flags, 0o600)
    except FileNotFoundError:  # the folder does not exist yet
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        return os.open(path, flags, 0o600)
