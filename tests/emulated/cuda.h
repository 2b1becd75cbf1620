// CUDA C's built-in variables, functions and qualifiers on the host, for emitted sources, which stand in the
// namespace `cuda_c`: they declare their own `int64_t` and `half`, and further overloads. What `runtime.cpp` does is declared below.
#pragma once
#include <limits.h>
#include <math.h>
#include <string.h>
#include <utility>

#define __device__
#define __global__
#define __shared__ static
#define __constant__ static const
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __CUDA_ARCH__ 900
#define NOT_CHECKED __attribute__((no_sanitize("kernel-address", "undefined")))

struct Index {
    unsigned x, y, z;
};

struct Seen {
    unsigned lanes;  // those that took part
    unsigned long long values[32];
};

extern "C" {
extern Index threadIdx, blockIdx, blockDim, gridDim;

// Ends the launch: the source did what CUDA C leaves undefined.
[[noreturn]] void emulator_fail(const char *what);
// A thread is about to access memory; other threads may run first.
void emulator_access(const volatile void *place, unsigned long size);
// Wait for all threads of the block; returns how many of them gave a truth.
int emulator_block(bool truth, int *threads);
// Wait for the lanes of the warp; returns the values that they gave.
const Seen *emulator_warp(unsigned lanes, unsigned long long value);
// The lanes that wait at this place too once no other lane of the warp can go on.
unsigned emulator_active(unsigned long long place);
}

struct alignas(8) float2 {
    float x, y;
};

struct float3 {
    float x, y, z;
};

struct alignas(16) float4 {
    float x, y, z, w;
};

struct alignas(8) int2 {
    int x, y;
};

struct int3 {
    int x, y, z;
};

struct alignas(16) int4 {
    int x, y, z, w;
};

struct alignas(8) uint2 {
    unsigned x, y;
};

struct uint3 {
    unsigned x, y, z;
};

struct alignas(16) uint4 {
    unsigned x, y, z, w;
};

struct alignas(16) double2 {
    double x, y;
};

struct double3 {
    double x, y, z;
};

// Call a kernel with the arguments that a launch has pointers to.
template <typename... Parameters, size_t... Positions>
inline void call_with(
    void (*kernel)(Parameters...), void *const *arguments, std::index_sequence<Positions...>
) {
    kernel(*static_cast<Parameters *>(arguments[Positions])...);
}

template <typename... Parameters>
inline void call_with(void (*kernel)(Parameters...), void *const *arguments) {
    call_with(kernel, arguments, std::index_sequence_for<Parameters...>());
}

namespace cuda_c {

// --- integers and bits -----------------------------------------------------------------------------------------------

template <typename To, typename From> NOT_CHECKED inline To bits_as(From x) {
    static_assert(sizeof(To) == sizeof(From), "");
    To result;
    memcpy(&result, &x, sizeof x);
    return result;
}

inline int __float_as_int(float x) { return bits_as<int>(x); }
inline float __sinf(float x) { return sinf(x); }
inline float __cosf(float x) { return cosf(x); }
inline unsigned __float_as_uint(float x) { return bits_as<unsigned>(x); }
inline float __int_as_float(int x) { return bits_as<float>(x); }
inline float __uint_as_float(unsigned x) { return bits_as<float>(x); }
inline long long __double_as_longlong(double x) { return bits_as<long long>(x); }
inline double __longlong_as_double(long long x) { return bits_as<double>(x); }

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
    unsigned long long bytes = (unsigned long long)y << 32 | x;
    unsigned result = 0;
    for (int i = 0; i < 4; i++) {
        result |= (unsigned)(bytes >> (selector >> 4 * i & 7) * 8 & 0xff) << 8 * i;
    }
    return result;
}
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz((unsigned)x); }
inline int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll((unsigned long long)x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((unsigned long long)a * b >> 32); }

inline int abs(int x) { return x < 0 ? (int)-(unsigned)x : x; }
inline long long llabs(long long x) { return x < 0 ? (long long)-(unsigned long long)x : x; }
inline long long abs(long long x) { return llabs(x); }
inline float abs(float x) { return fabsf(x); }
inline double abs(double x) { return fabs(x); }

// --- the least and the greatest: C's promotions, then one overload for each type -------------------------------------

#define EXTREMA(type)                                              \
    inline type min(type a, type b) { return b < a ? b : a; }      \
    inline type max(type a, type b) { return a < b ? b : a; }
#define MIXED_EXTREMA(first, second, type)                                             \
    inline type min(first a, second b) { return min((type)a, (type)b); }               \
    inline type max(first a, second b) { return max((type)a, (type)b); }
