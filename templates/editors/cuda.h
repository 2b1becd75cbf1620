// What CUDA C has without a header, as declarations: for editors that complete and check names (clangd), never compiled.
// `shadesmith editors` names this file in compile_commands.json. Source: CUDA C++ Programming Guide, chapter 7;
// CUDA Math API.
#pragma once

#define __device__
#define __host__
#define __global__
#define __shared__ static
#define __constant__ static const
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
#define __restrict__ __restrict
#define __CUDA_ARCH__ 900
#define __CUDACC_RTC__ 1

typedef decltype(sizeof(0)) size_t;
typedef unsigned long long cudaTextureObject_t, cudaSurfaceObject_t;

struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x, y, z;
};
extern const uint3 threadIdx, blockIdx;
extern const dim3 blockDim, gridDim;
extern const int warpSize;

#define VECTORS(type, name)                                            \
    struct alignas(2 * sizeof(type)) name##2 {                         \
        type x, y;                                                     \
    };                                                                 \
    struct name##3 {                                                   \
        type x, y, z;                                                  \
    };                                                                 \
    struct alignas(4 * sizeof(type) > 16 ? 16 : 4 * sizeof(type)) name##4 { \
        type x, y, z, w;                                               \
    };                                                                 \
    name##2 make_##name##2(type x, type y);                            \
    name##3 make_##name##3(type x, type y, type z);                    \
    name##4 make_##name##4(type x, type y, type z, type w);
VECTORS(float, float)
VECTORS(double, double)
VECTORS(int, int)
VECTORS(long long, longlong)
VECTORS(unsigned long long, ulonglong)
VECTORS(short, short)
VECTORS(unsigned short, ushort)
VECTORS(signed char, char)
VECTORS(unsigned char, uchar)
struct alignas(8) uint2 {
    unsigned x, y;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
uint2 make_uint2(unsigned x, unsigned y);
uint3 make_uint3(unsigned x, unsigned y, unsigned z);
uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w);
#undef VECTORS

// --- threads

void __syncthreads();
int __syncthreads_count(int predicate);
int __syncthreads_and(int predicate);
int __syncthreads_or(int predicate);
void __syncwarp(unsigned mask = 0xffffffff);
void __threadfence();
void __threadfence_block();
void __threadfence_system();
void __nanosleep(unsigned nanoseconds);
void __trap();
unsigned __activemask();
unsigned __ballot_sync(unsigned mask, int predicate);
int __all_sync(unsigned mask, int predicate);
int __any_sync(unsigned mask, int predicate);
int __uni_sync(unsigned mask, int predicate);
template <typename T> unsigned __match_any_sync(unsigned mask, T value);
template <typename T> unsigned __match_all_sync(unsigned mask, T value, int *predicate);
template <typename T> T __shfl_sync(unsigned mask, T value, int lane, int width = 32);
template <typename T> T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32);
template <typename T> T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32);
template <typename T> T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32);
template <typename T> T __reduce_add_sync(unsigned mask, T value);
template <typename T> T __reduce_min_sync(unsigned mask, T value);
template <typename T> T __reduce_max_sync(unsigned mask, T value);
template <typename T> T __reduce_and_sync(unsigned mask, T value);
template <typename T> T __reduce_or_sync(unsigned mask, T value);
template <typename T> T __reduce_xor_sync(unsigned mask, T value);
long long clock64();
long long clock();

// --- memory

template <typename T> T __ldg(const T *address);
template <typename T> T __ldcg(const T *address);
template <typename T> T __ldca(const T *address);
template <typename T> T __ldcs(const T *address);
template <typename T> void __stcg(T *address, T value);
template <typename T> void __stcs(T *address, T value);
template <typename T, typename U> T atomicAdd(T *address, U value);
template <typename T, typename U> T atomicSub(T *address, U value);
template <typename T, typename U> T atomicExch(T *address, U value);
template <typename T, typename U> T atomicMin(T *address, U value);
template <typename T, typename U> T atomicMax(T *address, U value);
template <typename T, typename U> T atomicInc(T *address, U value);
template <typename T, typename U> T atomicDec(T *address, U value);
template <typename T, typename U> T atomicAnd(T *address, U value);
template <typename T, typename U> T atomicOr(T *address, U value);
template <typename T, typename U> T atomicXor(T *address, U value);
template <typename T, typename U, typename V> T atomicCAS(T *address, U compare, V value);

// --- textures

