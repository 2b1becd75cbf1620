// Arithmetic that C lacks or leaves undefined. Chunks are separated by blank lines, each defines
// one name; a source includes those it uses.

#include <math.h>

#include "dialect.h"

// types: i32, i64
// Quotient rounded toward zero; 0 if the divisor is 0.
static inline int div_i32(int a, int b) {
    return b == 0 ? 0 : b == -1 ? -a : a / b;  // x / 0 and the lowest number / -1 trap on x86
}

// types: i32, u32, i64, u64
static inline int min_i32(int a, int b) {
    return a < b ? a : b;
}

// types: i32, u32, i64, u64
static inline int max_i32(int a, int b) {
    return a > b ? a : b;
}

// Whether the compiler knows that x is 0.
static inline bool is_known_zero_f32(float x) {
    return __builtin_constant_p(x) && x == 0.0f;
}

// sum + a * b, without products by numbers that are known to be 0: compilers keep them, since they
// do not know that the other number is finite.
static inline float add_product_f32(float sum, float a, float b) {
    if (is_known_zero_f32(a) || is_known_zero_f32(b)) return sum;
    return is_known_zero_f32(sum) ? a * b : sum + a * b;
}

static inline bool is_known_zero_f64(double x) {
    return __builtin_constant_p(x) && x == 0.0;
}

// As `add_product_f32`.
static inline double add_product_f64(double sum, double a, double b) {
    if (is_known_zero_f64(a) || is_known_zero_f64(b)) return sum;
    return is_known_zero_f64(sum) ? a * b : sum + a * b;
}

// The lesser of two, a number if one is NaN. Compilers vectorize it, while `fminf` is a call.
static inline float min_f32(float a, float b) {
    float least = a < b ? a : b;  // `b` if one is NaN
    return b != b ? a : least;
}

static inline double min_f64(double a, double b) {
    double least = a < b ? a : b;  // `b` if one is NaN
    return b != b ? a : least;
}

// The greater of two, a number if one is NaN. Compilers vectorize it, while `fmaxf` is a call.
static inline float max_f32(float a, float b) {
    float greatest = a > b ? a : b;  // `b` if one is NaN
    return b != b ? a : greatest;
}

static inline double max_f64(double a, double b) {
    double greatest = a > b ? a : b;  // `b` if one is NaN
    return b != b ? a : greatest;
}

// The lesser of two of which `b` is a number, the number if `a` is NaN.
static inline float at_most_f32(float a, float b) {
    return a < b ? a : b;
}

static inline double at_most_f64(double a, double b) {
    return a < b ? a : b;
}

// The greater of two of which `b` is a number, the number if `a` is NaN.
static inline float at_least_f32(float a, float b) {
    return a > b ? a : b;
}

static inline double at_least_f64(double a, double b) {
    return a > b ? a : b;
}

// The lesser of two, a number if one is NaN. Mostly `a`, that of earlier iterations: a jump.
static inline float running_min_f32(float a, float b) {
    return a < b || b != b ? a : b;
}

static inline double running_min_f64(double a, double b) {
    return a < b || b != b ? a : b;
}

// The greater of two, a number if one is NaN. Mostly `a`, that of earlier iterations: a jump.
static inline float running_max_f32(float a, float b) {
    return a > b || b != b ? a : b;
}

static inline double running_max_f64(double a, double b) {
    return a > b || b != b ? a : b;
}

// As `min_f32`, by one instruction of AVX-512 for loops without vectors: there gcc 12 moves the
// operands of `min_f32` to integers and back.
static inline float scalar_min_f32(float a, float b) {
#if defined(__AVX512DQ__) && defined(__GNUC__)
    float least;
    __asm__("vrangess $4, %2, %1, %0" : "=v"(least) : "v"(a), "v"(b));
    return least;
#else
    return min_f32(a, b);
#endif
}

static inline double scalar_min_f64(double a, double b) {
#if defined(__AVX512DQ__) && defined(__GNUC__)
    double least;
    __asm__("vrangesd $4, %2, %1, %0" : "=v"(least) : "v"(a), "v"(b));
    return least;
#else
    return min_f64(a, b);
#endif
}

// As `max_f32`, likewise.
static inline float scalar_max_f32(float a, float b) {
#if defined(__AVX512DQ__) && defined(__GNUC__)
    float greatest;
    __asm__("vrangess $5, %2, %1, %0" : "=v"(greatest) : "v"(a), "v"(b));
    return greatest;
#else
    return max_f32(a, b);
#endif
}

