"""Words a user's name may not be: keywords, types and macros always, built-in functions where all of a file sees it.

A local variable may hide a function (`float length = ...`) that its text does not call (`hidden_names`), and a member
never meets one (`args.step`). Source: all words in the headers and the binary of gcc 12, in the binary of
glslang 12, and, for CUDA, in the headers of CUDA 13 and the list of C; each tried as a variable, a member, a type and a
function.
"""

from __future__ import annotations

from collections.abc import Iterable


def _words(text: str) -> list[str]:
    return text.split()


_C = _words("""
auto break case char const continue default do double else enum extern float for goto if inline int long register
restrict return short signed sizeof static struct switch typedef union unsigned void volatile while bool true false
main size_t ptrdiff_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t intptr_t uintptr_t NULL
INFINITY NAN asm typeof linux unix defined collapse schedule num_threads simdlen safelen reduction firstprivate
_Accum _Alignas _Alignof _Atomic _Bool _Complex _Decimal32 _Decimal64 _Decimal128 _Float16 _Float32 _Float32x _Float64
_Float64x _Float128 _Fract _Generic _Imaginary _Noreturn _Pragma _Sat _Static_assert _Thread_local
HUGE_VAL HUGE_VALF HUGE_VALL FP_ILOGB0 FP_ILOGBNAN FP_INFINITE FP_NAN FP_NORMAL FP_SUBNORMAL FP_ZERO math_errhandling
MATH_ERREXCEPT MATH_ERRNO M_1_PI M_2_PI M_2_SQRTPI M_E M_LN10 M_LN2 M_LOG10E M_LOG2E M_PI M_PI_2 M_PI_4 M_SQRT1_2
M_SQRT2 PTRDIFF_MAX PTRDIFF_MIN SIG_ATOMIC_MAX SIG_ATOMIC_MIN SIZE_MAX WCHAR_MAX WCHAR_MIN WINT_MAX WINT_MIN
_ATFILE_SOURCE _BITS_FLOATN_COMMON_H _BITS_FLOATN_H _BITS_LIBM_SIMD_DECL_STUBS_H _BITS_STDINT_INTN_H _BITS_TIME64_H
_BITS_STDINT_UINTN_H _BITS_TYPESIZES_H _BITS_TYPES_H _BITS_WCHAR_H _DEFAULT_SOURCE _FEATURES_H _GCC_WRAP_STDINT_H _LP64
_MATH_H _OPENMP _POSIX_C_SOURCE _POSIX_SOURCE _REENTRANT _STDBOOL_H _STDC_PREDEF_H _STDINT_H _SYS_CDEFS_H
""")
_WIDTHS = (
    "8",
    "16",
    "32",
    "64",
    "_FAST8",
    "_FAST16",
    "_FAST32",
    "_FAST64",
    "_LEAST8",
    "_LEAST16",
    "_LEAST32",
    "_LEAST64",
)
_C += [
    f"{kind}{width}_{end}" for kind in ("INT", "UINT") for width in (*_WIDTHS, "MAX", "PTR") for end in ("MAX", "MIN")
]

_MATHS = _words("""
acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh drem erf erfc exp exp2 expm1 fabs fdim finite floor
fma fmax fmin fmod frexp gamma hypot ilogb isinf isnan j0 j1 jn ldexp lgamma llrint llround log log10 log1p log2 logb
lrint lround modf nan nearbyint nextafter nexttoward pow remainder remquo rint round scalb scalbln scalbn significand
sin sinh sqrt tan tanh tgamma trunc y0 y1 yn
""")
_C_FUNCTIONS = _words("""
signbit isfinite isnormal isgreater isgreaterequal isless islessequal islessgreater isunordered fpclassify signgam abs
labs div ldiv lgamma_r lgammaf_r lgammal_r double_t float_t wchar_t intmax_t uintmax_t offsetof malloc free calloc
realloc memcpy memset memmove memcmp exit abort atexit printf puts rand srand
""")
_C_FUNCTIONS += [f"{name}{suffix}" for name in _MATHS for suffix in ("", "f", "l")]
_C_FUNCTIONS += [f"{kind}{width.lower()}_t" for kind in ("int", "uint") for width in _WIDTHS if "_" in width]
_C_FUNCTIONS += [f"{kind}{width}_C" for kind in ("INT", "UINT") for width in ("8", "16", "32", "64", "MAX")]

_CUDA = _words("""
class namespace template typename public private protected virtual operator new delete this friend explicit export
mutable using try catch throw and or not xor bitand bitor compl and_eq or_eq not_eq xor_eq nullptr alignas alignof
constexpr consteval constinit decltype noexcept static_assert static_cast dynamic_cast const_cast reinterpret_cast
thread_local wchar_t char8_t char16_t char32_t typeid concept requires co_await co_return co_yield threadIdx blockIdx
blockDim gridDim warpSize dim3 uint ulong ushort uchar assert std cuda
CUDARTAPI CUDARTAPI_CDECL CUDART_DEVICE _CRTIMP cudaMemAttachGlobal cudaMemAttachSingle cudaOccupancyDefault
cudaStreamPerThread
""")
_CUDA += [
    f"cuda{kind}Type{shape}"
    for kind in ("Surface", "Texture")
    for shape in ("1D", "1DLayered", "2D", "2DLayered", "3D", "Cubemap", "CubemapLayered")
]
_CUDA_SCALARS = _words("char uchar short ushort int uint long ulong longlong ulonglong float double")
_CUDA_VECTORS = [f"{name}{size}" for name in _CUDA_SCALARS for size in range(1, 5)]
_CUDA_VECTORS += [f"{name}4_{size}a" for name in _words("long ulong longlong ulonglong double") for size in (16, 32)]
_CUDA += _CUDA_VECTORS

