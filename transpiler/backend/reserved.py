"""Words a user's name may not be: keywords and types always, built-in functions where the text calls them.

A local variable may hide a function (`float length = ...`) and a member never meets one (`args.step`).
"""

from __future__ import annotations

from collections.abc import Iterable


def _words(text: str) -> list[str]:
    return text.split()


_C = _words("""
auto break case char const continue default do double else enum extern float for goto if inline int long register
restrict return short signed sizeof static struct switch typedef union unsigned void volatile while bool true false
main size_t ptrdiff_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t intptr_t uintptr_t NULL
INFINITY NAN asm typeof linux unix defined collapse schedule num_threads simdlen safelen reduction
""")

_C_FUNCTIONS = _words("""
signbit isnan isinf isfinite isnormal sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh exp exp2 expm1
log log2 log10 log1p pow sqrt cbrt hypot fabs abs labs floor ceil round rint nearbyint trunc fmod remainder fmin fmax
fdim fma erf erfc tgamma lgamma ldexp frexp modf copysign nan logb ilogb scalbn nextafter lround lrint llround llrint
div ldiv sinf cosf tanf asinf acosf atanf atan2f tanhf expf logf powf sqrtf fabsf floorf ceilf roundf rintf fmodf
fminf fmaxf malloc free calloc realloc memcpy memset memmove memcmp exit abort atexit printf puts rand srand
""")

_CUDA = _words("""
class namespace template typename public private protected virtual operator new delete this friend explicit export
mutable using try catch throw and or not xor bitand bitor compl and_eq or_eq not_eq xor_eq nullptr alignas alignof
constexpr consteval constinit decltype noexcept static_assert static_cast dynamic_cast const_cast reinterpret_cast
thread_local wchar_t char8_t char16_t char32_t typeid concept requires co_await co_return co_yield threadIdx blockIdx
blockDim gridDim warpSize dim3 half uint2 uint3 uint4 int2 int3 int4 float1 float2 float3 float4 double2 double3
double4 char2 char4 short2 short4 uchar4 long2 ulong2 longlong2 uint1 int1 uint ulong ushort uchar assert std cuda
atomicAdd atomicSub atomicMin atomicMax atomicAnd atomicOr atomicXor atomicExch atomicCAS
""")

_CUDA_FUNCTIONS = _words("""
rsqrt rsqrtf rcbrt sincos sinpi cospi erfinv saturate min max clock clock64 dot cross length normalize transpose
outerProduct matrixCompMult
""")

_GLSL = _words("""
attribute varying const uniform buffer shared coherent volatile restrict readonly writeonly atomic_uint layout
centroid flat smooth noperspective patch sample invariant precise break continue do for while switch case default if
else subroutine in out inout int void bool true false float double discard return lowp mediump highp precision struct
common partition active asm class union enum typedef template this resource goto inline noinline public static extern
external interface long short half fixed unsigned superp input output filter sizeof cast namespace using sampler
texture image demote hvec2 hvec3 hvec4 fvec2 fvec3 fvec4 uint main floatBitsToInt floatBitsToUint intBitsToFloat
uintBitsToFloat atomicAdd atomicMin atomicMax atomicAnd atomicOr atomicXor atomicExchange atomicCompSwap int8_t
int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t float16_t float32_t float64_t defined
sampler1D sampler2D sampler3D image1D image2D image3D isampler1D isampler2D isampler3D usampler1D usampler2D usampler3D
iimage1D iimage2D iimage3D uimage1D uimage2D uimage3D
""")

_GLSL_FUNCTIONS = _words("""
radians degrees sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh pow exp log exp2 log2 sqrt inversesqrt abs
sign floor trunc round roundEven ceil fract mod modf min max clamp mix step smoothstep isnan isinf fma frexp ldexp
length distance dot cross normalize faceforward reflect refract matrixCompMult outerProduct transpose determinant
inverse lessThan greaterThan equal notEqual any all not bitfieldExtract bitfieldInsert bitfieldReverse bitCount
findLSB findMSB barrier memoryBarrier groupMemoryBarrier noise1 noise2 noise3 noise4 texelFetch textureLod textureSize
imageLoad imageStore imageSize packHalf2x16 unpackHalf2x16 dFdx dFdy fwidth interpolateAtCentroid EmitVertex
EndPrimitive ftransform subpassInput lessThanEqual greaterThanEqual uaddCarry usubBorrow
""")

_ROWS = range(2, 5)
_PREFIXES = ("", "i", "u", "b", "d", "i8", "u8", "i16", "u16", "i64", "u64", "f16")
_TENSORS = [f"{prefix}vec{n}" for prefix in _PREFIXES for n in _ROWS]
_TENSORS += [f"{prefix}mat{n}" for prefix in ("", "i", "u", "b", "d", "f16") for n in _ROWS]
_TENSORS += [f"{prefix}mat{n}x{m}" for prefix in ("", "i", "u", "b", "d", "f16") for n in _ROWS for m in _ROWS]

OURS = frozenset({"args", "arguments", "task", "rng", "Args", "Result", "Temporaries", "Report", "Push", "BLOCK"})
"""What the templates and printers call their own things around a value's name."""


def macros(block_dims: Iterable[int]) -> frozenset[str]:
    """Return the constants on top of a text, which replace members of their names too."""
    return frozenset({"BLOCK", *(f"BLOCK_{size}" for size in block_dims)})


def functions(kernel: str, tasks: int) -> frozenset[str]:
    """Return what a text calls the functions and entries of its tasks."""
    return frozenset(f"{name}_{number}" for name in ("task", kernel) for number in range(tasks))


RESERVED: dict[str, frozenset[str]] = {
    "c": frozenset([*_C, *_TENSORS]),
    "cuda": frozenset([*_C, *_CUDA, *_TENSORS]),
    "vulkan": frozenset([*_GLSL, *_TENSORS]),
}
"""Keywords and types by target. Names of helpers are added by whoever includes them."""

MEMBERS: dict[str, frozenset[str]] = {
    "c": frozenset(),
    "cuda": frozenset(),
    "vulkan": frozenset({"length"}),
}
"""What no member of a struct may be called though a variable may, by target: GLSL reads it as a method."""

FUNCTIONS: dict[str, frozenset[str]] = {
    "c": frozenset(_C_FUNCTIONS),
    "cuda": frozenset([*_C_FUNCTIONS, *_CUDA_FUNCTIONS]),
    "vulkan": frozenset(_GLSL_FUNCTIONS),
}
"""Functions by target that a local variable may hide where nothing calls them."""
