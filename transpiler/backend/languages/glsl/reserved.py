"""Reserved names of GLSL."""

from __future__ import annotations

from ..common.reserved import TENSORS, names

_GLSL = names("""
attribute varying const uniform buffer shared coherent volatile restrict readonly writeonly atomic_uint layout
centroid flat smooth noperspective patch sample invariant precise break continue do for while switch case default if
else subroutine in out inout int void bool true false float double discard return lowp mediump highp precision struct
common partition active asm class union enum typedef template this resource goto inline noinline public static extern
external interface long short half fixed unsigned superp input output filter sizeof cast namespace using sampler
texture image demote hvec2 hvec3 hvec4 fvec2 fvec3 fvec4 uint main floatBitsToInt floatBitsToUint intBitsToFloat
uintBitsToFloat atomicAdd atomicMin atomicMax atomicAnd atomicOr atomicXor atomicExchange atomicCompSwap int8_t
int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t float16_t float32_t float64_t defined
devicecoherent nonprivate pervertexEXT pervertexNV queuefamilycoherent shadercallcoherent subgroupcoherent
workgroupcoherent sampler1DShadow sampler2DShadow sampler2DArrayShadow sampler2DRectShadow sampler3DRect samplerShadow
subpassInput subpassInputMS isubpassInput isubpassInputMS usubpassInput usubpassInputMS spirv_by_reference spirv_type
spirv_decorate spirv_decorate_id spirv_decorate_string spirv_execution_mode spirv_execution_mode_id spirv_instruction
spirv_literal spirv_storage_class VULKAN
""")
_SHAPES = names("1D 1DArray 2D 2DArray 2DMS 2DMSArray 2DRect 3D Buffer Cube CubeArray")
_GLSL += [
    f"{prefix}{kind}{shape}"
    for prefix in ("", "i", "u")
    for kind in ("sampler", "image", "texture")
    for shape in _SHAPES
]

_GLSL_FUNCTIONS = names("""
radians degrees sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh pow exp log exp2 log2 sqrt inversesqrt abs
sign floor trunc round roundEven ceil fract mod modf min max clamp mix step smoothstep isnan isinf fma frexp ldexp
length distance dot cross normalize faceforward reflect refract matrixCompMult outerProduct transpose determinant
inverse lessThan greaterThan equal notEqual any all not bitfieldExtract bitfieldInsert bitfieldReverse bitCount
findLSB findMSB barrier memoryBarrier groupMemoryBarrier noise1 noise2 noise3 noise4 texelFetch textureLod textureSize
imageLoad imageStore imageSize packHalf2x16 unpackHalf2x16 dFdx dFdy fwidth interpolateAtCentroid EmitVertex
EndPrimitive ftransform subpassInput lessThanEqual greaterThanEqual uaddCarry usubBorrow
""")

_GLSL_FUNCTIONS += names("""
memoryBarrierBuffer memoryBarrierShared
subgroupBarrier subgroupMemoryBarrier subgroupMemoryBarrierBuffer subgroupMemoryBarrierShared subgroupElect subgroupAll
subgroupAny subgroupAllEqual subgroupBroadcast subgroupBroadcastFirst subgroupBallot subgroupBallotBitCount
subgroupInverseBallot subgroupShuffle subgroupShuffleXor subgroupShuffleUp subgroupShuffleDown
""")
_GLSL_FUNCTIONS += [
    f"subgroup{kind}{fold}"
    for kind in ("", "Inclusive", "Exclusive")
    for fold in ("Add", "Mul", "Min", "Max", "And", "Or", "Xor")
]

_ROWS = range(2, 5)
_GLSL_FUNCTIONS += [
    f"{prefix}{kind}{shape}"
    for prefix in ("f16", "i64", "u64")
    for kind in ("sampler", "image", "texture")
    for shape in (
        *_SHAPES,
        "1DShadow",
        "1DArrayShadow",
        "2DShadow",
        "2DArrayShadow",
        "2DRectShadow",
        "CubeShadow",
        "CubeArrayShadow",
    )
]
_GLSL_FUNCTIONS += names("f16subpassInput f16subpassInputMS fcoopmatNV icoopmatNV ucoopmatNV samplerExternalOES")
_GLSL_FUNCTIONS += [f"{prefix}vec{n}" for prefix in ("i32", "u32", "f32", "f64") for n in _ROWS]
_GLSL_FUNCTIONS += [
    f"{prefix}mat{n}" for prefix in ("f32", "f64") for n in (*_ROWS, *(f"{n}x{m}" for n in _ROWS for m in _ROWS))
]

_FORMATS = names("""
r8 r8_snorm r8i r8ui r16 r16_snorm r16f r16i r16ui r32f r32i r32ui rg8 rg8_snorm rg8i rg8ui rg16 rg16_snorm rg16f rg16i
rg16ui rg32f rg32i rg32ui rgba8 rgba8_snorm rgba8i rgba8ui rgba16 rgba16_snorm rgba16f rgba16i rgba16ui rgba32f rgba32i
rgba32ui r11f_g11f_b10f rgb10_a2 rgb10_a2ui
""")

RESERVED = TENSORS.union(_GLSL)
"""Keywords and types."""
FUNCTIONS = frozenset(_GLSL_FUNCTIONS)
"""Functions that a local variable may hide if its function does not call them."""
MEMBERS = frozenset({"length"})
"""What no member of a struct may be called though a variable may: GLSL reads it as a method."""
TYPES = frozenset(
    [
        *names("push_constant buffer_reference buffer_reference_align scalar row_major local_size_x set binding"),
        *names("require enable v spirv_instruction extensions capabilities"),
        *_FORMATS,
    ]
)
"""What no type may be called though all else may: GLSL reads the name of a type as that wherever it is."""
