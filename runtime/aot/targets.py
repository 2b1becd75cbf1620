"""What a module is compiled for: a target's name, its capabilities, and the options of its compiler.

In: `ti.vulkan`, "vulkan1.1", "cuda:sm_80", ... and what the user says of capabilities. Out: a `Target`. No device of
the target is needed. Without a word on capabilities a module is for the device of the session, if that is of the
target.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from ...transpiler.errors import TaichiRuntimeError
from ...transpiler.lang.arch import Arch, cpu
from ...transpiler.options import Capabilities
from ..devices.capabilities import capabilities_for
from ..devices.target_tools import part_of, source_tools, tools_of
from ..session import session as sessions
from .archive_facts import NATIVE_MARCH, VULKAN_1_1, VULKAN_1_2, ArchiveFacts


class DeviceCapability(Enum):
    """What a Vulkan device can do beyond the minimum, by Taichi's names, for `ti.aot.Module(caps=[...])`."""

    spirv_version_1_3 = "spirv_version_1_3"
    spirv_version_1_4 = "spirv_version_1_4"
    spirv_version_1_5 = "spirv_version_1_5"
    spirv_has_int8 = "spirv_has_int8"
    spirv_has_int16 = "spirv_has_int16"
    spirv_has_int64 = "spirv_has_int64"
    spirv_has_float16 = "spirv_has_float16"
    spirv_has_float64 = "spirv_has_float64"
    spirv_has_atomic_int64 = "spirv_has_atomic_int64"
    spirv_has_atomic_float16 = "spirv_has_atomic_float16"
    spirv_has_atomic_float16_add = "spirv_has_atomic_float16_add"
    spirv_has_atomic_float16_minmax = "spirv_has_atomic_float16_minmax"
    spirv_has_atomic_float = "spirv_has_atomic_float"
    spirv_has_atomic_float_add = "spirv_has_atomic_float_add"
    spirv_has_atomic_float_minmax = "spirv_has_atomic_float_minmax"
    spirv_has_atomic_float64 = "spirv_has_atomic_float64"
    spirv_has_atomic_float64_add = "spirv_has_atomic_float64_add"
    spirv_has_atomic_float64_minmax = "spirv_has_atomic_float64_minmax"
    spirv_has_variable_ptr = "spirv_has_variable_ptr"
    spirv_has_physical_storage_buffer = "spirv_has_physical_storage_buffer"
    spirv_has_subgroup_basic = "spirv_has_subgroup_basic"
    spirv_has_subgroup_vote = "spirv_has_subgroup_vote"
    spirv_has_subgroup_arithmetic = "spirv_has_subgroup_arithmetic"
    spirv_has_subgroup_ballot = "spirv_has_subgroup_ballot"
    spirv_has_non_semantic_info = "spirv_has_non_semantic_info"
    spirv_has_no_integer_wrap_decoration = "spirv_has_no_integer_wrap_decoration"


SPIRV_VERSIONS = {
    f"spirv_version={written}": f"spirv_version_1_{minor}"
    for minor in (3, 4, 5)
    for written in (f"1.{minor}", 0x10000 + (minor << 8))
}
"""How Taichi's members of `DeviceCapability` write them."""


@dataclass(frozen=True, slots=True)
class Target:
    """name: "vulkan", "cuda" or "c". environment: of glslangValidator. march: the option of gcc for the processor."""

    name: str
    capabilities: Capabilities
    environment: str = VULKAN_1_2
    march: str = NATIVE_MARCH

    @property
    def is_of_session(self) -> bool:
        """Whether it is the device of the session, with all that it can do: what is compiled is what a launch runs."""
        session = sessions.active()
        return (
            session is not None
            and session.device.name == self.name
            and session.device.capabilities == self.capabilities
            and (self.environment, self.march) == (VULKAN_1_2, NATIVE_MARCH)
        )


