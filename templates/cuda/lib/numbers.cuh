// Arithmetic that CUDA C lacks or leaves undefined. Chunks are separated by blank lines, each defines one name; a file carries those it uses.

#include "types.cuh"

// Quotient rounded toward zero; 0 where the divisor is 0.
__device__ inline int div_i32(int a, int b) {
    return b == 0 ? 0 : b == -1 ? -a : a / b;  // x / 0 is undefined, and so is the lowest number / -1
}

// Remainder with the sign of the dividend; 0 where the divisor is 0.
__device__ inline int rem_i32(int a, int b) {
    return b == 0 || b == -1 ? 0 : a % b;
}

// Python's //: quotient rounded toward minus infinity; 0 where the divisor is 0.
__device__ inline int floor_div_i32(int a, int b) {
    int quotient = div_i32(a, b);
    return rem_i32(a, b) != 0 && (a ^ b) < 0 ? quotient - 1 : quotient;
}

// Python's %: remainder with the sign of the divisor; 0 where the divisor is 0.
__device__ inline int mod_i32(int a, int b) {
    int remainder = rem_i32(a, b);
    return remainder != 0 && (remainder ^ b) < 0 ? remainder + b : remainder;
}

// The nearest index of an axis of n elements.
__device__ inline int clamp_index(int index, int n) {
    return index < 0 ? 0 : index < n ? index : n - 1;
}

// base to the power of exponent, modulo 2^32.
__device__ inline int pow_i32(int base, int exponent) {
    if (exponent < 0) {  // 1 / base^n, rounded toward zero
        return base == 1 || (base == -1 && (exponent & 1) == 0) ? 1 : base == -1 ? -1 : 0;
    }
    int result = 1;
    while (exponent > 0) {
        if ((exponent & 1) != 0) {
            result *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    return result;
}

__device__ inline int sign_i32(int x) {
    return (x > 0) - (x < 0);
}

// Quotient; 0 where the divisor is 0.
__device__ inline uint32_t div_u32(uint32_t a, uint32_t b) {
    return b == 0 ? 0 : a / b;
}

// Remainder; 0 where the divisor is 0.
__device__ inline uint32_t rem_u32(uint32_t a, uint32_t b) {
    return b == 0 ? 0 : a % b;
}

// base to the power of exponent, modulo 2^32.
__device__ inline uint32_t pow_u32(uint32_t base, uint32_t exponent) {
    uint32_t result = 1;
    while (exponent > 0) {
        if ((exponent & 1) != 0) {
            result *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    return result;
}

// Quotient rounded toward zero; 0 where the divisor is 0.
__device__ inline int64_t div_i64(int64_t a, int64_t b) {
    return b == 0 ? 0 : b == -1 ? -a : a / b;  // x / 0 is undefined, and so is the lowest number / -1
}

// Remainder with the sign of the dividend; 0 where the divisor is 0.
__device__ inline int64_t rem_i64(int64_t a, int64_t b) {
    return b == 0 || b == -1 ? 0 : a % b;
}

// Python's //: quotient rounded toward minus infinity; 0 where the divisor is 0.
__device__ inline int64_t floor_div_i64(int64_t a, int64_t b) {
    int64_t quotient = div_i64(a, b);
    return rem_i64(a, b) != 0 && (a ^ b) < 0 ? quotient - 1 : quotient;
}

// Python's %: remainder with the sign of the divisor; 0 where the divisor is 0.
__device__ inline int64_t mod_i64(int64_t a, int64_t b) {
    int64_t remainder = rem_i64(a, b);
    return remainder != 0 && (remainder ^ b) < 0 ? remainder + b : remainder;
}

// base to the power of exponent, modulo 2^64.
__device__ inline int64_t pow_i64(int64_t base, int64_t exponent) {
    if (exponent < 0) {  // 1 / base^n, rounded toward zero
        return base == 1 || (base == -1 && (exponent & 1) == 0) ? 1 : base == -1 ? -1 : 0;
    }
    int64_t result = 1;
    while (exponent > 0) {
        if ((exponent & 1) != 0) {
            result *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    return result;
}

__device__ inline int64_t sign_i64(int64_t x) {
    return (x > 0) - (x < 0);
}

// Quotient; 0 where the divisor is 0.
__device__ inline uint64_t div_u64(uint64_t a, uint64_t b) {
    return b == 0 ? 0 : a / b;
}

// Remainder; 0 where the divisor is 0.
__device__ inline uint64_t rem_u64(uint64_t a, uint64_t b) {
    return b == 0 ? 0 : a % b;
}

// base to the power of exponent, modulo 2^64.
__device__ inline uint64_t pow_u64(uint64_t base, uint64_t exponent) {
    uint64_t result = 1;
    while (exponent > 0) {
        if ((exponent & 1) != 0) {
            result *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    return result;
}

// Python's %: remainder with the sign of the divisor.
__device__ inline float mod_f32(float a, float b) {
    return a - b * floorf(a / b);
}

__device__ inline float sign_f32(float x) {
    return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x;
}

// By bits, since compilers fold isnan away under fast math.
__device__ inline bool is_nan_f32(float x) {
    return (__float_as_uint(x) & 0x7fffffffu) > 0x7f800000u;
}

__device__ inline bool is_inf_f32(float x) {
    return (__float_as_uint(x) & 0x7fffffffu) == 0x7f800000u;
}

// Python's %: remainder with the sign of the divisor.
__device__ inline double mod_f64(double a, double b) {
    return a - b * floor(a / b);
}

__device__ inline double sign_f64(double x) {
    return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : x;
}

// By bits, since compilers fold isnan away under fast math.
__device__ inline bool is_nan_f64(double x) {
    return ((uint64_t)__double_as_longlong(x) & 0x7fffffffffffffffull) > 0x7ff0000000000000ull;
}

__device__ inline bool is_inf_f64(double x) {
    return ((uint64_t)__double_as_longlong(x) & 0x7fffffffffffffffull) == 0x7ff0000000000000ull;
}

// a * b - c * d to the last digits, also where the products nearly cancel. Source: Kahan; Jeannerod et al., "Further
// Analysis of Kahan's Algorithm for the Accurate Computation of 2x2 Determinants" (2013).
__device__ inline float cross_f32(float a, float b, float c, float d) {
    float other = c * d;
    return fmaf(a, b, -other) + fmaf(-c, d, other);
}

// a * b - c * d to the last digits, also where the products nearly cancel. Source: Kahan; Jeannerod et al., "Further
// Analysis of Kahan's Algorithm for the Accurate Computation of 2x2 Determinants" (2013).
__device__ inline double cross_f64(double a, double b, double c, double d) {
    double other = c * d;
    return fma(a, b, -other) + fma(-c, d, other);
}
