"""Entries on disk: one folder, one file an entry, no index. Whatever is wrong with the disk is a miss, never an error.

In: a stage, the material that decides what is kept (see `entries.key_of`), and bytes. Out: the same bytes, in this or a
later process. A file comes to be by a rename, so readers see whole entries or none, and a process that dies at any
instant leaves at most a file of its own, which whoever writes next sweeps away.

There is no fsync: a disk that loses power may tear an entry, which its checksum shows, and it is made again. Waiting
for the disk took 2.2 ms an entry instead of 0.12 (ext4), and more on network file systems.
"""

from __future__ import annotations

import importlib
import os
import threading
import time
from collections.abc import Mapping
from typing import Any

from ...transpiler.errors import warn_user
from ..config import Config
from .entries import MAX_BYTES, TEMPORARY, Damaged, Entry, file_name, key_of, pack, read_file, unpack
from .folders import BY_TIME, Limits, check_folder, folder_of
from .own_sources import source_digest
from .stats import COUNTS

OWN_STAGES = frozenset({"sources", "tools"})
"""What the cache remembers for itself: digests of sources, and what compilers call."""
WITHOUT_VERSION = frozenset({"binary", *OWN_STAGES})
"""Stages that our own sources do not decide: what is made of a text, flags and a tool alone."""

NEW_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
VERIFY_HINT = "Hint: `shadesmith cache verify` finds all such files"

TOUCH_SECONDS = 600.0
"""Use is noted on disk at most this often, for the policy `lru`; file systems are mounted so that they do not do it."""


class Store:
    """A folder of entries. limits: when it is cleaned, and how. Safe to use from several threads and processes."""

    def __init__(self, folder: str | os.PathLike[str], limits: Limits | None = None) -> None:
        self.folder = os.fspath(folder)
        self.limits = Limits() if limits is None else limits
        self._lock = threading.RLock()
        self._warned: set[str] = set()
        self._size_bytes: int | None = None
        self._version: str | None = None

    def __repr__(self) -> str:
        return f"<cache in {self.folder}>"

    @property
    def version(self) -> str:
        """A digest of our own sources, without which a text is not that of another version."""
        if self._version is None:
            self._version = source_digest(self)
        return self._version

    def get(self, stage: str, material: bytes, what: str = "") -> Entry | None:
        """Return what was put under this stage and material, or None; the reason stands in `ti.cache.stats()`.

        what: whose it is, for the log. Never raises for what is on the disk.
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
        """Return what `get` returns, and where there is nothing the reason; it is not counted."""
        key = key_of(stage, self._version_of(stage), material)
        path = os.path.join(self.folder, file_name(key, stage))
        try:
            summary, its_material, parts = unpack(read_file(path), key)
            if its_material == material:
                self._touch(path)
                return Entry(summary.header, parts), ""
            reason = "damaged: the entry of something else has the same key"
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
        """Keep `header` (JSON) and `parts` under this stage and material, wholly or not at all.

        A disk that refuses is one warning a process. Raises: TypeError where `header` is no JSON.
        """
        start = time.perf_counter()
        version = self._version_of(stage)
        key = key_of(stage, version, material)
        data = pack(key, (stage, version, what), material, header, parts)
        if len(data) > MAX_BYTES:
            return
        try:
            self._write(file_name(key, stage), data)
        except OSError as error:
            hint = "Hint: name another folder by `ti.init(offline_cache_file_path=...)` or SHADESMITH_CACHE_DIR"
            self._warn_once("write", f"kernels cannot be kept in {self.folder}: {error.strerror or error}. {hint}")
        else:
            if stage not in OWN_STAGES:
                COUNTS.stored(stage)
        COUNTS.add_disk_time(time.perf_counter() - start)

    def _version_of(self, stage: str) -> str:
        return "" if stage in WITHOUT_VERSION else self.version

    def _touch(self, path: str) -> None:
        """Note that an entry is in use; how old it is says its time of modification, which stays."""
        if self.limits.policy != "lru":
            return
        try:
            status = os.stat(path)
            if time.time() - status.st_atime > TOUCH_SECONDS:
                os.utime(path, ns=(time.time_ns(), status.st_mtime_ns))
        except OSError:  # a folder that we may only read, or gone in the meantime
            return

    def _write(self, name: str, data: bytes) -> None:
        try:
            temporary = self._write_temporary(data)
        except FileNotFoundError:  # the folder is not there yet, or not any more
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            check_folder(self.folder)
            temporary = self._write_temporary(data)
        try:
            os.replace(temporary, os.path.join(self.folder, name))
        except FileNotFoundError:  # `shadesmith cache clean` was here
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
        """Count what was written; look at the whole folder with the first entry, and when it has become too big."""
        with self._lock:
            first = self._size_bytes is None
            self._size_bytes = (self._size_bytes or 0) + size_bytes
            if not first and self._size_bytes <= self.limits.max_bytes:
                return
            cleaning = importlib.import_module(".cleaning", __package__)  # who only reads need not load it
            if first:
                cleaning.sweep(self.folder)
            if first or self.limits.policy in BY_TIME:
                self._size_bytes = cleaning.clean(self.folder, self.limits, lambda: self.version)

    def _warn_once(self, kind: str, text: str) -> None:
        with self._lock:
            if kind in self._warned:
                return
            self._warned.add(kind)
        warn_user(text)


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return


# --- the stores of this process

_STORES: dict[tuple[str, Limits], Store | None] = {}
_LOCK = threading.Lock()


def store_of(config: Config) -> Store | None:
    """Return the store that a session with these options uses, None where nothing is kept.

    That is so under `offline_cache=False`, and in a folder that somebody else could have written to, about which there
    is one warning a process.
    """
    if not config.offline_cache:
        return None
    folder = folder_of(config.offline_cache_file_path)
    policy, factor = config.offline_cache_cleaning_policy, config.offline_cache_cleaning_factor
    key = folder, Limits(policy, config.offline_cache_max_size_of_files, factor)
    with _LOCK:
        if key not in _STORES:
            _STORES[key] = _open(folder, key[1])
        return _STORES[key]


def _open(folder: str, limits: Limits) -> Store | None:
    try:
        check_folder(folder)
    except OSError as error:
        hint = "Hint: name a folder of your own by `ti.init(offline_cache_file_path=...)`, or `offline_cache=False`"
        warn_user(f"kernels are not kept between runs: {folder}: {error.strerror or error}. {hint}")
        return None
    return Store(folder, limits)
