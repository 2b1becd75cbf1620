"""Whether a module runs on a device, and which of its binaries.

In: an archive, a kernel, a session's device. Out: the code to give to the device, or None where a text has to be
compiled; TaichiRuntimeError where the device cannot run the module at all.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping
from typing import Any

from ...transpiler.errors import TaichiRuntimeError
from ..devices.device import Device
from ..session.session import Session
from ..workbench.cubin import read_cubin
from ..workbench.device_needs import lacks_capability, lacks_extension
from .archive import Archive, Kernel
from .binaries import cpu_flags

ARCH_OF_TARGET = {"vulkan": "ti.vulkan", "cuda": "ti.cuda", "c": "ti.cpu"}


def check_device(archive: Archive, session: Session) -> None:
    """Check that a session's device is of the module's target and has what it needs. Raises: TaichiRuntimeError."""
    manifest, device = archive.manifest, session.device
    if device.name != manifest.target:
        raise TaichiRuntimeError(
            f"{archive.title} is a module for {manifest.target}, and the session runs on {session.arch.name}. "
            f"Hint: ti.init(arch={ARCH_OF_TARGET[manifest.target]}), or build it for this target"
        )
    if manifest.target == "vulkan":
        _check_vulkan(archive, device)


def _check_vulkan(archive: Archive, device: Device) -> None:
    requires, able = archive.manifest.requires, device.capabilities
    lacking = [name for name in requires["capabilities"] if lacks_capability(name, able)]
    lacking += [name for name in requires["extensions"] if lacks_extension(name)]
    size = requires["subgroup_size"]
    if size is not None and size != able.subgroup_size:
        lacking.append(f"subgroups of {size} threads (it has {able.subgroup_size})")
    most = max((task.block_dim for kernel in archive.kernels.values() for task in kernel.module.tasks), default=0)
    if most > able.max_block_dim:
        lacking.append(f"blocks of {most} threads (it takes {able.max_block_dim})")
    if lacking:
        raise TaichiRuntimeError(
            f"{archive.title} needs what {device.title} lacks: {', '.join(lacking)}. "
            'Hint: build it with ti.aot.Module(ti.vulkan, caps="portable")'
        )


def codes_for(kernel: Kernel, requires: Mapping[str, Any], device: Device) -> list[bytes] | None:
    """Return the binaries of a kernel's files that the device takes, None where there is none for it."""
    if device.name == "vulkan":
        return [codes["spirv"] for codes in kernel.codes]
    if device.name == "c":
        return [codes["shared_object"] for codes in kernel.codes] if fits_host(requires) else None
    found = [_cuda_code(codes, device) for codes in kernel.codes]
    return None if None in found else [code for code in found if code is not None]


def _cuda_code(codes: Mapping[str, bytes], device: Device) -> bytes | None:
    """Return the cubin where it is for this GPU or an older one of its generation, else the PTX if there is some."""
    own = _number(dict(device.capabilities.extra)["arch"])
    made_for = _number(read_cubin(codes["cubin"]).arch)
    fits = made_for // 10 == own // 10 and made_for <= own
    return codes["cubin"] if fits else codes.get("ptx")


def _number(arch: str) -> int:
    return int(arch.removeprefix("sm_").rstrip("af"))


def fits_host(requires: Mapping[str, Any]) -> bool:
    """Tell whether machine code of a module for C runs on this machine."""
    here = (sys.platform, platform.machine().lower())
    return (requires["system"], requires["machine"]) == here and set(requires["cpu"]) <= set(cpu_flags())
