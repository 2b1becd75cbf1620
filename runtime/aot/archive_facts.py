"""What differs between targets in the device of an archive, and in its manifest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ...transpiler.backend.module.read_module import Reader
from ...transpiler.options import Capabilities
from ..devices.target_tools import Part

VULKAN_1_1, VULKAN_1_2 = "vulkan1.1", "vulkan1.2"
NATIVE_MARCH = "-march=native"

Binaries = dict[str, bytes]
"""By kind: "spirv", "cubin", "ptx", "shared_object"."""


def native_march() -> str:
    """Return the option of gcc for this processor."""
    return NATIVE_MARCH


@dataclass(frozen=True, kw_only=True)
class ArchiveFacts(Part):
    """Facts of a target about archives.

    binaries: kinds of binaries that a file may have; the first is always there. requires: what the manifest says that a
    device needs, with the readers of it. minimum: what `caps="portable"` means; march: the option of gcc for it.
    with_capabilities: takes names of `DeviceCapability`; returns the minimum with them, and the environment of glslang;
    None where there are no such capabilities. choice: what to choose where a kernel needs more than a module has.
    companions: takes the manifest and the members; returns more files for the folder of a saved module.
    """

    MODULE: ClassVar[str] = "archive_facts"

    binaries: tuple[str, ...]
    requires: dict[str, Reader]
    minimum: Capabilities
    choice: str
    march: Callable[[], str] = native_march
    with_capabilities: Callable[[Sequence[str]], tuple[Capabilities, str]] | None = None
    companions: Callable[[Mapping[str, Any], Mapping[str, bytes]], dict[str, bytes]] | None = None
