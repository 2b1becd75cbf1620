"""Removing entries: by Taichi's policies when the folder has become too big, and what processes that died left behind.

Only files whose names are those of entries are touched. Who reads an entry while it is removed reads on; who looks for
it later finds none. One process cleans at a time: the others go on without waiting, and the system gives the lock back
with the process that held it.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from .entries import NAME, TEMPORARY, Damaged, key_of, read_file, read_summary, unpack
from .folders import BY_TIME, Limits

if sys.platform != "win32":
    import fcntl

LOCK = ".lock"
ORPHAN_SECONDS = 3600.0
"""Age of a file that is not whole yet at which whoever wrote it must have died."""


@dataclass(frozen=True, slots=True)
class EntryFile:
    """A file of an entry. used, written: seconds since the epoch."""

    path: str
    key: str
    stage: str
    size_bytes: int
    used: float
    written: float


def entry_files(folder: str) -> list[EntryFile]:
    """Return the entries of a folder, by name; none where there is no such folder."""
    found = []
    for item in _items(folder):
        match = NAME.fullmatch(item.name)
        if match is None:
            continue
        try:
            status = item.stat(follow_symlinks=False)
        except OSError:  # gone in the meantime
            continue
        found.append(EntryFile(item.path, match[1], match[2], status.st_size, status.st_atime, status.st_mtime))
    return sorted(found, key=lambda entry: entry.path)


def orphans(folder: str, older_than_seconds: float = 0.0) -> list[str]:
    """Return the files that are not whole yet: of processes that write now, or died while they did."""
    found = []
    oldest = time.time() - older_than_seconds
    for item in _items(folder):
        try:
            if item.name.startswith(TEMPORARY) and item.stat(follow_symlinks=False).st_mtime <= oldest:
                found.append(item.path)
        except OSError:  # whole in the meantime
            continue
    return found


def sweep(folder: str, older_than_seconds: float = ORPHAN_SECONDS) -> int:
    """Remove what processes that died while writing left behind; return how many files."""
    count = 0
    for path in orphans(folder, older_than_seconds):
        with suppress(OSError):  # another process sweeps too
            os.unlink(path)
            count += 1
    return count


def clean(folder: str, limits: Limits, version: Callable[[], str]) -> int:
    """Clean by policy; return how many bytes are left. version: of our sources, whose texts stay under "version"."""
    entries = entry_files(folder)
    size = sum(entry.size_bytes for entry in entries)
    due = _due(entries, size, limits, version)
    if not due:
        return size
    with _alone(folder) as alone:
        return size - sum(map(remove, due)) if alone else size


def remove(entry: EntryFile) -> int:
    """Remove an entry; return the bytes that are free now."""
    try:
        if os.path.isdir(entry.path) and not os.path.islink(entry.path):
            os.rmdir(entry.path)  # somebody else made it; with something in it, it stays
        else:
            os.unlink(entry.path)
    except OSError:
        return 0
    return entry.size_bytes


def _due(entries: list[EntryFile], size: int, limits: Limits, version: Callable[[], str]) -> list[EntryFile]:
    """Return what has to go, in order."""
    if limits.policy == "version":
        here = version()
        return [entry for entry in entries if is_of_another_version(entry, here)]
    if limits.policy not in BY_TIME or size <= limits.max_bytes:
        return []
    by_age = sorted(entries, key=lambda entry: entry.used if limits.policy == "lru" else entry.written)
    count = math.ceil(limits.factor * len(by_age))
    left = size - sum(entry.size_bytes for entry in by_age[:count])
    while left > limits.max_bytes and count < len(by_age):
        left -= by_age[count].size_bytes
        count += 1
    return by_age[:count]


def is_of_another_version(entry: EntryFile, version: str) -> bool:
    """Tell whether an entry is of other sources of shadesmith than these, or none that can be read."""
    try:
        summary = read_summary(entry.path)
    except (OSError, Damaged):
        return True
    return summary.version not in ("", version)


def damage_of(entry: EntryFile) -> str:
    """Say what is wrong with an entry: its file is read whole and compared with its name. "" where it is right."""
    try:
        data = read_file(entry.path)
        summary, material, _ = unpack(data, bytes.fromhex(entry.key))
    except Damaged as error:
        return str(error)
    except OSError as error:
        return str(error.strerror or error)
    if (summary.stage, key_of(summary.stage, summary.version, material).hex()) != (entry.stage, entry.key):
        return "key: it is not that of what the file holds"
    return ""


def _items(folder: str) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as items:
            yield from items
    except OSError:
        return


@contextmanager
def _alone(folder: str) -> Iterator[bool]:
    """Hold the folder's lock within, or give False at once where another process has it."""
    if sys.platform == "win32":
        yield True
        return
    descriptor = os.open(os.path.join(folder, LOCK), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        yield False
    else:
        yield True
    finally:
        os.close(descriptor)
