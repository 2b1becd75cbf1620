"""Entries on disk: one folder, one file per entry, no index. Any failure of the disk is a miss, never an error.

In: a stage, the material of the key (see `entries.key_of`), and bytes. Out: the same bytes, in this or a later process.
Each file is created by a rename, so readers see whole entries or none. A process that dies leaves at most a temporary
file, which a later writer removes.

There is no fsync: a disk that loses power may damage an entry; the checksum detects it and the entry is made again.
Waiting for the disk took 2.2 ms an entry instead of 0.12 (ext4), and more on network file systems.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from functools import cache
from typing import Any

from ...transpiler.errors import warn_user
from ..config import Config
from ..loading import loader
from ..locks import new_lock
from .entries import MAX_BYTES, TEMPORARY, Damaged, Entry, file_name, key_of, pack, read_file, unpack
from .folders import BY_TIME, Limits, check_folder, folder_of
from .making import one_at_a_time
from .own_sources import source_digest
from .stats import COUNTS

_cleaning = loader(".cleaning", __package__)
OWN_STAGES = frozenset({"sources", "tools"})
"""Stages of what depends on this installation and machine, and on no program: digests of sources, the programs that
compilers call. They are kept with the package where that can be written, so that an empty cache knows them too."""
WITHOUT_VERSION = frozenset({"binary", *OWN_STAGES})
"""Stages that do not depend on shadesmith's sources: their entries depend on a source, flags and a tool only."""

PACKAGE_BYTES = 4 << 20
"""Size limit of the folder in the package; an entry has 20 KiB or less."""

NEW_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
VERIFY_HINT = "Hint: `shadesmith cache verify` finds all such files"

TOUCH_SECONDS = 600.0
"""Interval of updates of the access time, for the policy `lru`; file systems are often mounted without them."""


class Store:
    """A folder of entries, safe to use from several threads and processes.

    limits: when and how it is cleaned. is_quiet: gives no warnings of it.
    """

    def __init__(self, folder: str | os.PathLike[str], limits: Limits | None = None, is_quiet: bool = False) -> None:
        self.folder = os.fspath(folder)
        self.limits = Limits() if limits is None else limits
        self._is_quiet = is_quiet
        self._lock = new_lock()
        self._warned: set[str] = set()
        self._size_bytes: int | None = None
        self._version: str | None = None
        self._version_lock = new_lock()

    def __repr__(self) -> str:
        return f"<cache in {self.folder}>"

    @property
    def version(self) -> str:
        """A digest of shadesmith's sources; entries of other versions do not match."""
        if self._version is None:
            with self._version_lock:  # another thread may be computing it
                if self._version is None:
                    self._version = source_digest(self)
        return self._version

    @property
    def is_empty(self) -> bool:
        """Whether there is no entry of a kernel; an unreadable folder has none."""
        try:
            with os.scandir(self.folder) as entries:
                return not any(entry.name.endswith(".text") for entry in entries)
        except OSError:
            return True

    def get(self, stage: str, material: bytes, what: str = "") -> Entry | None:
        """Return the entry of this stage and material, or None; `ti.cache.stats()` shows the reason.

        what: the owner, for the log. Contents of the disk never raise an error.
        """
        start = time.perf_counter()
        entry, reason = self.look(stage, material)
        COUNTS.add_disk_time(time.perf_counter() - start)
        if entry is not None:
            COUNTS.hit(stage, what, "disk")
            return entry
        COUNTS.miss(stage, what, reason)
        return None

    def look(self, stage: str, material: bytes) -> tuple[Entry | None, str]:
        """Return an entry like `get`, and the reason if there is none; it is not counted."""
        shared = self._package_store(stage)
        if shared is not None:
            entry, _ = shared.look(stage, material)
            if entry is not None:
                return entry, ""
        key = key_of(stage, self._version_of(stage), material)
        path = os.path.join(self.folder, file_name(key, stage))
        try:
            summary, its_material, parts = unpack(read_file(path), key)
            if its_material == material:
                self._touch(path)
                return Entry(summary.header, parts), ""
            reason = "damaged: an entry of other material has the same key"
        except (FileNotFoundError, NotADirectoryError):
            return None, "no entry"
        except Damaged as error:
            reason = f"damaged: {error}"
        except OSError as error:
            reason = f"damaged: {error.strerror or error}"
        self._warn_once("damaged", f"{path} in the cache is {reason}. It is made again and replaced. {VERIFY_HINT}")
        return None, reason

    def put(
        self, stage: str, material: bytes, header: Mapping[str, Any], parts: Mapping[str, bytes], what: str = ""
    ) -> None:
        """Store `header` (JSON) and `parts` under this stage and material, atomically.

        A failing disk gives one warning per process. Raises: TypeError if `header` is no JSON.
        """
        start = time.perf_counter()
        version = self._version_of(stage)
        key = key_of(stage, version, material)
        data = pack(key, (stage, version, what), material, header, parts)
        if len(data) > MAX_BYTES:
            return
        shared = self._package_store(stage)
        if shared is not None and not sys.dont_write_bytecode:
            with suppress(OSError):  # of another user
                shared._write(file_name(key, stage), data)
                return
        try:
            self._write(file_name(key, stage), data)
        except OSError as error:
            hint = "Hint: name another folder by `ti.init(offline_cache_file_path=...)` or SHADESMITH_CACHE_DIR"
            self._warn_once("write", f"kernels cannot be cached in {self.folder}: {error.strerror or error}. {hint}")
        else:
            if stage not in OWN_STAGES:
                COUNTS.stored(stage)
        COUNTS.add_disk_time(time.perf_counter() - start)

    def making(self, stage: str, material: bytes) -> AbstractContextManager[bool]:
        """Let one process at a time make the entry of this stage and material; see `making.one_at_a_time`."""
        return one_at_a_time(self.folder, key_of(stage, self._version_of(stage), material))

    def _package_store(self, stage: str) -> Store | None:
        """Return the store in the package if it keeps the entries of a stage."""
        shared = package_store() if stage in OWN_STAGES else None
        return None if shared is self else shared

    def _version_of(self, stage: str) -> str:
        return "" if stage in WITHOUT_VERSION else self.version

    def _touch(self, path: str) -> None:
        """Update the access time of an entry; its modification time, which stays, is its age."""
        if self.limits.policy != "lru":
            return
        try:
            status = os.stat(path)
            if time.time() - status.st_atime > TOUCH_SECONDS:
                os.utime(path, ns=(time.time_ns(), status.st_mtime_ns))
        except OSError:  # the folder is read-only, or the file was removed in the meantime
            return

    def _write(self, name: str, data: bytes) -> None:
        try:
            temporary = self._write_temporary(data)
        except FileNotFoundError:  # the folder does not exist yet, or was removed
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            check_folder(self.folder)
            temporary = self._write_temporary(data)
        try:
            os.replace(temporary, os.path.join(self.folder, name))
        except FileNotFoundError:  # `shadesmith cache clean` removed the temporary file
            return
        except BaseException:
            _unlink(temporary)
            raise
        self._grow(len(data))

    def _write_temporary(self, data: bytes) -> str:
        temporary = os.path.join(self.folder, f"{TEMPORARY}{os.getpid()}-{os.urandom(8).hex()}")
        descriptor = os.open(temporary, NEW_FLAGS, 0o600)
        try:
            with open(descriptor, "wb", buffering=0) as file:
                rest = memoryview(data)
                while rest:
                    rest = rest[file.write(rest) :]
        except BaseException:
            _unlink(temporary)
            raise
        return temporary

    def _grow(self, size_bytes: int) -> None:
        """Count written bytes; scan the folder on the first write, and clean it when it exceeds the limit."""
        with self._lock:
            first = self._size_bytes is None
            self._size_bytes = (self._size_bytes or 0) + size_bytes
            if not first and self._size_bytes <= self.limits.max_bytes:
                return
            cleaning = _cleaning()  # not needed for reading
            if first:
                cleaning.sweep(self.folder)
            if first or self.limits.policy in BY_TIME:
                self._size_bytes = cleaning.clean(self.folder, self.limits, lambda: self.version)

    def _warn_once(self, kind: str, message: str) -> None:
        with self._lock:
            if self._is_quiet or kind in self._warned:
                return
            self._warned.add(kind)
        warn_user(message)


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return