enum cudaSurfaceBoundaryMode { cudaBoundaryModeZero, cudaBoundaryModeClamp, cudaBoundaryModeTrap };
template <typename T> T tex1D(cudaTextureObject_t, float x);
template <typename T> T tex2D(cudaTextureObject_t, float x, float y);
template <typename T> T tex3D(cudaTextureObject_t, float x, float y, float z);
template <typename T> T tex1DLod(cudaTextureObject_t, float x, float lod);
template <typename T> T tex2DLod(cudaTextureObject_t, float x, float y, float lod);
template <typename T> T tex3DLod(cudaTextureObject_t, float x, float y, float z, float lod);
#define BOUNDARY cudaSurfaceBoundaryMode = cudaBoundaryModeTrap
template <typename T> T surf1Dread(cudaSurfaceObject_t, int x, BOUNDARY);
template <typename T> T surf2Dread(cudaSurfaceObject_t, int x, int y, BOUNDARY);
template <typename T> T surf3Dread(cudaSurfaceObject_t, int x, int y, int z, BOUNDARY);
template <typename T> void surf1Dwrite(T, cudaSurfaceObject_t, int x, BOUNDARY);
template <typename T> void surf2Dwrite(T, cudaSurfaceObject_t, int x, int y, BOUNDARY);
template <typename T> void surf3Dwrite(T, cudaSurfaceObject_t, int x, int y, int z, BOUNDARY);
#undef BOUNDARY

// --- numbers

#define FUNCTION1(name)   \
    float name##f(float); \
    double name(double);
#define FUNCTION2(name)          \
    float name##f(float, float); \
    double name(double, double);
FUNCTION1(sqrt) FUNCTION1(rsqrt) FUNCTION1(cbrt) FUNCTION1(rcbrt) FUNCTION1(fabs) FUNCTION1(floor) FUNCTION1(ceil)
FUNCTION1(trunc) FUNCTION1(round) FUNCTION1(rint) FUNCTION1(nearbyint) FUNCTION1(exp) FUNCTION1(exp2) FUNCTION1(exp10)
FUNCTION1(expm1) FUNCTION1(log) FUNCTION1(log2) FUNCTION1(log10) FUNCTION1(log1p) FUNCTION1(logb) FUNCTION1(sin)
FUNCTION1(cos) FUNCTION1(tan) FUNCTION1(sinpi) FUNCTION1(cospi) FUNCTION1(asin) FUNCTION1(acos) FUNCTION1(atan)
FUNCTION1(sinh) FUNCTION1(cosh) FUNCTION1(tanh) FUNCTION1(asinh) FUNCTION1(acosh) FUNCTION1(atanh) FUNCTION1(erf)
FUNCTION1(erfc) FUNCTION1(tgamma) FUNCTION1(lgamma)
FUNCTION2(pow) FUNCTION2(fmod) FUNCTION2(fmin) FUNCTION2(fmax) FUNCTION2(fdim) FUNCTION2(atan2) FUNCTION2(hypot)
FUNCTION2(copysign) FUNCTION2(remainder) FUNCTION2(nextafter)
#undef FUNCTION1
#undef FUNCTION2
float fmaf(float, float, float);
double fma(double, double, double);
float ldexpf(float, int);
double ldexp(double, int);
float frexpf(float, int *);
double frexp(double, int *);
void sincosf(float, float *sine, float *cosine);
void sincos(double, double *sine, double *cosine);
float __fdividef(float, float);
float __expf(float);
float __exp10f(float);
float __logf(float);
float __log2f(float);
float __log10f(float);
float __powf(float, float);
float __sinf(float);
float __cosf(float);
float __tanf(float);
float __saturatef(float);
float __frcp_rn(float);
float __fsqrt_rn(float);
float __fadd_rn(float, float);
float __fsub_rn(float, float);
float __fmul_rn(float, float);
float __fdiv_rn(float, float);
float __fmaf_rn(float, float, float);
double __dadd_rn(double, double);
double __dsub_rn(double, double);
double __dmul_rn(double, double);
double __ddiv_rn(double, double);
double __fma_rn(double, double, double);
int __popc(unsigned);
int __popcll(unsigned long long);
int __clz(int);
int __clzll(long long);
int __ffs(int);
int __ffsll(long long);
unsigned __brev(unsigned);
unsigned long long __brevll(unsigned long long);
unsigned __byte_perm(unsigned, unsigned, unsigned selector);
unsigned __funnelshift_l(unsigned low, unsigned high, unsigned by);
unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by);
int __mulhi(int, int);
unsigned __umulhi(unsigned, unsigned);
long long __mul64hi(long long, long long);
unsigned long long __umul64hi(unsigned long long, unsigned long long);
int __float_as_int(float);
unsigned __float_as_uint(float);
float __int_as_float(int);
float __uint_as_float(unsigned);
long long __double_as_longlong(double);
double __longlong_as_double(long long);
int __float2int_rn(float);
int __float2int_rz(float);
int __double2int_rz(double);
template <typename T, typename U> decltype(T() + U()) min(T, U);
template <typename T, typename U> decltype(T() + U()) max(T, U);
int abs(int);
long long abs(long long);
float abs(float);
double abs(double);
long long llabs(long long);
bool isnan(double);
bool isinf(double);
bool isfinite(double);
bool signbit(double);
extern "C" int printf(const char *, ...);
void assert(bool);
