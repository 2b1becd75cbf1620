// Arithmetic that CUDA C lacks or leaves undefined. Chunks are separated by blank lines, each
// defines one name; a source includes those it uses.

#include "dialect.cuh"

// types: i32, i64
// Quotient rounded toward zero; 0 if the divisor is 0.
__device__ inline int div_i32(int a, int b) {
    // x / 0 is undefined, and so is the lowest number / -1
    return b == 0 ? 0 : b == -1 ? int(-uint32_t(a)) : a / b;
}

// types: i16
// -x, which ptxas 13.0 does not wrap where it becomes an int: -(-32768) would be 32768. It keeps a
// permutation of bytes; 9 is the sign of byte 1.
__device__ inline int16_t negative_i16(int16_t x) { return (int16_t)__byte_perm(-x, 0, 0x9910); }

// As rsqrtf for numbers that are not subnormal, without the instructions for those.
__device__ inline float normal_rsqrt_f32(float x) {
    float y;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// As sqrtf for numbers that are not subnormal, without the instructions for those.
__device__ inline float normal_sqrt_f32(float x) {
    float y;
    asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// 1 / x by one instruction, within 1 ulp: infinite for subnormal numbers, 0 beyond 2^126.
__device__ inline float normal_reciprocal_f32(float x) {
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

#include "../../c_family/lib/numbers.h"
