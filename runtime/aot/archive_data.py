"""An archive as data, when everything in it has been checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...transpiler.backend.module.interface import BackendModule
from .read_manifest import Manifest, StoredKernel


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel of an archive. module: with its texts. codes: binaries of its files, by kind."""

    stored: StoredKernel
    module: BackendModule
    codes: tuple[Mapping[str, bytes], ...]


@dataclass(frozen=True, slots=True)
class Archive:
    """title: what errors call it. kernels: by name."""

    title: str
    manifest: Manifest
    kernels: dict[str, Kernel]
