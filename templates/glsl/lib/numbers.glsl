// Arithmetic that GLSL lacks or leaves undefined. Chunks are separated by blank lines, each defines
// one name; a source includes those it uses.

// Quotient rounded toward zero; 0 if the divisor is 0.
int div_i32(int a, int b) {
    // x / 0 is undefined, and so is the lowest number / -1
    return b == 0 ? 0 : b == -1 ? -a : a / b;
}

// Remainder with the sign of the dividend; 0 if the divisor is 0.
int rem_i32(int a, int b) {
    return b == 0 || b == -1 ? 0 : a - b * (a / b);  // % is undefined for negative numbers
}

// Python's //: quotient rounded toward minus infinity; 0 if the divisor is 0.
int floor_div_i32(int a, int b) {
    int quotient = div_i32(a, b);
    return rem_i32(a, b) != 0 && (a ^ b) < 0 ? quotient - 1 : quotient;
}

// Python's %: remainder with the sign of the divisor; 0 if the divisor is 0.
int mod_i32(int a, int b) {
    int remainder = rem_i32(a, b);
    return remainder != 0 && (remainder ^ b) < 0 ? remainder + b : remainder;
}

// Python's // for a positive divisor.
int floor_div_positive_i32(int a, int b) {
    int quotient = a / b;
    return quotient * b > a ? quotient - 1 : quotient;
}

// Python's % for a positive divisor.
int mod_positive_i32(int a, int b) {
    int remainder = a - b * (a / b);  // % is undefined for negative numbers
    return remainder < 0 ? remainder + b : remainder;
}

// x * x of a square root x. NVIDIA's driver takes the number under the root for it, which may be
// more than 1 where the root is 1.
float square_of_root(float x) {
    precise float square = x * x;
    return square;
}

// Python's % for a number from -b to 2 * b - 1, without a division.
int mod_near_i32(int a, int b) { return a < 0 ? a + b : a < b ? a : a - b; }

// Python's % for a number from -2 * b to 3 * b - 1, which each step moves nearer by b.
int mod_close_i32(int a, int b) { return mod_near_i32(mod_near_i32(a, b), b); }

// The valid index nearest to `index` on an axis of n elements.
int clamp_index(int index, int n) {
    return index < 0 ? 0 : index < n ? index : n - 1;
}

// The lesser number, found among unsigned ones. NVIDIA's driver 580 takes b for -b in
// `min(min(a, -b), c)`, and in comparisons that mean the same.
int biased_min_i32(int a, int b) {
    return int(min(uint(a) ^ 0x80000000u, uint(b) ^ 0x80000000u) ^ 0x80000000u);
}

// The greater number: see `biased_min_i32`.
int biased_max_i32(int a, int b) {
    return int(max(uint(a) ^ 0x80000000u, uint(b) ^ 0x80000000u) ^ 0x80000000u);
}

// The lesser number, found among signed ones: see `biased_min_i32`.
uint biased_min_u32(uint a, uint b) {
    return uint(min(int(a ^ 0x80000000u), int(b ^ 0x80000000u))) ^ 0x80000000u;
}

// The greater number: see `biased_min_u32`.
uint biased_max_u32(uint a, uint b) {
    return uint(max(int(a ^ 0x80000000u), int(b ^ 0x80000000u))) ^ 0x80000000u;
}

// -x. NVIDIA's driver 580 does not wrap the negation of a narrow number that becomes wide again,
// nor a difference or product in its place: -(-128) would be 128. It keeps an extraction.
int8_t negative_i8(int8_t x) { return int8_t(bitfieldExtract(-int(x), 0, 8)); }

// -x: see `negative_i8`.
int16_t negative_i16(int16_t x) { return int16_t(bitfieldExtract(-int(x), 0, 16)); }

// |x|: see `negative_i8`.
int8_t magnitude_i8(int8_t x) { return int8_t(bitfieldExtract(abs(int(x)), 0, 8)); }

// |x|: see `negative_i8`.
int16_t magnitude_i16(int16_t x) { return int16_t(bitfieldExtract(abs(int(x)), 0, 16)); }

// x & 1. NVIDIA's driver 580 takes 1 for 0 in `(x & 1) * n` of some shaders with 64-bit numbers.
int lowest_bit_i32(int x) { return int(bitfieldExtract(uint(x), 0, 1)); }

// x >> count, of 1 to 31. NVIDIA's driver 580 leaves out some of the sums `t += x >> 2` in loops.
int shifted_i32(int x, int count) { return bitfieldExtract(x, count, 32 - count); }

// x >> count without its sign: see `shifted_i32`.
int shifted_bits_i32(int x, int count) { return int(bitfieldExtract(uint(x), count, 32 - count)); }

// x >> count: see `shifted_i32`.
uint shifted_bits_u32(uint x, uint count) {
    return bitfieldExtract(x, int(count), 32 - int(count));
}