# --- the stores of this process

_STORES: dict[tuple[str, Limits], Store | None] = {}
_LOCK = new_lock()


def store_of(config: Config) -> Store | None:
    """Return the store that a session with these options uses, None if the cache is off.

    The cache is off under `offline_cache=False`, and if somebody else could have written to the folder, which gives one
    warning per process.
    """
    if not config.offline_cache:
        return None
    folder = folder_of(config.offline_cache_file_path)
    policy, factor = config.offline_cache_cleaning_policy, config.offline_cache_cleaning_factor
    return _store_in(folder, Limits(policy, config.offline_cache_max_size_of_files, factor))


def store_of_binaries(folder: str) -> Store | None:
    """Return the store in a folder of binaries only; the oldest are removed when it exceeds 1 GiB."""
    return _store_in(os.path.abspath(folder), Limits(max_bytes=1 << 30))


@cache
def package_store() -> Store | None:
    """Return the store of `OWN_STAGES` in a folder `__pycache__` of the package; None if others may write there.

    Like Python's own files there it is not written with `python -B`, nor by a user who may not.
    """
    bytecode = None if __spec__ is None else __spec__.cached
    if not bytecode:  # the package is in an archive
        return None
    folder = os.path.join(os.path.dirname(bytecode), "tools")
    try:
        check_folder(folder)
    except OSError:
        return None
    return Store(folder, Limits(max_bytes=PACKAGE_BYTES), is_quiet=True)


def _store_in(folder: str, limits: Limits) -> Store | None:
    key = folder, limits
    with _LOCK:
        if key not in _STORES:
            _STORES[key] = _open(folder, limits)
        return _STORES[key]


def _open(folder: str, limits: Limits) -> Store | None:
    try:
        check_folder(folder)
    except OSError as error:
        hint = "Hint: name a folder of your own by `ti.init(offline_cache_file_path=...)`, or `offline_cache=False`"
        warn_user(f"kernels are not cached between runs: {folder}: {error.strerror or error}. {hint}")
        return None
    return Store(folder, limits)
