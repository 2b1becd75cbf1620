// Arithmetic that C lacks or leaves undefined. Chunks are separated by blank lines, each defines one name; a file carries those it uses.

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

// Quotient rounded toward zero; 0 where the divisor is 0.
static inline int div_i32(int a, int b) {
    return b == 0 ? 0 : b == -1 ? -a : a / b;  // x / 0 and the lowest number / -1 trap on x86
}

// Remainder with the sign of the dividend; 0 where the divisor is 0.
static inline int rem_i32(int a, int b) {
    return b == 0 || b == -1 ? 0 : a % b;
}

// Python's //: quotient rounded toward minus infinity; 0 where the divisor is 0.
static inline int floor_div_i32(int a, int b) {
    int quotient = div_i32(a, b);
    return rem_i32(a, b) != 0 && (a ^ b) < 0 ? quotient - 1 : quotient;
}

// Python's %: remainder with the sign of the divisor; 0 where the divisor is 0.
static inline int mod_i32(int a, int b) {
    int remainder = rem_i32(a, b);
    return remainder != 0 && (remainder ^ b) < 0 ? remainder + b : remainder;
}

// The nearest index of an axis of n elements.
static inline int clamp_index(int index, int n) {
    return index < 0 ? 0 : index < n ? index : n - 1;
}

