"""What devices are opened with: where compiled kernels and their sources are stored, by the options of a session.

The modules that do it are loaded only where the options ask for them.
"""

from __future__ import annotations

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

    class _SourcesModule(Protocol):
        def folder_of(self, dump_dir: str) -> Path: ...


_store_module: Callable[[], _StoreModule] = loader("..cache.store", __package__)
_sources_module: Callable[[], _SourcesModule] = loader(".kept_sources", __package__)


def store_for(config: Config) -> Store | None:
    """Return where kernels are cached on disk, None where they are not."""
    return _store_module().store_of(config) if config.offline_cache else None


def sources_for(config: Config) -> Path | None:
    """Return where sources are written that profilers shall find, None unless `profile_source` asks for it."""
    return _sources_module().folder_of(config.dump_dir) if config.profile_source else None