// x >> count: see `shifted_i32`.
uint shifted_u32(uint x, uint count) { return bitfieldExtract(x, int(count), 32 - int(count)); }

// x & 1: see `lowest_bit_i32`.
uint lowest_bit_u32(uint x) { return bitfieldExtract(x, 0, 1); }

// x. NVIDIA's driver 580 leaves out conversions to f16 and back, but not where a number changes
// its place in a pair.
float16_t rounded_half(float16_t x) {
    uint pair = packHalf2x16(vec2(float(x), 1.0));
    return float16_t(unpackHalf2x16(pair << 16 | pair >> 16).y);
}

// base to the power of exponent, modulo 2^32.
int pow_i32(int base, int exponent) {
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

// Quotient; 0 if the divisor is 0.
uint div_u32(uint a, uint b) {
    return b == 0u ? 0u : a / b;
}

// Remainder; 0 if the divisor is 0.
uint rem_u32(uint a, uint b) {
    return b == 0u ? 0u : a % b;
}

// base to the power of exponent, modulo 2^32.
uint pow_u32(uint base, uint exponent) {
    uint result = 1u;
    while (exponent > 0u) {
        if ((exponent & 1u) != 0u) {
            result *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    return result;
}

int clz_u64(uint64_t x) {
    uvec2 halves = unpackUint2x32(x);
    return halves.y != 0u ? 31 - findMSB(halves.y) : 63 - findMSB(halves.x);
}

// Quotient; 0 if the divisor is 0. By shifts: NVIDIA's driver 580 gives wrong numbers elsewhere in
// a shader that divides 64-bit integers by `/`.
uint64_t div_u64(uint64_t a, uint64_t b) {
    if ((a | b) >> 32 == 0ul) {
        return b == 0ul ? 0ul : uint64_t(uint(a) / uint(b));
    }
    uint64_t quotient = 0ul;
    for (int shift = b == 0ul ? -1 : clz_u64(b) - clz_u64(a); shift >= 0; shift--) {
        if (a >= b << shift) {
            a -= b << shift;
            quotient |= 1ul << shift;
        }
    }
    return quotient;
}

// Remainder; 0 if the divisor is 0.
uint64_t rem_u64(uint64_t a, uint64_t b) {
    return b == 0ul ? 0ul : a - b * div_u64(a, b);
}

// Quotient rounded toward zero; 0 if the divisor is 0.
int64_t div_i64(int64_t a, int64_t b) {
    int64_t quotient = int64_t(div_u64(uint64_t(a < 0l ? -a : a), uint64_t(b < 0l ? -b : b)));
    return (a ^ b) < 0l ? -quotient : quotient;
}

// Remainder with the sign of the dividend; 0 if the divisor is 0.
int64_t rem_i64(int64_t a, int64_t b) {
    return b == 0l ? 0l : a - b * div_i64(a, b);
}

// Python's //: quotient rounded toward minus infinity; 0 if the divisor is 0.
int64_t floor_div_i64(int64_t a, int64_t b) {
    int64_t quotient = div_i64(a, b);
    return rem_i64(a, b) != 0l && (a ^ b) < 0l ? quotient - 1l : quotient;
}

// Python's %: remainder with the sign of the divisor; 0 if the divisor is 0.
int64_t mod_i64(int64_t a, int64_t b) {
    int64_t remainder = rem_i64(a, b);
    return remainder != 0l && (remainder ^ b) < 0l ? remainder + b : remainder;
}

// Python's // for a positive divisor.
int64_t floor_div_positive_i64(int64_t a, int64_t b) {
    int64_t quotient = div_i64(a, b);
    return a - quotient * b < 0l ? quotient - 1l : quotient;
}

// Python's % for a positive divisor.
int64_t mod_positive_i64(int64_t a, int64_t b) {
    int64_t remainder = a - b * div_i64(a, b);
    return remainder < 0l ? remainder + b : remainder;
}

// x & 1: see `lowest_bit_i32`.
int64_t lowest_bit_i64(int64_t x) { return int64_t(bitfieldExtract(uint(x), 0, 1)); }

// x & 1: see `lowest_bit_i32`.
uint64_t lowest_bit_u64(uint64_t x) { return uint64_t(bitfieldExtract(uint(x), 0, 1)); }

// x << count, in two words. NVIDIA's driver 580 makes x * -2^31 of `int64_t(x) << 31`.
uint64_t shl_u64(uint64_t x, uint64_t count) {
    uvec2 words = unpackUint2x32(x);
    int n = int(count) & 31;
    uvec2 moved = uvec2(words.x << n, words.y << n | words.x >> 1 >> (31 - n));
    return packUint2x32((count & 32ul) == 0ul ? moved : uvec2(0u, moved.x));
}

// x << count: see `shl_u64`.
int64_t shl_i64(int64_t x, int64_t count) { return int64_t(shl_u64(uint64_t(x), uint64_t(count))); }

// base to the power of exponent, modulo 2^64.
int64_t pow_i64(int64_t base, int64_t exponent) {
    if (exponent < 0l) {  // 1 / base^n, rounded toward zero
        return base == 1l || (base == -1l && (exponent & 1l) == 0l) ? 1l : base == -1l ? -1l : 0l;
    }
    int64_t result = 1l;
    while (exponent > 0l) {
        if ((exponent & 1l) != 0l) {
            result *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    return result;
}

// base to the power of exponent, modulo 2^64.
uint64_t pow_u64(uint64_t base, uint64_t exponent) {
    uint64_t result = 1ul;
    while (exponent > 0ul) {
        if ((exponent & 1ul) != 0ul) {
            result *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    return result;
}

int popcnt_u64(uint64_t x) {
    uvec2 halves = unpackUint2x32(x);
    return bitCount(halves.x) + bitCount(halves.y);
}

// By bits, since drivers may assume that there are no NaNs.
bool is_nan_f32(float x) {
    return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u;
}

bool is_inf_f32(float x) {
    return (floatBitsToUint(x) & 0x7fffffffu) == 0x7f800000u;
}

bool is_nan_f64(double x) {
    uvec2 bits = unpackDouble2x32(x);
    uint high = bits.y & 0x7fffffffu;
    return high > 0x7ff00000u || (high == 0x7ff00000u && bits.x != 0u);
}

bool is_inf_f64(double x) {
    uvec2 bits = unpackDouble2x32(x);
    return (bits.y & 0x7fffffffu) == 0x7ff00000u && bits.x == 0u;
}

float sign_f32(float x) {
    return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : x;  // GLSL's gives 0 for NaN
}

// Remainder with the sign of the dividend.
float rem_f32(float a, float b) {
    return a - b * trunc(a / b);
}

double sign_f64(double x) {
    return x > 0.0lf ? 1.0lf : x < 0.0lf ? -1.0lf : x;  // GLSL's gives 0 for NaN
}

// Remainder with the sign of the dividend.
double rem_f64(double a, double b) {
    return a - b * trunc(a / b);
}

// GLSL leaves pow undefined for negative x and for 0 to the power of 0.
float pow_f32(float x, float y) {
    if (y == 0.0 || x == 1.0) {
        return 1.0;
    }
    if (x == 0.0) {
        return y > 0.0 ? 0.0 : uintBitsToFloat(0x7f800000u);
    }
    float magnitude = pow(abs(x), y);
    if (x > 0.0) {
        return magnitude;
    }
    bool is_whole = floor(y) == y;
    bool is_odd = is_whole && abs(y) < 16777216.0 && floor(y * 0.5) != y * 0.5;
    return is_odd ? -magnitude : is_whole ? magnitude : uintBitsToFloat(0x7fc00000u);
}

// a * b - c * d to the last digits, also if the products nearly cancel. Source: Kahan; Jeannerod et
// al., "Further Analysis of Kahan's Algorithm for the Accurate Computation of 2x2 Determinants"
// (2013). Vulkan lets a driver round twice in fma(); then it is the plain difference.
float cross_f32(float a, float b, float c, float d) {
    precise float other = c * d;
    precise float result = fma(a, b, -other) + fma(-c, d, other);
    return result;
}

// a * b - c * d to the last digits, also if the products nearly cancel. Source: Kahan; Jeannerod et
// al., "Further Analysis of Kahan's Algorithm for the Accurate Computation of 2x2 Determinants"
// (2013). Vulkan lets a driver round twice in fma(); then it is the plain difference.
double cross_f64(double a, double b, double c, double d) {
    precise double other = c * d;
    precise double result = fma(a, b, -other) + fma(-c, d, other);
    return result;
}

// How to divide by a number of the launch without a division.
struct Divisor {
    uint multiplier, shift;
};

// n / d for n, d up to 2^31; a launch packs `by` for d.
uint divide(uint n, Divisor by) {
    uint high, low;
    umulExtended(n, by.multiplier, high, low);
    return (high + n) >> by.shift;
}

// a % b for a >= 0 and b > 0, as `divide`.
int remainder_by(int a, int b, Divisor by) { return a - int(divide(a, by)) * b; }

// Python's //, as `divide` by b without its sign; 0 if b is 0.
int floor_div_by(int a, int b, Divisor by) {
    int flip = b >> 31, sign = a < -flip ? -1 : 0;  // a // b is ~((a - 1) // -b), and ~(~a // b)
    int quotient = int(divide(uint((a + flip) ^ sign), by));
    return b == 0 ? 0 : quotient ^ sign ^ flip;
}

// Python's %, as `floor_div_by`; 0 if b is 0.
int mod_by(int a, int b, Divisor by) {
    return b == 0 ? 0 : int(uint(a) - uint(floor_div_by(a, b, by)) * b);
}
