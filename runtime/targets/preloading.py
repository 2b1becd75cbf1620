"""Loads in another thread what the first call of a kernel will need, while a driver opens a device.

Opening a GPU takes 0.2 s, in most of which Python is idle. A first call needs the cache, and the compiler's 300 modules
if the cache holds no kernel; they take as long. A call that comes earlier waits for them, as for any import.
"""

from __future__ import annotations

import importlib
import os
import threading

from ..config import Config
from ..devices.opening import store_for
from ..loading import loader
from ..store.store import Store

_cache = loader("..cache.lookup", __package__)
_compiler = loader("...transpiler.pipeline", __package__)
_threads: list[threading.Thread] = []


def preload(config: Config) -> bool:
    """Start the thread, once in a process. Return whether the first kernel will be compiled, as far as is known."""
    store = store_for(config)
    is_cold = store is None or store.is_empty
    if not _threads:
        thread = threading.Thread(target=_load, args=(store, is_cold), name="shadesmith's modules", daemon=True)
        _threads.append(thread)
        thread.start()
    return is_cold


def _load(store: Store | None, is_cold: bool) -> None:
    if store is not None:
        store.version  # noqa: B018 - it is remembered; the file system is asked for it while others import
        _cache()
    if is_cold:
        _compiler()
        importlib.import_module("jinja2")


def _wait() -> None:
    """Wait for the thread before a fork: the child would find modules half loaded, and wait for ever."""
    for thread in _threads:
        thread.join()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait)