EXTREMA(int)
EXTREMA(unsigned)
EXTREMA(long long)
EXTREMA(unsigned long long)
MIXED_EXTREMA(int, unsigned, unsigned)
MIXED_EXTREMA(unsigned, int, unsigned)
MIXED_EXTREMA(long long, unsigned long long, unsigned long long)
MIXED_EXTREMA(unsigned long long, long long, unsigned long long)
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }

// --- floats ----------------------------------------------------------------------------------------------------------

using ::fmod; using ::fmodf; using ::pow; using ::powf; using ::fmin; using ::fminf; using ::fmax; using ::fmaxf;
using ::atan2; using ::atan2f; using ::fabs; using ::fabsf; using ::rint; using ::rintf; using ::sqrt; using ::sqrtf;
using ::sin; using ::sinf; using ::cos; using ::cosf; using ::tan; using ::tanf; using ::asin; using ::asinf;
using ::acos; using ::acosf; using ::atan; using ::atanf; using ::sinh; using ::sinhf; using ::cosh; using ::coshf;
using ::tanh; using ::tanhf; using ::asinh; using ::asinhf; using ::acosh; using ::acoshf; using ::atanh;
using ::atanhf; using ::exp; using ::expf; using ::exp2; using ::exp2f; using ::exp10; using ::exp10f; using ::log;
using ::logf; using ::log2; using ::log2f; using ::log10; using ::log10f; using ::floor; using ::floorf; using ::ceil; using ::ceilf;
using ::trunc; using ::truncf; using ::fma; using ::fmaf; using ::ldexp; using ::ldexpf; using ::frexp;
using ::frexpf; using ::round; using ::roundf; using ::cbrt; using ::cbrtf; using ::hypot; using ::hypotf;
using ::copysign; using ::copysignf; using ::remainder; using ::remainderf; 

inline float __fdiv_rn(float a, float b) { return a / b; }
inline float rsqrtf(float x) { return (float)(1.0 / sqrt((double)x)); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }
inline float __saturatef(float x) { return fminf(fmaxf(x, 0.0f), 1.0f); }

// Functions of libdevice.
extern "C" inline unsigned short __nv_float2half_rn(float x) { return bits_as<unsigned short>((_Float16)x); }
extern "C" inline float __nv_half2float(unsigned short bits) { return (float)bits_as<_Float16>(bits); }

// --- memory ----------------------------------------------------------------------------------------------------------

inline void __threadfence() {}
inline void __threadfence_block() {}
template <typename T> inline T __ldg(const T *place) { return *place; }
template <typename T> inline T __ldcg(const T *place) { return *place; }

