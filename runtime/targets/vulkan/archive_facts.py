"""Facts of archives of GLSL: their devices, and entries of their manifests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ....transpiler.backend.module.read_module import list_of, number, optional, string
from ....transpiler.options import Capabilities
from ...aot.archive_facts import VULKAN_1_1, VULKAN_1_2, ArchiveFacts
from ...devices.portable import BITWISE
from ...devices.vulkan.capabilities import ATOMICS as BASIC_ATOMICS
from ...devices.vulkan.capabilities import GLSL
from .taichi_files import taichi_files

MINIMUM = replace(
    GLSL,
    atomics=BASIC_ATOMICS,
    atomic_bits=frozenset({32}),
    max_push_bytes=128,
    max_block_dim=128,
    max_shared_bytes=16384,
    subgroup_size=None,
    subgroup_features=frozenset({"basic"}),
    miscompiles_integers=True,
    skips_roundings=True,
)
"""Features that version 1.1 guarantees on every device, with only 32-bit types; in addition all generated shaders need
bufferDeviceAddress and scalarBlockLayout."""

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


def _with_capabilities(names: Sequence[str]) -> tuple[Capabilities, str]:
    types = {name for item in names for name in TYPES.get(item, ())}
    atomics = {pair for item in names for pair in ATOMICS.get(item, ())}
    subgroups = {item.removeprefix(SUBGROUPS) for item in names if item.startswith(SUBGROUPS)}
    newer = any(item in names for item in ("spirv_version_1_4", "spirv_version_1_5"))
    found = replace(
        MINIMUM,
        types=MINIMUM.types | types,
        atomics=MINIMUM.atomics | atomics,
        shared_atomics=frozenset(pair for pair in atomics if pair[0] in ("f32", "f64")),
        atomic_bits=MINIMUM.atomic_bits | ({64} if "spirv_has_atomic_int64" in names else set()),
        subgroup_features=MINIMUM.subgroup_features | subgroups,
    )
    return found, VULKAN_1_2 if newer or subgroups else VULKAN_1_1


TOOLS = ArchiveFacts(
    binaries=("spirv",),
    requires={
        "spirv": list_of(number(0, 255), 2, 2),
        "capabilities": list_of(string(100), 200),
        "extensions": list_of(string(100), 200),
        "features": list_of(string(100), 200),
        "subgroup_size": optional(number(1, 1024)),
    },
    minimum=MINIMUM,
    choice="caps=None, or more of ti.DeviceCapability",
    with_capabilities=_with_capabilities,
    companions=taichi_files,
)
