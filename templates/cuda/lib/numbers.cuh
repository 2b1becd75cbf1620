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
    asm("rsqrt.approx.ftz.f32 %0, %0;" : "+f"(x));
    return x;
}

// As sqrtf by one instruction: of a subnormal number it is 0.
__device__ inline float normal_sqrt_f32(float x) {
    asm("sqrt.approx.ftz.f32 %0, %0;" : "+f"(x));
    return x;
}

// 1 / x by one instruction, within 1 ulp: infinite for subnormal numbers, 0 beyond 2^126.
__device__ inline float normal_reciprocal_f32(float x) {
    asm("rcp.approx.ftz.f32 %0, %0;" : "+f"(x));
    return x;
}

// sin(x - n pi) within 2 ulp and at most 1, where x - n pi is between -pi / 2 and pi / 2; the bit
// `sign` negates it.
__device__ inline float sin_beyond_f32(float x, float n, unsigned sign) {
    float y = fmaf(n, 3.43024902e-15f, fmaf(n, 8.74227766e-8f, fmaf(n, -3.14159274f, x)));
    y = fabsf(y) > 2.4f ? 0.0f : y;  // beyond 2^22 pi, where neighbouring numbers are 1 apart
    float s = y * y;
    float p = fmaf(s, fmaf(s, 2.60831598e-6f, -1.98107024e-4f), 8.33307113e-3f);
    p = fmaf(s, p, -.166666582f);
    return __uint_as_float(__float_as_uint(fmaf(s * y, p, y)) ^ sign);
}

// sin(x) within 2 ulp where |x| < 8192. Up to 2^22 pi it is the sine of a number within 2 ulp of x,
// where neighbouring floats are .001 apart and more; beyond, of any number. The code of sinf for
// large x takes time for all x.
__device__ inline float short_sin_f32(float x) {
    float n = fmaf(x, .318309886f, 12582912.0f);  // ends with the bits of the nearest integer
    return sin_beyond_f32(x, n - 12582912.0f, __float_as_uint(n) << 31);
}

// cos(x), as `short_sin_f32`.
__device__ inline float short_cos_f32(float x) {
    float n = fmaf(x, .318309886f, -.5f) + 12582912.0f;
    return sin_beyond_f32(x, n - 12582912.0f + .5f, ~__float_as_uint(n) << 31);
}

// sin(x + quarters pi / 2), as `short_sin_f32`, up to 2^21 pi. The compiler computes all but the
// last two lines once for a sine and a cosine of one angle.
__device__ inline float sin_in_pair_f32(float x, unsigned quarters) {
    float n = fmaf(x, .636619772f, 12582912.0f);
    unsigned quadrant = __float_as_uint(n) + quarters;
    n -= 12582912.0f;
    float y = fmaf(n, 1.71512451e-15f, fmaf(n, 4.37113883e-8f, fmaf(n, -1.57079637f, x)));
    y = fabsf(y) > 1.2f ? 0.0f : y;
    float s = y * y;
    float p = fmaf(s, fmaf(s, -1.95182918e-4f, 8.33218917e-3f), -.166666552f);
    float q = fmaf(s, fmaf(s, 2.4432327e-5f, -1.388731e-3f), .0416666456f);
    float sine = fmaf(s * y, p, y), cosine = fmaf(s, fmaf(s, q, -.5f), 1.0f);
    float part = quadrant & 1u ? cosine : sine;
    return __uint_as_float(__float_as_uint(part) ^ (quadrant << 30 & 0x80000000u));
}

// atan2(y, x) within 2 ulp, also of zeros with signs and infinities, without the call by which
// atan2f divides. Angles of subnormal numbers, or beyond 2^126, are in the right eighth only.
__device__ inline float short_atan2_f32(float y, float x) {
    bool is_steep = fabsf(y) > fabsf(x);
    float large = fabsf(is_steep ? y : x), small = fabsf(is_steep ? x : y);
    large = large < 1.17549435e-38f ? 1.17549435e-38f : large;
    float r = normal_reciprocal_f32(large), t = small * r;
    t = r > 0.0f ? fmaf(fmaf(-t, large, small), r, t) : t;
    t = small == large ? 1.0f : t;  // both may be infinite
    float s = t * t;
    float p = fmaf(s, fmaf(s, 2.92068766e-3f, -.0163679104f), .0432118326f);
    p = fmaf(s, fmaf(s, fmaf(s, p, -.0755221248f), .106660038f), -.142110556f);
    p = fmaf(s * t, fmaf(s, fmaf(s, p, .199937731f), -.333331525f), t);
    p = is_steep ? 1.57079637f - (p + 4.37113883e-8f) : p;
    p = __float_as_int(x) < 0 ? 3.14159274f - (p + 8.74227766e-8f) : p;
    return copysignf(p, y);
}

__device__ inline float paired_sin_f32(float x) { return sin_in_pair_f32(x, 0u); }
__device__ inline float paired_cos_f32(float x) { return sin_in_pair_f32(x, 1u); }

#include "../../c_family/lib/numbers.h"

// How to divide by a number of the launch without a division.
struct Divisor {
    unsigned multiplier, shift;
};

// n / d for n, d up to 2^31; a launch packs `by` for d.
__device__ inline unsigned divide(unsigned n, Divisor by) {
    return (__umulhi(n, by.multiplier) + n) >> by.shift;
}

// a % b for a >= 0 and b > 0, as `divide`.
__device__ inline int remainder_by(int a, int b, Divisor by) { return a - int(divide(a, by)) * b; }

// Python's //, as `divide` by b without its sign; 0 if b is 0.
__device__ inline int floor_div_by(int a, int b, Divisor by) {
    int flip = b >> 31, sign = a < -flip ? -1 : 0;  // a // b is ~((a - 1) // -b), and ~(~a // b)
    int quotient = divide((unsigned(a) + flip) ^ sign, by);
    return b == 0 ? 0 : quotient ^ sign ^ flip;
}

// Python's %, as `floor_div_by`; 0 if b is 0.
__device__ inline int mod_by(int a, int b, Divisor by) {
    return b == 0 ? 0 : int(unsigned(a) - unsigned(floor_div_by(a, b, by)) * b);
}