_CUDA_MATHS = _words("""
cospi cyl_bessel_i0 cyl_bessel_i1 erfcinv erfcx erfinv exp10 fdivide norm norm3d norm4d normcdf normcdfinv rcbrt rhypot
rnorm rnorm3d rnorm4d rsqrt sincos sincospi sinpi
""")
_CUDA_FUNCTIONS = _words("""
saturate min max clock clock64 clock_t dot cross length normalize transpose outerProduct matrixCompMult all any ballot
syncthreads_and syncthreads_count syncthreads_or llabs llmax llmin ullmax ullmin umax umin dadd dsub dmul double2int
double2ll double2uint double2ull float2double int2double ll2double uint2double ull2double va_arg va_copy va_end va_list
va_start CUuuid MAJOR_VERSION MINOR_VERSION PATCH_LEVEL NV_IF_TARGET NV_IF_ELSE_TARGET libraryPropertyType
libraryPropertyType_t
tex1D tex1DGrad tex1DLayered tex1DLayeredGrad tex1DLayeredLod tex1DLod tex1Dfetch tex2D tex2DGrad tex2DLayered
tex2DLayeredGrad tex2DLayeredLod tex2DLod tex2Dgather tex3D tex3DGrad tex3DLod texCubemap texCubemapGrad
texCubemapLayered texCubemapLayeredGrad texCubemapLayeredLod texCubemapLod
cudaAddressModeBorder cudaAddressModeClamp cudaAddressModeMirror cudaAddressModeWrap cudaArray_const_t cudaArray_t
cudaBoundaryModeClamp cudaBoundaryModeTrap cudaBoundaryModeZero cudaCGScope cudaChannelFormatDesc cudaChannelFormatKind
cudaChannelFormatKindFloat cudaChannelFormatKindNone cudaChannelFormatKindSigned cudaChannelFormatKindUnsigned
cudaDataType cudaDataType_t cudaDeviceAttr cudaDeviceProp cudaErrorInvalidValue cudaErrorUnknown cudaError_t
cudaEvent_t cudaExtent cudaFilterModeLinear cudaFilterModePoint cudaFormatModeAuto cudaFormatModeForced
cudaFuncAttribute cudaFuncAttributes cudaFuncCache cudaGraphExec_t cudaGraphNode_t cudaGraph_t cudaGraphicsResource_t
cudaKernel_t cudaLimit cudaMemLocation cudaMemPool_t cudaMemcpyDeviceToHost cudaMemcpyHostToDevice cudaMemcpyKind
cudaMemoryAdvise cudaPitchedPtr cudaPos cudaReadModeElementType cudaReadModeNormalizedFloat cudaResourceDesc
cudaResourceViewDesc cudaRoundMode cudaSharedMemConfig cudaStream_t cudaSuccess cudaSurfaceBoundaryMode
cudaSurfaceFormatMode cudaSurfaceObject_t cudaTextureAddressMode cudaTextureDesc cudaTextureFilterMode
cudaTextureObject_t cudaTextureReadMode cudaUserObject_t
CUDA_EMULATION_MANTISSA_CONTROL_DYNAMIC CUDA_EMULATION_MANTISSA_CONTROL_FIXED CUDA_EMULATION_STRATEGY_DEFAULT
CUDA_EMULATION_STRATEGY_EAGER CUDA_EMULATION_STRATEGY_PERFORMANT cudaChannelFormatKindNV12
cudaChannelFormatKindSignedNormalized8X1 cudaChannelFormatKindSignedNormalized8X2
cudaChannelFormatKindSignedNormalized8X4 cudaDevAttrMaxThreadsPerBlock cudaDevAttrMaxThreadsPerMultiProcessor
cudaDevAttrMultiProcessorCount cudaDevAttrWarpSize cudaEmulationMantissaControl cudaEmulationMantissaControl_t
cudaEmulationSpecialValuesSupport cudaEmulationSpecialValuesSupport_t cudaEmulationStrategy cudaEmulationStrategy_t
cudaExternalSemaphore_t cudaGraphConditionalHandle cudaGraphDeviceNode_t cudaGraphExecUpdateResult
cudaGraphExecUpdateResultInfo cudaGraphKernelNodeUpdate cudaGraphNodeParams cudaLaunchConfig_t cudaLibrary_t
cudaMemcpy3DBatchOp cudaMemcpy3DParms cudaMemcpyAttributes cudaMipmappedArray_const_t cudaRoundMinInf cudaRoundNearest
cudaRoundPosInf cudaRoundZero cudaStreamCaptureStatus cudaUserObjectFlags
""")
_CUDA_FUNCTIONS += [
    f"CUDA_{kind}_{size}" for kind in "CR" for size in _words("4I 4U 8I 8U 16BF 16F 16I 16U 32F 32I 32U 64F 64I 64U")
]
_CUDA_FUNCTIONS += _words(
    "CUDA_R_4F_E2M1 CUDA_R_6F_E2M3 CUDA_R_6F_E3M2 CUDA_R_8F_E4M3 CUDA_R_8F_E5M2 CUDA_R_8F_UE4M3 CUDA_R_8F_UE8M0"
)
_CUDA_FUNCTIONS += [f"{name}{suffix}" for name in _CUDA_MATHS for suffix in ("", "f")]
_CUDA_FUNCTIONS += [f"make_{name}" for name in _CUDA_VECTORS]
_CUDA_FUNCTIONS += [
    f"surf{shape}{what}"
    for shape in ("1D", "1DLayered", "2D", "2DLayered", "3D", "Cubemap", "CubemapLayered")
    for what in ("read", "write")
]
_CUDA_FUNCTIONS += [
    f"atomic{name}{scope}"
    for name in _words("Add Sub Min Max And Or Xor Exch CAS Inc Dec")
    for scope in ("", "_block", "_system")
]

