"""Which capabilities and extensions of SPIR-V a device is opened with.

In: names as in SPIR-V, and the `Capabilities` of a device. Out: whether a module that needs them cannot run there.
Source: Vulkan specification, "SPIR-V Capabilities"; `FEATURES` of `runtime/devices/vulkan/instance.py`.
"""

from __future__ import annotations

from ....transpiler.options import Capabilities

ALWAYS = frozenset(
    {
        "Shader", "Matrix", "PhysicalStorageBufferAddresses", "ImageQuery", "DerivativeControl", "Sampled1D", "Image1D",
    }
)  # fmt: skip

TYPES = {
    "Float16": ("f16",),
    "Float64": ("f64",),
    "Int8": ("i8",),
    "Int16": ("i16",),
    "Int64": ("i64",),
    "StorageBuffer16BitAccess": ("i16", "f16"),
    "UniformAndStorageBuffer16BitAccess": ("i16", "f16"),
    "StorageBuffer8BitAccess": ("i8",),
    "UniformAndStorageBuffer8BitAccess": ("i8",),
}
"""Capabilities that come with a scalar type, one of these."""

SUBGROUPS = {
    "GroupNonUniform": "basic",
    "GroupNonUniformVote": "vote",
    "GroupNonUniformArithmetic": "arithmetic",
    "GroupNonUniformBallot": "ballot",
    "GroupNonUniformShuffle": "shuffle",
    "GroupNonUniformShuffleRelative": "shuffle_relative",
    "GroupNonUniformClustered": "clustered",
    "GroupNonUniformQuad": "quad",
}

ATOMICS = {
    "AtomicFloat32AddEXT": ("f32", "add"),
    "AtomicFloat64AddEXT": ("f64", "add"),
    "AtomicFloat32MinMaxEXT": ("f32", "min"),
    "AtomicFloat64MinMaxEXT": ("f64", "min"),
}

FLOAT_CONTROLS = (
    "DenormPreserve",
    "DenormFlushToZero",
    "SignedZeroInfNanPreserve",
    "RoundingModeRTE",
    "RoundingModeRTZ",
)

EXTENSIONS = frozenset(
    {
        "SPV_KHR_physical_storage_buffer", "SPV_EXT_physical_storage_buffer", "SPV_KHR_storage_buffer_storage_class",
        "SPV_KHR_16bit_storage", "SPV_KHR_8bit_storage", "SPV_KHR_float_controls", "SPV_KHR_variable_pointers",
        "SPV_EXT_shader_atomic_float_add", "SPV_EXT_shader_atomic_float_min_max", "SPV_KHR_vulkan_memory_model",
        "SPV_GOOGLE_decorate_string", "SPV_GOOGLE_hlsl_functionality1", "SPV_KHR_no_integer_wrap_decoration",
    }
)  # fmt: skip
"""Those that are part of Vulkan 1.2, or that only matter together with a capability, which is checked itself."""

TOKENS_OF_NEEDS: dict[str, tuple[str, ...]] = {
    "Float64": (r"\b(?:double|d(?:vec|mat)\d\w*)\b", r"\b[\d.]+(?:lf|LF)\b"),
    "Int64": (r"\bu?int64_t\b", r"\b[iu]64vec\d\b"),
    "Int16": (r"\bu?int16_t\b", r"\b[iu]16vec\d\b"),
    "Int8": (r"\bu?int8_t\b", r"\b[iu]8vec\d\b"),
    "Float16": (r"\bfloat16_t\b", r"\bf16vec\d\b"),
}
"""Patterns of what may need a capability in a source."""


def lacks_capability(name: str, capabilities: Capabilities) -> bool:
    """Return whether a device cannot run a module that declares a capability."""
    if name in ALWAYS:
        return False
    if name in TYPES:
        return not capabilities.types.intersection(TYPES[name])
    if name in SUBGROUPS:
        return SUBGROUPS[name] not in capabilities.subgroup_features
    if name in ATOMICS:
        return ATOMICS[name] not in capabilities.atomics | capabilities.shared_atomics
    if name == "Int64Atomics":
        return 64 not in capabilities.atomic_bits
    if name in ("StoragePushConstant8", "StoragePushConstant16"):
        return dict(capabilities.extra).get("small_push_constants") != "1"
    if name in FLOAT_CONTROLS:
        return not any(mode.startswith(f"{name} ") for mode in capabilities.float_controls)
    return True


def lacks_extension(name: str) -> bool:
    """Return whether shadesmith opens no device with an extension."""
    return name not in EXTENSIONS
