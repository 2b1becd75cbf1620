"""What differs between targets when an archive is written and when it is loaded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ...transpiler.backend.module.interface import BackendModule
from ..devices.device import Device
from ..devices.target_tools import Part
from ..store.store import Store
from .archive_data import Archive, Kernel
from .archive_facts import Binaries
from .read_manifest import Manifest
from .targets import Target


def check_nothing(*arguments: object) -> None:
    """Check nothing."""


@dataclass(frozen=True, kw_only=True)
class ArchiveTools(Part):
    """How archives of a target are made and loaded.

    compile: takes a module, the target and where binaries are cached; returns the binaries of each file. requirements:
    what a device must have to run binaries; see docs/archive.md. check: raises ArchiveError for binaries that are
    damaged. check_device: raises TaichiRuntimeError for a device that lacks something. codes: the binaries of the files
    of a kernel that a device takes, None where there is none for it.
    """

    MODULE: ClassVar[str] = "archive"

    compile: Callable[[BackendModule, Target, Store | None], list[Binaries]]
    requirements: Callable[[Target, Sequence[Binaries]], dict[str, Any]]
    codes: Callable[[Kernel, Mapping[str, Any], Device], list[bytes] | None]
    check: Callable[[Manifest, Mapping[str, Kernel]], None] = check_nothing
    check_device: Callable[[Archive, Device], None] = check_nothing
