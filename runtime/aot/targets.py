"""What a module is compiled for: a target's name, its capabilities, and what its compiler is told.

In: `ti.vulkan`, "vulkan1.1", "cuda:sm_80", ... and what the user says of capabilities. Out: a `Target`. No device of
the target is needed. Without a word on capabilities a module is for the device of the session, if that is of the
target.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from ...transpiler.errors import TaichiRuntimeError
from ...transpiler.lang.arch import Arch, cpu
from ...transpiler.options import Capabilities
from ..devices.capabilities import BITWISE, PORTABLE, capabilities_for
from ..session import session as sessions

PORTABLE_ARCH = "sm_75"
"""The oldest GPU that NVRTC 13 compiles for; its cubin runs on sm_75 to sm_79, its PTX on all newer ones."""

MINIMUM = {
    "vulkan": Capabilities(
        "vulkan",
        atomics=frozenset((t, op) for t in ("i32", "u32") for op in ("add", "sub", "min", "max", *BITWISE)),
        atomic_bits=frozenset({32}),
        max_push_bytes=128,
        max_block_dim=128,
        max_shared_bytes=16384,
        recursion=False,
        subgroup_size=None,
        subgroup_features=frozenset({"basic"}),
    ),
    "cuda": replace(PORTABLE["cuda"], extra=(("arch", PORTABLE_ARCH),)),
    "c": PORTABLE["c"],
}
"""What `caps="portable"` means. Vulkan: what version 1.1 promises of every device, 32-bit types alone; beside it
shaders need bufferDeviceAddress and scalarBlockLayout, as all of ours do."""

VULKAN_1_1, VULKAN_1_2 = "vulkan1.1", "vulkan1.2"

PORTABLE_MARCH = {"x86_64": "-march=x86-64-v2", "amd64": "-march=x86-64-v2"}
"""For a processor of that kind from 2009 on; others take their compiler's own default."""
NATIVE_MARCH = "-march=native"


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


TYPES = {
    "spirv_has_int8": ("i8", "u8"), "spirv_has_int16": ("i16", "u16"), "spirv_has_int64": ("i64", "u64"),
    "spirv_has_float16": ("f16",), "spirv_has_float64": ("f64",),
}  # fmt: skip
ATOMICS = {
    "spirv_has_atomic_float_add": [("f32", "add"), ("f32", "sub")],
    "spirv_has_atomic_float_minmax": [("f32", "min"), ("f32", "max")],
    "spirv_has_atomic_float64_add": [("f64", "add"), ("f64", "sub")],
    "spirv_has_atomic_float64_minmax": [("f64", "min"), ("f64", "max")],
    "spirv_has_atomic_int64": [
        (t, op) for t in ("i64", "u64") for op in ("add", "sub", "min", "max", *BITWISE)
    ],
}  # fmt: skip
SUBGROUPS = "spirv_has_subgroup_"
VERSIONS = "spirv_version_"


SPIRV_VERSIONS = {
    f"spirv_version={written}": f"spirv_version_1_{minor}"
    for minor in (3, 4, 5)
    for written in (f"1.{minor}", 0x10000 + (minor << 8))
}
"""How Taichi's members of `DeviceCapability` write them."""


