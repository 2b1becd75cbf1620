"""`ti._lib.core`: the few functions of Taichi's C++ module that programs call."""

from __future__ import annotations

from ...transpiler.lang.arch import Arch, Extension, cpu, cuda, vulkan
from ..fields.field import MAX_AXES
from ..session.logging_levels import set_logging_level
from ..session.versions import COMPATIBLE_VERSION
from .lang_modules.misc import is_arch_supported

GGUI_AVAILABLE = False
"""Whether `ti.ui.Window` works; it comes with a later version."""

__all__ = [
    "GGUI_AVAILABLE", "Arch", "Extension", "arch_name", "get_max_num_indices", "get_version_major",
    "get_version_minor", "get_version_patch", "get_version_string", "host_arch", "set_logging_level", "with_cuda",
    "with_vulkan",
]  # fmt: skip


def get_max_num_indices() -> int:
    """Return how many axes a field may have."""
    return MAX_AXES


def get_version_major() -> int:
    """Return the first number of the version of Taichi whose programs run here."""
    return COMPATIBLE_VERSION[0]


def get_version_minor() -> int:
    """Return the second number of that version."""
    return COMPATIBLE_VERSION[1]


def get_version_patch() -> int:
    """Return the third number of that version."""
    return COMPATIBLE_VERSION[2]


def get_version_string() -> str:
    """Return the version of Taichi whose programs run here."""
    return ".".join(map(str, COMPATIBLE_VERSION))


def arch_name(arch: Arch) -> str:
    """Return the name of an architecture."""
    return arch.name


def host_arch() -> Arch:
    """Return the architecture of this machine's processor."""
    return cpu


def with_cuda() -> bool:
    """Return whether a CUDA device opens here."""
    return is_arch_supported(cuda)


def with_vulkan() -> bool:
    """Return whether a Vulkan device opens here."""
    return is_arch_supported(vulkan)
