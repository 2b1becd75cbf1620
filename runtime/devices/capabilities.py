"""What a target can do when no device is asked: the capabilities `kernel.source(arch=...)` compiles for without one."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from ...transpiler.errors import TaichiRuntimeError
from ...transpiler.ir.types import SCALARS
from ...transpiler.lang.arch import ARCHES, Arch
from ...transpiler.options import Capabilities

if TYPE_CHECKING:
    from .device import Device

INTEGERS = ("i32", "u32", "i64", "u64")
BITWISE = ("and", "or", "xor")
SHARED_BYTES = 49152
"""Memory of a block that every GPU with CUDA has; C keeps as much on the stack."""
PORTABLE: dict[str, Capabilities] = {
    "c": Capabilities(
        "c",
        frozenset(SCALARS),
        frozenset((t, op) for t in INTEGERS for op in ("add", "sub", *BITWISE)),
        max_shared_bytes=SHARED_BYTES,
    ),
    "cuda": Capabilities(
        "cuda",
        frozenset(SCALARS),
        frozenset((t, op) for t in ("i32", "u32", "u64", "i64") for op in ("add", "sub", "min", "max", *BITWISE))
        | {("f32", "add"), ("f64", "add"), ("f32", "sub"), ("f64", "sub")},
        atomic_bits=frozenset({16, 32, 64}),
        max_push_bytes=4096,
        max_groups=2**31 - 1,
        max_shared_bytes=SHARED_BYTES,
    ),
    "vulkan": Capabilities(
        "vulkan",
        frozenset(SCALARS),
        frozenset((t, op) for t in ("i32", "u32") for op in ("add", "sub", "min", "max", *BITWISE)) | {("f32", "add")},
        atomic_bits=frozenset({32, 64}),
        max_push_bytes=128,
        recursion=False,
        shared_atomics=frozenset({("f32", "add")}),
        subgroup_size=None,
    ),
    "python": Capabilities("python", frozenset(SCALARS), max_shared_bytes=SHARED_BYTES),
}
"""By target: a desktop GPU of today for Vulkan (f32 atomic add), sm_90 for CUDA, a 64-bit host for C."""


def capabilities_for(arch: Arch | str | None, device: Device | None) -> Capabilities:
    """Return what a kernel is compiled for: an architecture, or the device of the session, or C without both.

    arch: also by name, and with the GPU that PTX and SASS are made for: "cuda", "cuda:sm_80".
    Raises: TaichiRuntimeError for one that is no target of ours.
    """
    if arch is None:
        return device.capabilities if device is not None else PORTABLE["c"]
    name, _, gpu = arch.partition(":") if isinstance(arch, str) else ("", "", "")
    target = getattr(ARCHES.get(name) if name else arch, "target", None)
    if target is None or (gpu and not (target == "cuda" and re.fullmatch(r"sm_\d+[a-z]?", gpu))):
        raise TaichiRuntimeError(
            f'{arch!r} is no target of shadesmith. Hint: ti.cpu, ti.vulkan, ti.cuda, ti.python, or "cuda:sm_80"'
        )
    found = device.capabilities if device is not None and device.name == target else PORTABLE[target]
    if not gpu:
        return found
    return replace(found, extra=(*(fact for fact in found.extra if fact[0] != "arch"), ("arch", gpu)))
