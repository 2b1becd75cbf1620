"""Remove entries by Taichi's policies when the folder is too big, and temporary files of processes that died.

Only files whose names are those of entries are touched. A process that reads an entry while it is removed can finish
reading; later look-ups miss. One process cleans at a time: the others continue without waiting, and the operating
system releases the lock when its process ends.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from ...transpiler.lazy_dataclasses import dataclass
from .entries import NAME, TEMPORARY, Damaged, key_of, read_file, read_summary, unpack
from .folders import BY_TIME, Limits

if sys.platform != "win32":
    import fcntl

LOCK = ".lock"
ORPHAN_SECONDS = 3600.0
"""Age at which the writer of a temporary file must have died."""


@dataclass(frozen=True, slots=True)
class EntryFile:
    """The file of an entry. used, written: seconds since the epoch."""

    path: str
    key: str
    stage: str
    size_bytes: int
    used: float
    written: float


def entry_files(folder: str) -> list[EntryFile]:
    """Return the entries of a folder, sorted by path; none if there is no such folder."""
    found = []
    for item in _items(folder):
        match = NAME.fullmatch(item.name)
        if match is None:
            continue
        try:
            status = item.stat(follow_symlinks=False)
        except OSError:  # removed in the meantime
            continue
        found.append(EntryFile(item.path, match[1], match[2], status.st_size, status.st_atime, status.st_mtime))
    return sorted(found, key=lambda entry: entry.path)


def orphans(folder: str, older_than_seconds: float = 0.0) -> list[str]:
    """Return the temporary files: of processes that are writing now, or died while they wrote."""
    found = []
    oldest = time.time() - older_than_seconds
    for item in _items(folder):
        try:
            if item.name.startswith(TEMPORARY) and item.stat(follow_symlinks=False).st_mtime <= oldest:
                found.append(item.path)
        except OSError:  # renamed in the meantime
            continue
    return found


def sweep(folder: str, older_than_seconds: float = ORPHAN_SECONDS) -> int:
    """Remove temporary files of processes that died while writing; return the number of files."""
    count = 0
    for path in orphans(folder, older_than_seconds):
        with suppress(OSError):  # another process may sweep too
            os.unlink(path)
            count += 1
    return count


def clean(folder: str, limits: Limits, version: Callable[[], str]) -> int:
    """Clean by policy; return the number of bytes left.

    version: returns the version of shadesmith's sources; the policy "version" keeps only sources emitted by it.
    """
    entries = entry_files(folder)
    size = sum(entry.size_bytes for entry in entries)
    due = _due(entries, size, limits, version)
    if not due:
        return size
    with _locked(folder) as is_locked:
        return size - sum(map(remove, due)) if is_locked else size


def remove(entry: EntryFile) -> int:
    """Remove an entry; return the number of freed bytes."""
    try:
        if os.path.isdir(entry.path) and not os.path.islink(entry.path):
            os.rmdir(entry.path)  # not made by the cache; a folder with files in it stays
        else:
            os.unlink(entry.path)
    except OSError:
        return 0
    return entry.size_bytes


def _due(entries: list[EntryFile], size: int, limits: Limits, version: Callable[[], str]) -> list[EntryFile]:
    """Return the entries to remove, in order."""
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
    """Return whether an entry was made by other sources of shadesmith than these, or cannot be read."""
    try:
        summary = read_summary(entry.path)
    except (OSError, Damaged):
        return True
    return summary.version not in ("", version)


def damage_of(entry: EntryFile) -> str:
    """Return what is wrong with an entry, "" if it is valid: read the whole file and compare it with its name."""
    try:
        data = read_file(entry.path)
        summary, material, _ = unpack(data, bytes.fromhex(entry.key))
    except Damaged as error:
        return str(error)
    except OSError as error:
        return str(error.strerror or error)
    if (summary.stage, key_of(summary.stage, summary.version, material).hex()) != (entry.stage, entry.key):
        return "key: it does not match the contents of the file"
    return ""


def _items(folder: str) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as items:
            yield from items
    except OSError:
        return


@contextmanager
def _locked(folder: str) -> Iterator[bool]:
    """Hold the folder's lock inside the `with` block; yield False at once if another process has it."""
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