// base to the power of exponent, modulo 2^32.
static inline int pow_i32(int base, int exponent) {
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

static inline int min_i32(int a, int b) {
    return a < b ? a : b;
}

static inline int max_i32(int a, int b) {
    return a > b ? a : b;
}

static inline int abs_i32(int x) {
    return x < 0 ? -x : x;
}

static inline int sign_i32(int x) {
    return (x > 0) - (x < 0);
}

// Quotient; 0 where the divisor is 0.
static inline uint32_t div_u32(uint32_t a, uint32_t b) {
    return b == 0 ? 0 : a / b;
}

// Remainder; 0 where the divisor is 0.
static inline uint32_t rem_u32(uint32_t a, uint32_t b) {
    return b == 0 ? 0 : a % b;
}

// base to the power of exponent, modulo 2^32.
static inline uint32_t pow_u32(uint32_t base, uint32_t exponent) {
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

static inline uint32_t min_u32(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

static inline uint32_t max_u32(uint32_t a, uint32_t b) {
    return a > b ? a : b;
}

static inline int clz_u32(uint32_t x) {
    return x == 0 ? 32 : __builtin_clz(x);  // undefined for 0
}

// Quotient rounded toward zero; 0 where the divisor is 0.
static inline int64_t div_i64(int64_t a, int64_t b) {
    return b == 0 ? 0 : b == -1 ? -a : a / b;  // x / 0 and the lowest number / -1 trap on x86
}

// Remainder with the sign of the dividend; 0 where the divisor is 0.
static inline int64_t rem_i64(int64_t a, int64_t b) {
    return b == 0 || b == -1 ? 0 : a % b;
}

// Python's //: quotient rounded toward minus infinity; 0 where the divisor is 0.
static inline int64_t floor_div_i64(int64_t a, int64_t b) {
    int64_t quotient = div_i64(a, b);
    return rem_i64(a, b) != 0 && (a ^ b) < 0 ? quotient - 1 : quotient;
}

// Python's %: remainder with the sign of the divisor; 0 where the divisor is 0.
static inline int64_t mod_i64(int64_t a, int64_t b) {
    int64_t remainder = rem_i64(a, b);
    return remainder != 0 && (remainder ^ b) < 0 ? remainder + b : remainder;
}

// base to the power of exponent, modulo 2^64.
static inline int64_t pow_i64(int64_t base, int64_t exponent) {
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

static inline int64_t min_i64(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static inline int64_t max_i64(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static inline int64_t abs_i64(int64_t x) {
    return x < 0 ? -x : x;
}

static inline int64_t sign_i64(int64_t x) {
    return (x > 0) - (x < 0);
}

// Quotient; 0 where the divisor is 0.
static inline uint64_t div_u64(uint64_t a, uint64_t b) {
    return b == 0 ? 0 : a / b;
}

// Remainder; 0 where the divisor is 0.
static inline uint64_t rem_u64(uint64_t a, uint64_t b) {
    return b == 0 ? 0 : a % b;
}

// base to the power of exponent, modulo 2^64.
static inline uint64_t pow_u64(uint64_t base, uint64_t exponent) {
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

static inline uint64_t min_u64(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static inline uint64_t max_u64(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

static inline int clz_u64(uint64_t x) {
    return x == 0 ? 64 : __builtin_clzll(x);  // undefined for 0
}

// Python's %: remainder with the sign of the divisor.
static inline float mod_f32(float a, float b) {
    return a - b * floorf(a / b);
}

static inline float sign_f32(float x) {
    return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x;
}

static inline float rsqrt_f32(float x) {
    return 1.0f / sqrtf(x);
}

static inline int f32_bits_to_i32(float x) {
    union { float number; int bits; } both = {x};
    return both.bits;
}

static inline float i32_bits_to_f32(int x) {
    union { int bits; float number; } both = {x};
    return both.number;
}

static inline uint32_t f32_bits_to_u32(float x) {
    union { float number; uint32_t bits; } both = {x};
    return both.bits;
}

static inline float u32_bits_to_f32(uint32_t x) {
    union { uint32_t bits; float number; } both = {x};
    return both.number;
}

// By bits, since compilers fold isnan away under fast math.
static inline bool is_nan_f32(float x) {
    return (f32_bits_to_u32(x) & 0x7fffffffu) > 0x7f800000u;
}

static inline bool is_inf_f32(float x) {
    return (f32_bits_to_u32(x) & 0x7fffffffu) == 0x7f800000u;
}

// Python's %: remainder with the sign of the divisor.
static inline double mod_f64(double a, double b) {
    return a - b * floor(a / b);
}

static inline double sign_f64(double x) {
    return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : x;
}

static inline double rsqrt_f64(double x) {
    return 1.0 / sqrt(x);
}

static inline int64_t f64_bits_to_i64(double x) {
    union { double number; int64_t bits; } both = {x};
    return both.bits;
}

static inline double i64_bits_to_f64(int64_t x) {
    union { int64_t bits; double number; } both = {x};
    return both.number;
}

static inline uint64_t f64_bits_to_u64(double x) {
    union { double number; uint64_t bits; } both = {x};
    return both.bits;
}

static inline double u64_bits_to_f64(uint64_t x) {
    union { uint64_t bits; double number; } both = {x};
    return both.number;
}

// By bits, since compilers fold isnan away under fast math.
static inline bool is_nan_f64(double x) {
    return (f64_bits_to_u64(x) & 0x7fffffffffffffffull) > 0x7ff0000000000000ull;
}

static inline bool is_inf_f64(double x) {
    return (f64_bits_to_u64(x) & 0x7fffffffffffffffull) == 0x7ff0000000000000ull;
}

static inline int16_t f16_bits_to_i16(_Float16 x) {
    union { _Float16 number; int16_t bits; } both = {x};
    return both.bits;
}

static inline _Float16 i16_bits_to_f16(int16_t x) {
    union { int16_t bits; _Float16 number; } both = {x};
    return both.number;
}

static inline uint16_t f16_bits_to_u16(_Float16 x) {
    union { _Float16 number; uint16_t bits; } both = {x};
    return both.bits;
}

static inline _Float16 u16_bits_to_f16(uint16_t x) {
    union { uint16_t bits; _Float16 number; } both = {x};
    return both.number;
}

// a * b - c * d to the last digits, also where the products nearly cancel. Source: Kahan; Jeannerod et al., "Further
// Analysis of Kahan's Algorithm for the Accurate Computation of 2x2 Determinants" (2013).
static inline float cross_f32(float a, float b, float c, float d) {
    float other = c * d;
    return fmaf(a, b, -other) + fmaf(-c, d, other);
}

// a * b - c * d to the last digits, also where the products nearly cancel. Source: Kahan; Jeannerod et al., "Further
// Analysis of Kahan's Algorithm for the Accurate Computation of 2x2 Determinants" (2013).
static inline double cross_f64(double a, double b, double c, double d) {
    double other = c * d;
    return fma(a, b, -other) + fma(-c, d, other);
}
