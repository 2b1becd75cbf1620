"""Whether a module runs on a device, and which of its binaries.

In: an archive, a kernel, a session's device. Out: the code to give to the device, or None where a text has to be
compiled; TaichiRuntimeError where the device cannot run the module at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...transpiler.errors import TaichiRuntimeError
from ..devices.device import Device
from ..devices.target_tools import part_of, tools_of
from ..session.session import Session
from .archive_data import Archive, Kernel
from .archive_tools import ArchiveTools


def check_device(archive: Archive, session: Session) -> None:
    """Check that a session's device is of the module's target and has what it needs. Raises: TaichiRuntimeError."""
    manifest, device = archive.manifest, session.device
    if device.name != manifest.target:
        raise TaichiRuntimeError(
            f"{archive.title} is a module for {manifest.target}, and the session runs on {session.arch.name}",
            f"ti.init(arch=ti.{tools_of(manifest.target).arch}), or build it for this target",
        )
    part_of(manifest.target, ArchiveTools).check_device(archive, device)


def codes_for(kernel: Kernel, requires: Mapping[str, Any], device: Device) -> list[bytes] | None:
    """Return the binaries of a kernel's files that the device takes, None if there is none for it."""
    return part_of(device.name, ArchiveTools).codes(kernel, requires, device)
