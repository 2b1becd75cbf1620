"""Capabilities of GLSL: on a current desktop GPU (f32 atomic add), on every Vulkan 1.1 device, and of one device."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ....transpiler.ir.types import SCALARS
from ....transpiler.options import Capabilities
from ..portable import BITWISE

if TYPE_CHECKING:
    from .instance import Adapter

LLVMPIPE_LOOP_LIMIT = 65535
"""Mesa ends all loops of one invocation after this many iterations together, silently (seen in 22.3)."""

LLVMPIPE_BRANCH_LIMIT = 78
"""Mesa follows 80 nested conditions and silently runs wrong branches beyond (seen in 22.3); two below."""

INTEGER_ATOMICS = ("add", "sub", "min", "max", "and", "or", "xor")
MAX_PUSH_BYTES = 128
"""Minimum that every device has; using more on some devices would make emitted sources differ between devices."""


ATOMICS = frozenset((t, op) for t in ("i32", "u32") for op in ("add", "sub", "min", "max", *BITWISE))

GLSL = Capabilities(
    "vulkan",
    recursion=False,
    has_pointers=False,
    has_vectors=True,
    has_warps=True,
    slow_powers=True,
    has_shared_memory=True,
    reloads_elements=True,
    keeps_factors=True,
    slow_roots=True,
    slow_f64_divisions=True,
)
"""What the language lacks and has, and what all GPUs and their compilers have in common."""

PORTABLE = replace(
    GLSL,
    types=frozenset(SCALARS),
    atomics=ATOMICS | {("f32", "add")},
    atomic_bits=frozenset({32, 64}),
    max_push_bytes=MAX_PUSH_BYTES,
    shared_atomics=frozenset({("f32", "add")}),
    subgroup_size=None,
    miscompiles_integers=True,
    skips_roundings=True,
)


def read_capabilities(adapter: Adapter) -> Capabilities:
    """Return the capabilities of the device for the compiler."""
    has = adapter.features.__contains__
    types = {"i32", "u32", "f32", "u1"}
    atomics = {(type, op) for type in ("i32", "u32") for op in INTEGER_ATOMICS}
    atomic_bits = {32}
    shared = set(atomics)
    if has("shaderInt64"):
        types |= {"i64", "u64"}
    if has("shaderFloat64"):
        types.add("f64")
    if has("shaderInt16") and has("storageBuffer16BitAccess"):
        types |= {"i16", "u16"}
    if has("shaderInt8") and has("storageBuffer8BitAccess"):
        types |= {"i8", "u8"}
    if has("shaderFloat16") and has("storageBuffer16BitAccess"):
        types.add("f16")
    if has("shaderBufferInt64Atomics"):
        atomics |= {(type, op) for type in ("i64", "u64") for op in INTEGER_ATOMICS}
        atomic_bits.add(64)
    for type, bits in (("f32", 32), ("f64", 64)):
        if has(f"shaderBufferFloat{bits}AtomicAdd"):
            atomics |= {(type, "add"), (type, "sub")}
        if has(f"shaderBufferFloat{bits}AtomicMinMax"):
            atomics |= {(type, "min"), (type, "max")}
        if has(f"shaderSharedFloat{bits}AtomicAdd"):
            shared |= {(type, "add"), (type, "sub")}
        if has(f"shaderSharedFloat{bits}AtomicMinMax"):
            shared |= {(type, "min"), (type, "max")}
    if has("shaderSharedInt64Atomics"):
        shared |= {(type, op) for type in ("i64", "u64") for op in INTEGER_ATOMICS}
    return replace(
        GLSL,
        types=frozenset(types),
        atomics=frozenset(atomics),
        atomic_bits=frozenset(atomic_bits),
        max_push_bytes=min(MAX_PUSH_BYTES, adapter.max_push_bytes),
        max_block_dim=adapter.max_block_dim,
        max_shared_bytes=adapter.max_shared_bytes,
        loop_iteration_limit=LLVMPIPE_LOOP_LIMIT if adapter.is_llvmpipe else None,
        branch_depth_limit=LLVMPIPE_BRANCH_LIMIT if adapter.is_llvmpipe else None,
        volatile_vectors=adapter.is_llvmpipe,
        float_controls=adapter.float_controls,
        shared_atomics=frozenset(shared),
        subgroup_size=adapter.subgroup_size,
        subgroup_features=adapter.subgroup_features,
        leaves_known_counts=adapter.is_nvidia,
        miscompiles_integers=adapter.is_nvidia,
        skips_roundings=adapter.is_nvidia,
        jumps_over_terms=adapter.is_nvidia,
        leaves_arrays_in_memory=adapter.is_nvidia,
        extra=(
            ("device", adapter.name),
            ("driver", adapter.driver),
            ("subgroup_size", str(adapter.subgroup_size)),
            ("small_push_constants", str(int(has("storagePushConstant8") and has("storagePushConstant16")))),
        ),
    )
