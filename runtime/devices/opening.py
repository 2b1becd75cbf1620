"""Folders for opening a device: where a session's options let it store compiled kernels and their sources.

The modules that store them are loaded only if the options need them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from ...transpiler.errors import TaichiRuntimeError
from ..config import Config
from ..loading import loader

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Protocol

    from ..store.store import Store

    class _StoreModule(Protocol):
        def store_of(self, config: Config) -> Store | None: ...

        def store_of_binaries(self, folder: str) -> Store | None: ...

    class _SourcesModule(Protocol):
        def folder_of(self, dump_dir: str) -> Path: ...


_store_module: Callable[[], _StoreModule] = loader("..store.store", __package__)
_sources_module: Callable[[], _SourcesModule] = loader(".stored_sources", __package__)


def store_for(config: Config) -> Store | None:
    """Return the store of kernels on disk, None if the cache is off."""
    return _store_module().store_of(config) if config.offline_cache else None


def binaries_for(config: Config) -> Store | None:
    """Return the store of a device's binaries, which may be cached without the sources of kernels.

    SHADESMITH_BINARIES_DIR names a folder for this under `offline_cache=False`: then every kernel's source is emitted
    again, but a source that was compiled before is not compiled again.
    """
    folder = os.environ.get("SHADESMITH_BINARIES_DIR", "")
    if config.offline_cache or not folder:
        return store_for(config)
    return _store_module().store_of_binaries(folder)


def require_only_device(arch: str, chosen: int | str | None) -> None:
    """Check the number of a device of a target that has one. Raises: TaichiRuntimeError for any other than 0."""
    if chosen not in (None, 0):
        raise TaichiRuntimeError(f"ti.{arch} has one device, number 0, and device={chosen!r} was given")


def sources_for(config: Config) -> Path | None:
    """Return the folder of sources for profilers, None unless the option `profile_source` is set."""
    return _sources_module().folder_of(config.dump_dir) if config.profile_source else None
