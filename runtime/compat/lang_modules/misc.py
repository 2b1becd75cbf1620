"""`ti.lang.misc`: architectures and what they support, starting and ending a session."""

from __future__ import annotations

from ....transpiler.errors import TaichiRuntimeError
from ....transpiler.lang.arch import (
    Arch,
    amdgpu,
    arm64,
    cc,
    cpu,
    cuda,
    dx11,
    dx12,
    extension,
    gles,
    gpu,
    host_arches,
    is_extension_supported,
    metal,
    opengl,
    python,
    vulkan,
    x64,
    x86_64,
)
from ....transpiler.lang.functions import loop_config
from ...config import Config
from ...session.choosing import OPENERS
from ...session.session import reset
from ...session.starting import init

__all__ = [
    "amdgpu", "arm64", "cc", "cpu", "cuda", "dx11", "dx12", "extension", "get_host_arch_list", "gles", "gpu", "init",
    "is_arch_supported", "is_extension_supported", "loop_config", "metal", "opengl", "python", "reset", "vulkan",
    "x64", "x86_64",
]  # fmt: skip


def get_host_arch_list() -> list[Arch]:
    """Return the architecture of this machine's processor, as a list."""
    return host_arches()


def is_arch_supported(arch: Arch, use_gles: bool = False) -> bool:
    """Return whether a device for `arch` opens here; it is opened and closed, which takes a moment."""
    if arch.target is None:
        return False
    try:
        OPENERS[arch.target](Config(), True).close()
    except TaichiRuntimeError:
        return False
    return True
