"""The language HIP: what differs from CUDA C."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from ..common.language import Warp
from ..cuda import textures
from ..cuda.language import CUDA
from . import atomics
from .library import CHUNKS
from .reserved import RESERVED

HIP = replace(
    CUDA,
    name="HIP",
    target="hip",
    suffix="hip",
    includes=("hip/hip_runtime.h",),
    own_library=CHUNKS,
    # The header declares them. Its `int64_t` is `long`, which has no atomics: the 64 bit types have C's names.
    built_in=frozenset({"int8_t", "uint8_t", "int16_t", "uint16_t", "uint32_t", "int64_t", "uint64_t"}),
    declared_types=frozenset({"f16"}),
    vectors={},  # these have operators there
    types={**CUDA.types, "i64": "long long", "u64": "unsigned long long"},
    reserved=RESERVED,
    volatile_load="__hip_atomic_load(&{}, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)",
    texture_handles=("hipTextureObject_t", "hipSurfaceObject_t"),
    warp=Warp(
        shuffle="shuffle_lanes",
        shuffle_xor="shuffle_lanes_xor",
        shuffle_up="shuffle_lanes_up",
        shuffle_down="shuffle_lanes_down",
        all="all_lanes",
        any="any_lanes",
        uniform="uniform_lanes",
        ballot="ballot_lanes",
        match_any="match_any_lanes",
        synchronize="synchronize_lanes",
        active="active_lanes()",
    ),
    atomic=atomics.atomic_syntax,
    texel_helper=partial(
        textures.helper,
        read="{vector} texel;\nsurf{ndim}Dread(&texel, image, {at});",
        border="hipBoundaryModeZero",
    ),
)
