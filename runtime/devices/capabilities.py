"""What a target can do when no device is asked: the capabilities `kernel.source(arch=...)` compiles for without one."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from ...transpiler.errors import TaichiRuntimeError
from ...transpiler.lang.arch import ARCHES, Arch, cpu
from ...transpiler.options import Capabilities
from .target_tools import tools_of

if TYPE_CHECKING:
    from .device import Device


SOURCE_ONLY = {"hip": "cuda"}
"""Targets of which there is source alone, and the target whose capabilities they are taken to have."""


def portable(target: str) -> Capabilities:
    """Return what a target can do: a desktop GPU of today for Vulkan, sm_90 for CUDA, a 64-bit host for C."""
    if target in SOURCE_ONLY:
        return replace(tools_of(SOURCE_ONLY[target]).portable, target=target, atomic_bits=frozenset({32, 64}))
    return tools_of(target).portable


def capabilities_for(arch: Arch | str | None, device: Device | None) -> Capabilities:
    """Return what a kernel is compiled for: an architecture, or the device of the session, or the CPU without both.

    arch: also by name, and with the GPU that PTX and SASS are made for: "cuda", "cuda:sm_80".
    Raises: TaichiRuntimeError for one that is no target of ours.
    """
    if arch is None:
        if device is not None:
            return device.capabilities
        arch = cpu
    name, _, gpu = arch.partition(":") if isinstance(arch, str) else ("", "", "")
    known = ARCHES.get(name) if name else arch
    target = (known.target or known.source_target) if isinstance(known, Arch) else None
    if target is None or (gpu and (target in SOURCE_ONLY or not re.fullmatch(tools_of(target).gpus, gpu))):
        raise TaichiRuntimeError(
            f"{arch!r} is no target of shadesmith", 'ti.cpu, ti.vulkan, ti.cuda, ti.python, or "cuda:sm_80"'
        )
    found = device.capabilities if device is not None and device.name == target else portable(target)
    if not gpu:
        return found
    return replace(found, extra=(*(fact for fact in found.extra if fact[0] != "arch"), ("arch", gpu)))
