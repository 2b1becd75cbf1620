"""What devices are opened with: where compiled kernels and their sources are stored, by the options of a session.

The modules that do it are loaded only where the options ask for them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..config import Config
from .loading import loader

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
    """Return where kernels are cached on disk, None if they are not; the cache is loaded only then."""
    return _store_module().store_of(config) if config.offline_cache else None


def binaries_for(config: Config) -> Store | None:
    """Return where a device caches what compilers make, which may be cached without the sources of kernels.

    SHADESMITH_BINARIES_DIR names a folder for that under `offline_cache=False`: every kernel is compiled to its source
    again, and a source that a compiler has seen before is not compiled again.
    """
    folder = os.environ.get("SHADESMITH_BINARIES_DIR", "")
    if config.offline_cache or not folder:
        return store_for(config)
    return _store_module().store_of_binaries(folder)


def sources_for(config: Config) -> Path | None:
    """Return where sources are written that profilers shall find, None unless `profile_source` asks for it."""
    return _sources_module().folder_of(config.dump_dir) if config.profile_source else None