_GLSL = _words("""
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
_SHAPES = _words("1D 1DArray 2D 2DArray 2DMS 2DMSArray 2DRect 3D Buffer Cube CubeArray")
_GLSL += [
    f"{prefix}{kind}{shape}"
    for prefix in ("", "i", "u")
    for kind in ("sampler", "image", "texture")
    for shape in _SHAPES
]

_GLSL_FUNCTIONS = _words("""
radians degrees sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh pow exp log exp2 log2 sqrt inversesqrt abs
sign floor trunc round roundEven ceil fract mod modf min max clamp mix step smoothstep isnan isinf fma frexp ldexp
length distance dot cross normalize faceforward reflect refract matrixCompMult outerProduct transpose determinant
inverse lessThan greaterThan equal notEqual any all not bitfieldExtract bitfieldInsert bitfieldReverse bitCount
findLSB findMSB barrier memoryBarrier groupMemoryBarrier noise1 noise2 noise3 noise4 texelFetch textureLod textureSize
imageLoad imageStore imageSize packHalf2x16 unpackHalf2x16 dFdx dFdy fwidth interpolateAtCentroid EmitVertex
EndPrimitive ftransform subpassInput lessThanEqual greaterThanEqual uaddCarry usubBorrow
""")

_GLSL_FUNCTIONS += _words("""
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
_GLSL_FUNCTIONS += _words("f16subpassInput f16subpassInputMS fcoopmatNV icoopmatNV ucoopmatNV samplerExternalOES")

_PREFIXES = ("", "i", "u", "b", "d", "i8", "u8", "i16", "u16", "i64", "u64", "f16")
_TENSORS = [f"{prefix}vec{n}" for prefix in _PREFIXES for n in _ROWS]
_TENSORS += [f"{prefix}mat{n}" for prefix in ("", "i", "u", "b", "d", "f16") for n in _ROWS]
_GLSL_FUNCTIONS += [f"{prefix}vec{n}" for prefix in ("i32", "u32", "f32", "f64") for n in _ROWS]
_GLSL_FUNCTIONS += [
    f"{prefix}mat{n}" for prefix in ("f32", "f64") for n in (*_ROWS, *(f"{n}x{m}" for n in _ROWS for m in _ROWS))
]
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

_FORMATS = _words("""
r8 r8_snorm r8i r8ui r16 r16_snorm r16f r16i r16ui r32f r32i r32ui rg8 rg8_snorm rg8i rg8ui rg16 rg16_snorm rg16f rg16i
rg16ui rg32f rg32i rg32ui rgba8 rgba8_snorm rgba8i rgba8ui rgba16 rgba16_snorm rgba16f rgba16i rgba16ui rgba32f rgba32i
rgba32ui r11f_g11f_b10f rgb10_a2 rgb10_a2ui
""")
TYPES: dict[str, frozenset[str]] = {
    "c": frozenset(),
    "cuda": frozenset(),
    "vulkan": frozenset(
        [
            *_words("push_constant buffer_reference buffer_reference_align scalar row_major local_size_x set binding"),
            *_words("require enable v spirv_instruction extensions capabilities"),
            *_FORMATS,
        ]
    ),
}
"""What no type may be called though all else may: GLSL reads the name of a type as that wherever it stands."""

FUNCTIONS: dict[str, frozenset[str]] = {
    "c": frozenset(_C_FUNCTIONS),
    "cuda": frozenset([*_C_FUNCTIONS, *_CUDA_FUNCTIONS]),
    "vulkan": frozenset(_GLSL_FUNCTIONS),
}
"""Functions by target that a local variable may hide where nothing calls them."""
