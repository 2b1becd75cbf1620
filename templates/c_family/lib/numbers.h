// Arithmetic that C and CUDA C lack or leave undefined, if both write it alike. Chunks are
// separated by blank lines, each defines one name; a source includes those it uses. Included by the
// languages' own `numbers`, after `dialect`. Where `mod_positive` adds a choice of two numbers, gcc
// takes neighbours together, in other forms not.

// types: i32, i64
// Remainder with the sign of the dividend; 0 if the divisor is 0.
FUNCTION int rem_i32(int a, int b) {
    return b == 0 || b == -1 ? 0 : a % b;
}

// types: i32, i64
// Python's //: quotient rounded toward minus infinity; 0 if the divisor is 0.
FUNCTION int floor_div_i32(int a, int b) {
    return div_i32(a, b) - (rem_i32(a, b) != 0 && (a ^ b) < 0);
}

// types: i32, i64
// Python's %: remainder with the sign of the divisor; 0 if the divisor is 0.
FUNCTION int mod_i32(int a, int b) {
    int remainder = rem_i32(a, b);
    return remainder + (remainder != 0 && (remainder ^ b) < 0 ? b : 0);
}

// types: i32, i64
// Python's // for a positive divisor.
FUNCTION int floor_div_positive_i32(int a, int b) {
    return a / b - (a % b < 0);
}

// types: i32, i64
// Python's % for a positive divisor.
FUNCTION int mod_positive_i32(int a, int b) {
    int remainder = a % b;
    return remainder + (remainder < 0 ? b : 0);
}

// types: i32, i64
// Python's % for a number from -b to 2 * b - 1, without a division.
FUNCTION int mod_near_i32(int a, int b) {
    return a < 0 ? a + b : a < b ? a : a - b;
}

// types: i32, i64
// Python's % for a number from -2 * b to 3 * b - 1, which each step moves nearer by b.
FUNCTION int mod_close_i32(int a, int b) {
    return mod_near_i32(mod_near_i32(a, b), b);
}

// The valid index nearest to `index` on an axis of n elements.
FUNCTION int clamp_index(int index, int n) {
    return index < 0 ? 0 : index < n ? index : n - 1;
}

// types: i32, i64
// base to the power of exponent, modulo 2^32.
FUNCTION int pow_i32(int base, int exponent) {
    if (exponent < 0) {  // 1 / base^n, rounded toward zero
        return base == 1 || (base == -1 && (exponent & 1) == 0) ? 1 : base == -1 ? -1 : 0;
    }
    uint32_t result = 1, factor = (uint32_t)base;  // unsigned, since products wrap
    while (exponent > 0) {
        if ((exponent & 1) != 0) {
            result *= factor;
        }
        factor *= factor;
        exponent >>= 1;
    }
    return (int)result;
}

// types: i32, i64
FUNCTION int sign_i32(int x) {
    return (x > 0) - (x < 0);
}

// types: u32, u64
// Quotient; 0 if the divisor is 0.
FUNCTION uint32_t div_u32(uint32_t a, uint32_t b) {
    return b == 0 ? 0 : a / b;
}

// types: u32, u64
// Remainder; 0 if the divisor is 0.
FUNCTION uint32_t rem_u32(uint32_t a, uint32_t b) {
    return b == 0 ? 0 : a % b;
}

// types: u32, u64
// base to the power of exponent, modulo 2^32.
FUNCTION uint32_t pow_u32(uint32_t base, uint32_t exponent) {
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

// Python's %: remainder with the sign of the divisor.
FUNCTION float mod_f32(float a, float b) {
    return a - b * floorf(DIVIDE(a, b));
}

FUNCTION float sign_f32(float x) {
    return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x;
}

// By bits, since compilers fold isnan away under fast math.
FUNCTION bool is_nan_f32(float x) {
    return (FLOAT_BITS(x) & 0x7fffffffu) > 0x7f800000u;
}

FUNCTION bool is_inf_f32(float x) {
    return (FLOAT_BITS(x) & 0x7fffffffu) == 0x7f800000u;
}

// Python's %: remainder with the sign of the divisor.
FUNCTION double mod_f64(double a, double b) {
    return a - b * floor(a / b);
}

FUNCTION double sign_f64(double x) {
    return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : x;
}

// By bits, since compilers fold isnan away under fast math.
FUNCTION bool is_nan_f64(double x) {
    return (DOUBLE_BITS(x) & 0x7fffffffffffffffull) > 0x7ff0000000000000ull;
}

FUNCTION bool is_inf_f64(double x) {
    return (DOUBLE_BITS(x) & 0x7fffffffffffffffull) == 0x7ff0000000000000ull;
}

// a * b - c * d to the last digits, also if the products nearly cancel. Source: Kahan; Jeannerod et
// al., "Further Analysis of Kahan's Algorithm for the Accurate Computation of 2x2 Determinants"
// (2013).
FUNCTION float cross_f32(float a, float b, float c, float d) {
    float other = c * d;
    return fmaf(a, b, -other) + fmaf(-c, d, other);
}

// a * b - c * d to the last digits, also if the products nearly cancel. Source: Kahan; Jeannerod et
// al., "Further Analysis of Kahan's Algorithm for the Accurate Computation of 2x2 Determinants"
// (2013).
FUNCTION double cross_f64(double a, double b, double c, double d) {
    double other = c * d;
    return fma(a, b, -other) + fma(-c, d, other);
}
