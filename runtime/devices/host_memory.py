"""Memory of the host: how much is free, how much is overcommitted, and which pages are still untouched zeros.

Linux grants more memory than there is and kills a process that touches too much. So this module checks before: the
memory that the system and the container (cgroup, versions 1 and 2) have left, less what was granted and not touched.
"""

from __future__ import annotations

import ctypes
import os
import sys
from functools import lru_cache
from pathlib import Path
from time import monotonic

import numpy as np

from .device import OutOfMemory

LAZY_BYTES = 1 << 34
"""Amount that may be granted if the system does not report its memory."""
SMALL_BYTES = 1 << 20
"""Smaller requests are added up, and checked when their sum reaches this size."""
TRUST_SECONDS = 0.2
"""How long a reading of the free memory is reused, less what was granted since; a reading takes 0.1 to 8 ms."""
GROUPS = Path("/sys/fs/cgroup")
FILES = (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes"))
"""Files with the limit and use of a group of processes, in each version of cgroup."""
RECLAIMABLE = ("inactive_file", "total_inactive_file")
"""Entries of `memory.stat` that count as used but which the kernel can reclaim."""
TOUCHED = 62
"""Entries of /proc/self/pagemap from this value on are pages in memory or swap."""


def available_bytes() -> int | None:
    """Return how much memory this process can still use, None if the system does not report it."""
    left = _number_after("MemAvailable:", _text_of("/proc/meminfo"), 1024)
    for group in _groups():
        for limit, used in FILES:
            most = _number_after("", _text_of(f"{group}/{limit}"))
            now = None if most is None else _number_after("", _text_of(f"{group}/{used}"))
            if most is None or now is None or (left is not None and most - now >= left):
                continue  # what can be taken back only adds to it
            counts = _text_of(f"{group}/memory.stat")
            rest = max(0, most - now + max(_number_after(name, counts) or 0 for name in RECLAIMABLE))
            left = rest if left is None else min(left, rest)
    return left


def _groups() -> list[Path]:
    """Return the folders of the groups this process is in, up to the outermost."""
    return list(_folders(_text_of("/proc/self/cgroup"), GROUPS))


@lru_cache(maxsize=4)
def _folders(groups: str, top: Path) -> tuple[Path, ...]:
    """Return the folders of the groups in the text of `/proc/self/cgroup`. top: where they are mounted."""
    found: list[Path] = []
    for line in groups.splitlines():
        _, controllers, path = line.split(":", 2)
        root = top / "memory" if controllers == "memory" else top
        if controllers in ("", "memory"):
            inner = root / path.lstrip("/")
            found += [inner, *(parent for parent in inner.parents if parent.is_relative_to(root))]
    return tuple(found)


def _text_of(file: str) -> str:
    """Return the text of a file, "" if it cannot be read."""
    try:
        with open(file, encoding="utf-8", errors="replace") as opened:
            return opened.read()
    except OSError:
        return ""


def _number_after(name: str, text: str, unit: int = 1) -> int | None:
    """Return the number after a name that begins a line of a text; None if there is none ("max")."""
    for line in text.splitlines():
        if line.startswith(name):
            try:
                return int(line.removeprefix(name).split()[0]) * unit
            except (ValueError, IndexError):
                return None
    return None


def _resident_bytes() -> int:
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0


class Budget:
    """The amount of host memory that a device may still grant. where: the device's name for errors."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._resident_at_start = _resident_bytes()
        self._unchecked = 0
        self._left, self._read_at = 0, 0.0

    def check(self, size_bytes: int, used_bytes: int) -> None:
        """Check that there is memory for `size_bytes` more. Raises: OutOfMemory.

        used_bytes: size of earlier allocations, all of which must remain usable.
        """
        self._unchecked += size_bytes
        if self._unchecked < SMALL_BYTES:
            return
        wanted, self._unchecked = self._unchecked, 0
        if not self.grants(size_bytes, used_bytes, wanted):
            raise self.refusal(size_bytes, used_bytes)

    def grants(self, size_bytes: int, used_bytes: int, wanted_bytes: int) -> bool:
        """Return whether there is memory for `size_bytes` more, and count `wanted_bytes` as granted then."""
        if 2 * wanted_bytes > self._left or monotonic() - self._read_at > TRUST_SECONDS:
            available = self.available_bytes(used_bytes)
            self._left, self._read_at = sys.maxsize if available is None else available, monotonic()
            if size_bytes > self._left:
                self._left = 0
                return False
        self._left -= wanted_bytes
        return True

    def available_bytes(self, used_bytes: int) -> int | None:
        """Return how much may be granted besides `used_bytes`, of which not all has been touched yet."""
        available = available_bytes()
        if available is None:
            return None
        touched = max(0, _resident_bytes() - self._resident_at_start)
        return max(0, available - max(0, used_bytes - touched))

    def refusal(self, size_bytes: int, used_bytes: int) -> OutOfMemory:
        """Return the error for a request."""
        return OutOfMemory(self._where, size_bytes, used_bytes, self.available_bytes(used_bytes))


def clear_fresh(address: int, size_bytes: int) -> None:
    """Zero newly allocated memory: only pages that were touched, since others read as zero."""
    for start, end in touched_parts(address, size_bytes):
        ctypes.memset(address + start, 0, end - start)


def touched_parts(address: int, size_bytes: int) -> list[tuple[int, int]]:
    """Return the parts of private memory that may have been touched, as [start, end) from `address`; others are zero.

    Returns all of it as one part if the system does not report pages, or if many small parts would take longer.
    """
    page = os.sysconf("SC_PAGE_SIZE")
    first, end = address // page, -(-(address + size_bytes) // page)
    try:
        with open("/proc/self/pagemap", "rb", buffering=0) as file:
            file.seek(first * 8)
            entries = np.frombuffer(file.read((end - first) * 8), np.uint64)
    except (OSError, ValueError):
        entries = np.empty(0, np.uint64)
    touched = np.flatnonzero(entries >> np.uint64(TOUCHED))
    if len(entries) != end - first or len(touched) > len(entries) // 8:
        return [(0, size_bytes)]
    starts = [number * page - address for number in (touched + first).tolist()]
    return [(max(0, start), min(size_bytes, start + page)) for start in starts]
