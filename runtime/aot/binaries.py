"""The compilers' part of a module: from emitted source to SPIR-V, cubin and PTX, or a shared object, without a device.

In: a `BackendModule` and its `Target`. Out: the binaries of each file by kind, and what a device must have to run them,
read back from the binaries. The compilers are those of a launch, called with the same flags: so are the bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...transpiler.backend.module.interface import BackendModule
from ..devices.target_tools import part_of
from ..session import session as sessions
from .archive_facts import Binaries
from .archive_tools import ArchiveTools
from .targets import Target


def compile_binaries(module: BackendModule, target: Target) -> list[Binaries]:
    """Return what the compilers make of each file of a module. Raises: TaichiCompilationError, TaichiRuntimeError."""
    session = sessions.active()
    store = None if session is None else session.store
    return part_of(target.name, ArchiveTools).compile(module, target, store)


def requirements(target: Target, binaries: Iterable[Binaries]) -> dict[str, Any]:
    """Return what a device must have to run all the binaries; see docs/archive.md."""
    return part_of(target.name, ArchiveTools).requirements(target, list(binaries))