@dataclass(frozen=True, slots=True)
class Target:
    """name: "vulkan", "cuda" or "c". environment: of glslangValidator. march: what gcc is told of the processor."""

    name: str
    capabilities: Capabilities
    environment: str = VULKAN_1_2
    march: str = NATIVE_MARCH

    @property
    def is_of_session(self) -> bool:
        """Whether it is the device of the session, with all that it can do: what is compiled is what a launch runs."""
        session = sessions.CURRENT
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
    Raises: TaichiRuntimeError for what is no target or no capability.
    """
    if arch is None:
        session = sessions.CURRENT
        arch = session.arch if session is not None else cpu
    arch = _one_of(arch) if isinstance(arch, list | tuple) else arch
    version = arch if arch in (VULKAN_1_1, VULKAN_1_2) else None
    arch = "cpu" if arch == "c" else arch
    try:
        capabilities = capabilities_for("vulkan" if version else arch, None if version else _device())
    except TaichiRuntimeError:
        known = ", ".join(f'"{name}"' for name in target_names())
        raise TaichiRuntimeError(
            f"{arch!r} is no target of a module. Hint: ti.vulkan, ti.cuda, ti.cpu, or one of {known}"
        ) from None
    if capabilities.target == "python":
        raise TaichiRuntimeError(
            "ti.python interprets kernels, and has nothing to archive. Hint: ti.aot.Module(ti.cpu), ti.vulkan, ti.cuda"
        )
    if capabilities.target == "cuda" and "arch" not in dict(capabilities.extra):
        capabilities = replace(capabilities, extra=(*capabilities.extra, ("arch", "sm_90")))
    if caps is None and version != VULKAN_1_1:
        return Target(capabilities.target, capabilities)
    if caps is None or isinstance(caps, str):
        if caps not in (None, "portable"):
            raise TaichiRuntimeError(f"caps={caps!r} is not known. Hint: caps='portable', or a list of capabilities")
        return _minimum(capabilities, arch)
    return _with(capabilities.target, caps)


def _one_of(arches: Sequence[Arch]) -> Arch:
    """Return the session's architecture, where a list of several is given. Raises: TaichiRuntimeError otherwise."""
    session = sessions.CURRENT
    if session is None or session.arch not in arches:
        names = ", ".join(f"ti.{arch.name}" for arch in arches if getattr(arch, "target", None))
        raise TaichiRuntimeError(f"a module is for one target, and several were given. Hint: one of {names}")
    return session.arch


def _device() -> Any:
    return None if sessions.CURRENT is None else sessions.CURRENT.device


def _minimum(capabilities: Capabilities, arch: Arch | str) -> Target:
    """Return the minimum of a target; a GPU that was named stays."""
    least = MINIMUM[capabilities.target]
    if isinstance(arch, str) and ":" in arch:
        least = replace(least, extra=capabilities.extra)
    march = PORTABLE_MARCH.get(platform.machine().lower(), "")
    return Target(least.target, least, VULKAN_1_1, march if least.target == "c" else NATIVE_MARCH)


def _with(target: str, caps: Iterable[Any]) -> Target:
    """Return the minimum of Vulkan and what the list adds. Raises: TaichiRuntimeError for what is none."""
    names = [_name_of(item) for item in ([caps] if isinstance(caps, DeviceCapability) else caps)]
    if target != "vulkan":
        if names:
            raise TaichiRuntimeError(
                f"caps={names} are capabilities of Vulkan, and the module is for {target}. Hint: leave them out"
            )
        return Target(target, MINIMUM[target])
    least = MINIMUM["vulkan"]
    types = {name for item in names for name in TYPES.get(item, ())}
    atomics = {pair for item in names for pair in ATOMICS.get(item, ())}
    subgroups = {item.removeprefix(SUBGROUPS) for item in names if item.startswith(SUBGROUPS)}
    newer = any(item in names for item in ("spirv_version_1_4", "spirv_version_1_5"))
    found = replace(
        least,
        types=least.types | types,
        atomics=least.atomics | atomics,
        shared_atomics=frozenset(pair for pair in atomics if pair[0] in ("f32", "f64")),
        atomic_bits=least.atomic_bits | ({64} if "spirv_has_atomic_int64" in names else set()),
        subgroup_features=least.subgroup_features | subgroups,
    )
    return Target("vulkan", found, VULKAN_1_2 if newer or subgroups else VULKAN_1_1)


def _name_of(item: Any) -> str:
    name = item.value if isinstance(item, DeviceCapability) else SPIRV_VERSIONS.get(item, item)
    if not isinstance(name, str) or name not in DeviceCapability.__members__:
        raise TaichiRuntimeError(
            f"caps: {item!r} is no capability. Hint: members of ti.DeviceCapability, such as spirv_has_int64"
        )
    return name


def target_names() -> list[str]:
    """Return what `--target` takes."""
    return [VULKAN_1_1, VULKAN_1_2, "vulkan", "cuda", "cuda:sm_NN", "c"]