// `new_value` from the value `old`; nothing runs in between.
#define ATOMIC(name, type, operand, new_value)                        \
    NOT_CHECKED inline type name(type *place, operand) {              \
        if ((unsigned long)place % sizeof(type) != 0) {               \
            emulator_fail(#name " of a misaligned place");            \
        }                                                             \
        emulator_access(place, sizeof(type));                         \
        type old = *place;                                            \
        *place = (type)(new_value);                                   \
        return old;                                                   \
    }
ATOMIC(atomicAdd, int, int value, (unsigned)old + (unsigned)value)
ATOMIC(atomicAdd, unsigned, unsigned value, old + value)
ATOMIC(atomicAdd, unsigned long long, unsigned long long value, old + value)
ATOMIC(atomicAdd, float, float value, old + value)
ATOMIC(atomicAdd, double, double value, old + value)
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
// Each element on its own, as the instruction does.
NOT_CHECKED inline void add_each(float *place, const float *values, unsigned size) {
    if ((unsigned long)place % size != 0) {
        emulator_fail("atomicAdd of a misaligned vector");
    }
    for (unsigned i = 0; i < size / 4; i++) {
        atomicAdd(place + i, values[i]);
    }
}
inline void atomicAdd(float2 *place, float2 value) { add_each((float *)place, &value.x, 8); }
inline void atomicAdd(float4 *place, float4 value) { add_each((float *)place, &value.x, 16); }
ATOMIC(atomicSub, int, int value, (unsigned)old - (unsigned)value)
ATOMIC(atomicSub, unsigned, unsigned value, old - value)
ATOMIC(atomicInc, unsigned, unsigned value, old >= value ? 0 : old + 1)
#define ATOMIC_EXTREMA(type)                                      \
    ATOMIC(atomicMin, type, type value, old < value ? old : value) \
    ATOMIC(atomicMax, type, type value, old > value ? old : value)
ATOMIC_EXTREMA(int)
ATOMIC_EXTREMA(unsigned)
ATOMIC_EXTREMA(long long)
ATOMIC_EXTREMA(unsigned long long)
#define ATOMIC_BITS(type)                            \
    ATOMIC(atomicAnd, type, type value, old & value) \
    ATOMIC(atomicOr, type, type value, old | value)  \
    ATOMIC(atomicXor, type, type value, old ^ value)
ATOMIC_BITS(int)
ATOMIC_BITS(unsigned)
ATOMIC_BITS(unsigned long long)
#define ATOMIC_SWAP(type)                                                      \
    ATOMIC(atomicExch, type, type value, value)                                \
    NOT_CHECKED inline type atomicCAS(type *place, type assumed, type value) { \
        type old = atomicExch(place, value);                                   \
        if (old != assumed) {                                                  \
            *place = old;                                                      \
        }                                                                      \
        return old;                                                            \
    }
ATOMIC_SWAP(int)
ATOMIC_SWAP(unsigned)
ATOMIC_SWAP(unsigned short)
ATOMIC_SWAP(unsigned long long)

// --- threads ---------------------------------------------------------------------------------------------------------

inline void __syncthreads() { emulator_block(false, nullptr); }
inline int __syncthreads_count(int truth) { return emulator_block(truth != 0, nullptr); }
inline int __syncthreads_or(int truth) { return emulator_block(truth != 0, nullptr) > 0; }
inline int __syncthreads_and(int truth) {
    int threads;
    return emulator_block(truth != 0, &threads) == threads;
}

#define __activemask() emulator_active(__COUNTER__)
inline void __syncwarp(unsigned lanes = ~0u) { emulator_warp(lanes, 0); }

inline unsigned __ballot_sync(unsigned lanes, int truth) {
    const Seen *seen = emulator_warp(lanes, truth != 0);
    unsigned result = 0;
    for (unsigned lane = 0; lane < 32; lane++) {
        result |= (seen->lanes >> lane & 1) != 0 && seen->values[lane] != 0 ? 1u << lane : 0;
    }
    return result;
}

inline int __any_sync(unsigned lanes, int truth) { return __ballot_sync(lanes, truth) != 0; }
inline int __all_sync(unsigned lanes, int truth) { return __ballot_sync(lanes, truth == 0) == 0; }
inline int __uni_sync(unsigned lanes, int truth) {
    const Seen *seen = emulator_warp(lanes, truth != 0);
    for (unsigned lane = 0; lane < 32; lane++) {
        if ((seen->lanes >> lane & 1) != 0 && seen->values[lane] != (truth != 0)) {
            return 0;
        }
    }
    return 1;
}

template <typename T> inline unsigned long long to_word(T x) {
    unsigned long long word = 0;
    memcpy(&word, &x, sizeof x);
    return word;
}

template <typename T> inline unsigned __match_any_sync(unsigned lanes, T value) {
    const Seen *seen = emulator_warp(lanes, to_word(value));
    unsigned result = 0;
    for (unsigned lane = 0; lane < 32; lane++) {
        result |= (seen->lanes >> lane & 1) != 0 && seen->values[lane] == to_word(value) ? 1u << lane : 0;
    }
    return result;
}

template <typename T> inline unsigned __match_all_sync(unsigned lanes, T value, int *is_equal) {
    unsigned equal = __match_any_sync(lanes, value);
    *is_equal = equal == lanes;
    return *is_equal ? lanes : 0;
}

// The value of lane `source`, its own if there is no such lane.
template <typename T> inline T shuffled(unsigned lanes, T value, int source) {
    const Seen *seen = emulator_warp(lanes, to_word(value));
    if (source < 0 || source > 31) {
        return value;
    }
    if ((seen->lanes >> source & 1) == 0) {
        emulator_fail("a shuffle from a lane that takes no part");
    }
    T result;
    memcpy(&result, &seen->values[source], sizeof result);
    return result;
}

template <typename T> inline T __shfl_sync(unsigned lanes, T value, int source) {
    return shuffled(lanes, value, source & 31);
}
template <typename T> inline T __shfl_xor_sync(unsigned lanes, T value, int bits) {
    return shuffled(lanes, value, (int)(threadIdx.x % 32) ^ bits);
}
template <typename T> inline T __shfl_up_sync(unsigned lanes, T value, unsigned by) {
    return shuffled(lanes, value, (int)(threadIdx.x % 32) - (int)by);
}
template <typename T> inline T __shfl_down_sync(unsigned lanes, T value, unsigned by) {
    return shuffled(lanes, value, (int)(threadIdx.x % 32) + (int)by);
}

}  // namespace cuda_c
