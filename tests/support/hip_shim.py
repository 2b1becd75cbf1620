"""Names of HIP's header, made of CUDA's, so that NVRTC compiles emitted HIP: it has no AMD compiler in it."""

INCLUDE = "#include <hip/hip_runtime.h>\n"

SHIM = r"""
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef long int64_t;
typedef unsigned long uint64_t;
typedef cudaTextureObject_t hipTextureObject_t;
typedef cudaSurfaceObject_t hipSurfaceObject_t;
#define hipBoundaryModeZero cudaBoundaryModeZero
#define __HIP_MEMORY_SCOPE_AGENT 0
#define __ATOMIC_RELAXED 0
#define __ballot shim_ballot
#define __lane_id shim_lane_id
#define __shfl shim_shfl
#define __shfl_xor shim_shfl_xor
#define __shfl_up shim_shfl_up
#define __shfl_down shim_shfl_down
#define __builtin_amdgcn_wave_barrier() __syncwarp()
#define __hip_atomic_load(place, order, scope) __ldcg(place)
struct _Float16 {
    uint16_t bits;
    __device__ explicit _Float16(float x) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x)); }
    _Float16() = default;
    __device__ explicit operator float() const {
        float x;
        asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
        return x;
    }
};
__device__ inline unsigned long long shim_ballot(int x) { return __ballot_sync(__activemask(), x); }
__device__ inline unsigned shim_lane_id() { return threadIdx.x % 32; }
template <typename T> __device__ inline T shim_shfl(T x, int lane, int width) { return __shfl_sync(~0u, x, lane, width); }
template <typename T> __device__ inline T shim_shfl_xor(T x, int bits, int w) { return __shfl_xor_sync(~0u, x, bits, w); }
template <typename T> __device__ inline T shim_shfl_up(T x, int by, int w) { return __shfl_up_sync(~0u, x, by, w); }
template <typename T> __device__ inline T shim_shfl_down(T x, int by, int w) { return __shfl_down_sync(~0u, x, by, w); }
"""


def as_cuda(source: str) -> str:
    """Return emitted HIP with the shim in place of HIP's header."""
    assert source.count(INCLUDE) == 1
    return source.replace(INCLUDE, SHIM)