def find_target(arch: Arch | str | None, caps: Any = None) -> Target:
    """Return what a module is compiled for.

    arch: None for the session's, else an architecture, its name, "vulkan1.1", "vulkan1.2" or "cuda:sm_80". caps: None:
    of the session's device, or where that is another, of a desktop GPU of today; "portable": `MINIMUM`; a list of
    `DeviceCapability`, or their names: those and the minimum.
    Raises: TaichiRuntimeError for an unknown target or capability.
    """
    if arch is None:
        session = sessions.active()
        arch = session.arch if session is not None else cpu
    arch = _one_of(arch) if isinstance(arch, list | tuple) else arch
    version = arch if arch in (VULKAN_1_1, VULKAN_1_2) else None
    arch = next((tools.arch for tools in source_tools() if tools.name == arch), arch)
    try:
        capabilities = capabilities_for("vulkan" if version else arch, None if version else _device())
    except TaichiRuntimeError:
        known = ", ".join(f'"{name}"' for name in target_names())
        raise TaichiRuntimeError(
            f"{arch!r} is not a target of a module", f"ti.vulkan, ti.cuda, ti.cpu, or one of {known}"
        ) from None
    tools = tools_of(capabilities.target)
    if tools.is_interpreter:
        raise TaichiRuntimeError(
            "ti.python interprets kernels and has nothing to archive", "ti.aot.Module(ti.cpu), ti.vulkan, ti.cuda"
        )
    if tools.gpus and "arch" not in dict(capabilities.extra):
        capabilities = replace(capabilities, extra=(*capabilities.extra, ("arch", tools.default_gpu)))
    if caps is None and version != VULKAN_1_1:
        return Target(capabilities.target, capabilities)
    if caps is None or isinstance(caps, str):
        if caps not in (None, "portable"):
            raise TaichiRuntimeError(f"caps={caps!r} is unknown", "caps='portable', or a list of capabilities")
        return _minimum(capabilities, arch)
    return _with(capabilities.target, caps)


def _one_of(arches: Sequence[Arch]) -> Arch:
    """Return the session's architecture if a list contains it. Raises: TaichiRuntimeError otherwise."""
    session = sessions.active()
    if session is None or session.arch not in arches:
        names = ", ".join(f"ti.{arch.name}" for arch in arches if getattr(arch, "target", None))
        raise TaichiRuntimeError("a module is for one target, and several were given", f"one of {names}")
    return session.arch


def _device() -> Any:
    session = sessions.active()
    return None if session is None else session.device


def _minimum(capabilities: Capabilities, arch: Arch | str) -> Target:
    """Return the minimum of a target; a given GPU stays."""
    facts = part_of(capabilities.target, ArchiveFacts)
    least = facts.minimum
    if isinstance(arch, str) and ":" in arch:
        least = replace(least, extra=capabilities.extra)
    return Target(least.target, least, VULKAN_1_1, facts.march())


def _with(target: str, caps: Iterable[Any]) -> Target:
    """Return the minimum of Vulkan with the capabilities of a list. Raises: TaichiRuntimeError for unknown ones."""
    names = [_name_of(item) for item in ([caps] if isinstance(caps, DeviceCapability) else caps)]
    facts = part_of(target, ArchiveFacts)
    if facts.with_capabilities is not None:
        return Target(target, *facts.with_capabilities(names))
    if names:
        raise TaichiRuntimeError(
            f"caps={names} are capabilities of Vulkan, and the module is for {target}", "leave them out"
        )
    return Target(target, facts.minimum)


def _name_of(item: Any) -> str:
    name = item.value if isinstance(item, DeviceCapability) else SPIRV_VERSIONS.get(item, item)
    if not isinstance(name, str) or name not in DeviceCapability.__members__:
        raise TaichiRuntimeError(
            f"caps: {item!r} is not a capability", "members of ti.DeviceCapability, such as spirv_has_int64"
        )
    return name


def takes_capabilities(target: Target) -> bool:
    """Return whether a target has capabilities that a module may require."""
    return part_of(target.name, ArchiveFacts).with_capabilities is not None


def target_names() -> list[str]:
    """Return the values of `--target`."""
    return [VULKAN_1_1, VULKAN_1_2, "vulkan", "cuda", "cuda:sm_NN", "c"]
