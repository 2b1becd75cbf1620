"""Capabilities of targets without a device, for `kernel.source(arch=...)`."""

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
"""Targets that only emit source, each with the target whose capabilities they are assumed to have."""


def portable(target: str) -> Capabilities:
    """Return a target's capabilities: a current desktop GPU for Vulkan, sm_90 for CUDA, a 64-bit host for C."""
    if target in SOURCE_ONLY:
        return _unmeasured(tools_of(SOURCE_ONLY[target]).portable, target)
    return tools_of(target).portable


def _unmeasured(like: Capabilities, target: str) -> Capabilities:
    """Return capabilities like those of CUDA, without what is known of CUDA's compiler and launches alone."""
    return replace(
        like,
        target=target,
        atomic_bits=frozenset({32, 64}),
        has_launch_bounds=False,
        has_blocks_of_launch=False,
        has_large_threads=False,
        separates_threads=False,
        jumps_over_terms=False,
        leaves_arrays_in_memory=False,
        keeps_zero_products=False,
    )


def capabilities_for(arch: Arch | str | None, device: Device | None) -> Capabilities:
    """Return the capabilities that a kernel is compiled for: of `arch`, else of the session's device, else of the CPU.

    arch: an architecture or its name, also with the GPU of PTX and SASS: "cuda", "cuda:sm_80".
    Raises: TaichiRuntimeError for an architecture without a target.
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
