"""Reserved names of CUDA C: those of C and C++, and the names that CUDA's headers declare."""

from __future__ import annotations

from ..c import reserved as c
from ..common.reserved import names

_CUDA = names("""
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
_CUDA_SCALARS = names("char uchar short ushort int uint long ulong longlong ulonglong float double")
_CUDA_VECTORS = [f"{name}{size}" for name in _CUDA_SCALARS for size in range(1, 5)]
_CUDA_VECTORS += [f"{name}4_{size}a" for name in names("long ulong longlong ulonglong double") for size in (16, 32)]
_CUDA += _CUDA_VECTORS

_CUDA_MATHS = names("""
cospi cyl_bessel_i0 cyl_bessel_i1 erfcinv erfcx erfinv exp10 fdivide norm norm3d norm4d normcdf normcdfinv rcbrt rhypot
rnorm rnorm3d rnorm4d rsqrt sincos sincospi sinpi
""")
_CUDA_FUNCTIONS = names("""
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
    f"CUDA_{kind}_{size}" for kind in "CR" for size in names("4I 4U 8I 8U 16BF 16F 16I 16U 32F 32I 32U 64F 64I 64U")
]
_CUDA_FUNCTIONS += names(
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
    for name in names("Add Sub Min Max And Or Xor Exch CAS Inc Dec")
    for scope in ("", "_block", "_system")
]

RESERVED = c.RESERVED.union(_CUDA)
"""Keywords and types."""
FUNCTIONS = c.FUNCTIONS.union(_CUDA_FUNCTIONS)
"""Functions that a local variable may hide if its function does not call them."""