static inline double scalar_max_f64(double a, double b) {
#if defined(__AVX512DQ__) && defined(__GNUC__)
    double greatest;
    __asm__("vrangesd $5, %2, %1, %0" : "=v"(greatest) : "v"(a), "v"(b));
    return greatest;
#else
    return max_f64(a, b);
#endif
}

// x, or 0 if it is subnormal: processors multiply such numbers up to 100 times as slowly.
static inline float flushed_f32(float x) {
    return x * !(fabsf(x) < 0x1p-126f);
}

// x, or 0 if it is subnormal: processors multiply such numbers up to 100 times as slowly.
static inline double flushed_f64(double x) {
    return x * !(fabs(x) < 0x1p-1022);
}

// types: i32, i64
static inline int abs_i32(int x) {
    return x < 0 ? -x : x;
}

static inline int clz_u32(uint32_t x) {
    return x == 0 ? 32 : __builtin_clz(x);  // undefined for 0
}

static inline int clz_u64(uint64_t x) {
    return x == 0 ? 64 : __builtin_clzll(x);  // undefined for 0
}

// In halves: gcc 12.2 with AVX512 vectorises __builtin_popcountll(i) of 8 iterations of `i` to `i`
// itself.
static inline int popcount_u64(uint64_t x) {
    return __builtin_popcount((uint32_t)x) + __builtin_popcount((uint32_t)(x >> 32));
}

static inline float rsqrt_f32(float x) {
    return 1.0f / sqrtf(x);
}

static inline double rsqrt_f64(double x) {
    return 1.0 / sqrt(x);
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

// A half in memory as a float: gcc 12 for x86 makes vectors of integers, but not of conversions.
static inline float f32_from_f16(const _Float16 *x) {
#if defined(__x86_64__) && !defined(__clang__)
    int bits = *(const int16_t *)x, size = bits << 13 & 0x0fffe000;
    float number = i32_bits_to_f32(size + 0x70000000) * 0x1p-112f;  // also infinity, and NaN
    number = size < 0x00800000 ? number + number - 0x1p-14f : number;  // subnormal, or 0
    return u32_bits_to_f32(f32_bits_to_u32(number) | (bits & 0x80000000u));
#else
    return *x;
#endif
}

// Neighbouring halves as floats, 16 or 8 by one instruction: gcc 12 uses it for one half at a time.
// Stored as widely as vectors are loaded, which would wait for two stores otherwise.
static inline void floats_from_f16(float *to, const _Float16 *from, int count) {
    int i = 0;
#if defined(__AVX512F__) && !defined(__clang__)
    typedef short halves16 __attribute__((vector_size(32), aligned(2)));
    typedef float floats16 __attribute__((vector_size(64), aligned(4)));
    for (; i + 16 <= count; i += 16) {
        halves16 x = *(const halves16 *)(from + i);
        *(floats16 *)(to + i) = __builtin_ia32_vcvtph2ps512_mask(x, (floats16){0}, -1, 4);
    }
#endif
#if defined(__F16C__) && !defined(__clang__)
    typedef short halves8 __attribute__((vector_size(16), aligned(2)));
    typedef float floats8 __attribute__((vector_size(32), aligned(4)));
    for (; i + 8 <= count; i += 8) {
        *(floats8 *)(to + i) = __builtin_ia32_vcvtph2ps256(*(const halves8 *)(from + i));
    }
#endif
    for (; i < count; i++) to[i] = f32_from_f16(from + i);
}

// The nearest half to a float, of two the even one, by integers likewise.
static inline _Float16 f16_from_f32(float x) {
#if defined(__x86_64__) && !defined(__clang__)
    unsigned bits = f32_bits_to_u32(x), sign = bits >> 16 & 0x8000u, size = bits & 0x7fffffffu;
    unsigned normal = (size - 0x38000000u + 0x0fffu + (size >> 13 & 1)) >> 13;
    unsigned subnormal = f32_bits_to_u32(u32_bits_to_f32(size) + 0.5f) - 0x3f000000u;
    unsigned half = size < 0x38800000u ? subnormal : normal;
    unsigned quiet = size > 0x7f800000u ? 0x7e00u | (size >> 13 & 0x3ffu) : 0x7c00u;
    return u16_bits_to_f16((uint16_t)((size < 0x47800000u ? half : quiet) | sign));
#else
    return (_Float16)x;
#endif
}

#include "../../c_family/lib/numbers.h"
