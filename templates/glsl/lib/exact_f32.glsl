// Functions of float for fast_math=False: IEEE 754's division and square root, the others within 2
// units in the last place, for all arguments: Vulkan requires less of drivers (sin within 2^-11,
// division 2.5 units, nothing beyond pi). `precise` keeps the error terms from being optimised
// away. Integer arithmetic handles what drivers may treat differently: subnormal numbers,
// infinities, NaN. Coefficients: benchmarks/coefficients.py. Source: Dekker, "A floating-point
// technique for extending the available precision" (1971).

// The significand of a positive, finite x, from 2^23 on: x = significand * 2^e.
uint split_f32(uint bits, out int e) {
    if (bits < 0x00800000u) {
        int shift = 23 - findMSB(bits);
        e = -149 - shift;
        return bits << shift;
    }
    e = int(bits >> 23) - 150;
    return (bits & 0x007fffffu) | 0x00800000u;
}

// m * 2^e to the nearest float, halves to even, for m from 2^25 to 2^31; the last bit of m may be a
// sticky bit.
float round_f32(uint sign, uint m, int e) {
    int top = findMSB(m);
    int exponent = top + e + 127;
    if (exponent > 254) {
        return uintBitsToFloat(sign | 0x7f800000u);
    }
    int drop = min(top - 23 + max(1 - exponent, 0), 31);  // a subnormal number keeps fewer bits
    uint rounded = m >> drop;
    uint rest = m - (rounded << drop);
    uint one_half = 1u << (drop - 1);
    rounded += uint(rest > one_half || (rest == one_half && (rounded & 1u) == 1u));
    return uintBitsToFloat(sign | (rounded + (uint(max(exponent, 1) - 1) << 23)));
}

// Operations that only select, done on bits: a device may treat subnormal numbers as 0, even in abs
// and min.

float exact_abs_f32(float x) {
    return uintBitsToFloat(floatBitsToUint(x) & 0x7fffffffu);
}

float exact_sign_f32(float x) {
    uint bits = floatBitsToUint(x);
    uint magnitude = bits & 0x7fffffffu;
    return magnitude == 0u || magnitude > 0x7f800000u
        ? x
        : uintBitsToFloat((bits & 0x80000000u) | 0x3f800000u);
}

// Whether a < b, of numbers that are not NaN; -0.0 is less than 0.0.
bool is_less_f32(float a, float b) {
    int a_bits = floatBitsToInt(a);
    int b_bits = floatBitsToInt(b);
    return (a_bits < 0 ? a_bits ^ 0x7fffffff : a_bits)
        < (b_bits < 0 ? b_bits ^ 0x7fffffff : b_bits);
}

// The lesser of two numbers; if one is NaN, the other.
float exact_min_f32(float a, float b) {
    bool is_first = is_nan_f32(b) || (!is_nan_f32(a) && is_less_f32(a, b));
    return uintBitsToFloat(is_first ? floatBitsToUint(a) : floatBitsToUint(b));
}

// The greater of two numbers; if one is NaN, the other.
float exact_max_f32(float a, float b) {
    bool is_first = is_nan_f32(b) || (!is_nan_f32(a) && is_less_f32(b, a));
    return uintBitsToFloat(is_first ? floatBitsToUint(a) : floatBitsToUint(b));
}

// a / b, correctly rounded: the quotient of the driver, corrected by its remainder.
float div_f32(float a, float b) {
    uint sign = (floatBitsToUint(a) ^ floatBitsToUint(b)) & 0x80000000u;
    uint a_bits = floatBitsToUint(a) & 0x7fffffffu;
    uint b_bits = floatBitsToUint(b) & 0x7fffffffu;
    if (max(a_bits, b_bits) > 0x7f800000u
        || (a_bits == b_bits && (b_bits == 0u || b_bits == 0x7f800000u))) {
        return uintBitsToFloat(0x7fc00000u);
    }
    if (a_bits == 0u || b_bits == 0x7f800000u) {
        return uintBitsToFloat(sign);
    }
    if (b_bits == 0u || a_bits == 0x7f800000u) {
        return uintBitsToFloat(sign | 0x7f800000u);
    }
    int a_exponent;
    int b_exponent;
    uint dividend = split_f32(a_bits, a_exponent);
    uint divisor = split_f32(b_bits, b_exponent);
    uint quotient = uint(float(dividend) / float(divisor) * 33554432.0);
    // small, so its low 32 bits are all of it
    int rest = int((dividend << 25) - quotient * divisor);
    quotient += uint(int(floor(float(rest) / float(divisor))));
    rest = int((dividend << 25) - quotient * divisor);
    int last = rest < 0 ? -1 : rest >= int(divisor) ? 1 : 0;  // float(rest) was rounded
    quotient += uint(last);
    rest -= last * int(divisor);
    return round_f32(sign, quotient << 1 | uint(rest != 0), a_exponent - b_exponent - 26);
}

// Python's //, of the rounded quotient.
float floor_div_f32(float a, float b) {
    return floor(div_f32(a, b));
}

// Python's % by its formula, each step rounded.
float mod_f32(float a, float b) {
    precise float multiple = b * floor_div_f32(a, b);
    precise float remainder = a - multiple;
    return remainder;
}

// Remainder with the sign of the dividend, exactly.
float fmod_f32(float a, float b) {
    uint sign = floatBitsToUint(a) & 0x80000000u;
    uint a_bits = floatBitsToUint(a) & 0x7fffffffu;
    uint b_bits = floatBitsToUint(b) & 0x7fffffffu;
    if (a_bits >= 0x7f800000u || b_bits > 0x7f800000u || b_bits == 0u) {
        return uintBitsToFloat(0x7fc00000u);
    }
    if (a_bits < b_bits) {
        return a;
    }
    int a_exponent;
    int e;
    uint dividend = split_f32(a_bits, a_exponent);
    uint divisor = split_f32(b_bits, e);
    uint rest = dividend % divisor;
    for (int left = a_exponent - e; left > 0; left -= 8) {
        rest = (rest << min(left, 8)) % divisor;
    }
    if (rest == 0u) {
        return uintBitsToFloat(sign);
    }
    int shift = 25 - findMSB(rest);
    return round_f32(sign, rest << shift, e - shift);
}

// The square root, correctly rounded: that of the driver, corrected by its remainder.
float sqrt_f32(float x) {
    uint bits = floatBitsToUint(x);
    // Not `bits == 0u`: lavapipe 26 makes that x == 0.0, and treats subnormal numbers as 0 there.
    if (bits - 1u >= 0x7f7fffffu) {
        return bits > 0x7f800000u && bits != 0x80000000u ? uintBitsToFloat(0x7fc00000u) : x;
    }
    int e;
    uint m = split_f32(bits, e);
    if ((e & 1) != 0) {
        m <<= 1;
        e -= 1;
    }
    uint root = uint(sqrt(float(m)) * 8192.0);
    int rest = int((m << 26) - root * root);  // small, so its low 32 bits are all of it
    root += uint(int(floor(float(rest) / float(2u * root))));
    rest = int((m << 26) - root * root);
    root += uint(rest < 0 ? -1 : rest > int(2u * root) ? 1 : 0);  // float(rest) was rounded
    rest = int((m << 26) - root * root);
    return round_f32(0u, root << 1 | uint(rest != 0), e / 2 - 14);
}

float rsqrt_f32(float x) {
    return div_f32(1.0, sqrt_f32(x));
}

// a + b exactly, as a sum (high, low).
vec2 two_sum_f32(float a, float b) {
    precise float high = a + b;
    precise float part = high - a;
    precise float low = (a - (high - part)) + (b - part);
    return vec2(high, low);
}

// a * b exactly, as a sum (high, low); between 2^-100 and 2^110.
vec2 two_product_f32(float a, float b) {
    precise float a_scaled = a * 4097.0;
    precise float b_scaled = b * 4097.0;
    precise float a_high = a_scaled - (a_scaled - a);
    precise float b_high = b_scaled - (b_scaled - b);
    precise float a_low = a - a_high;
    precise float b_low = b - b_high;
    precise float high = a * b;
    precise float low =
        ((a_high * b_high - high) + a_high * b_low + a_low * b_high) + a_low * b_low;
    return vec2(high, low);
}

// 2^n for -126 <= n <= 127.
float power_of_two_f32(int n) {
    return uintBitsToFloat(uint(n + 127) << 23);
}

// exp(x + low), where low is small compared with x.
float exp_of_sum_f32(float x, float low) {
    if ((floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u) {
        return x;
    }
    if (x > 88.73) {
        return uintBitsToFloat(0x7f800000u);
    }
    if (x < -104.0) {
        return 0.0;
    }
    precise float n = roundEven(x * 1.44269504);
    // log(2) in two parts, the first of 9 bits
    precise float r = (x - n * 0.693359375) + (n * 2.12194440e-4 + low);
    float p = 1.3818298e-3;  // e^r = 1 + r + r^2 p within 2^-28
    p = p * r + 8.368532e-3;
    p = p * r + 4.1668292e-2;
    p = p * r + 1.6666523e-1;
    p = p * r + 4.9999994e-1;
    float y = 1.0 + (r + r * r * p);
    uint bits = floatBitsToUint(y);
    return round_f32(0u, ((bits & 0x007fffffu) | 0x00800000u) << 2, int(bits >> 23) - 152 + int(n));
}

float exp_f32(float x) {
    return exp_of_sum_f32(x, 0.0);
}

// log(x) of a positive, finite x as a sum (high, low), good to about 2^-36: as log_in_two_parts
// does for double.
vec2 log_in_two_parts_f32(float x) {
    int e;
    uint significand = split_f32(floatBitsToUint(x), e) & 0x007fffffu;
    bool is_above = significand > 0x3504f3u;  // m between sqrt(1/2) and sqrt(2)
    precise float m = uintBitsToFloat(significand | (is_above ? 0x3f000000u : 0x3f800000u));
    precise float n = float(is_above ? e + 24 : e + 23);
    precise float f = m - 1.0;
    vec2 u = two_sum_f32(m, 1.0);
    precise float s = f / u.x;
    vec2 back = two_product_f32(s, u.x);
    precise float s_low = (((f - back.x) - back.y) - s * u.y) / u.x;
    vec2 t = two_product_f32(s, s);
    t.y += 2.0 * s * s_low;
    float tail = t.x
        * (0.4 + t.x * (2.0 / 7.0 + t.x * (2.0 / 9.0 + t.x * (2.0 / 11.0 + t.x * (2.0 / 13.0)))));
    // log((1 + s) / (1 - s)) = 2 s + s t (2/3 + 2/5 t + ...), t = s^2
    vec2 p = two_sum_f32(0.666666687, tail);
    p.y -= 1.98682156e-8;
    vec2 v = two_product_f32(t.x, p.x);
    v.y += t.x * p.y + t.y * p.x;
    vec2 w = two_product_f32(s, v.x);
    w.y += s * v.y + s_low * v.x;
    vec2 near = two_sum_f32(2.0 * s, w.x);
    near.y += w.y + 2.0 * s_low;
    vec2 far = two_sum_f32(n * 0.693359375, near.x);  // log(2) in two parts, the first of 9 bits
    vec2 low = two_product_f32(n, -2.12194440e-4);
    vec2 sum = two_sum_f32(far.x, low.x);
    precise float rest = far.y + sum.y + low.y + near.y;
    return two_sum_f32(sum.x, rest);
}

float log_f32(float x) {
    uint bits = floatBitsToUint(x);
    if ((bits & 0x7fffffffu) == 0u) {
        return uintBitsToFloat(0xff800000u);
    }
    if (bits >= 0x7f800000u) {
        return bits == 0x7f800000u ? x : uintBitsToFloat(0x7fc00000u);
    }
    return log_in_two_parts_f32(x).x;
}

// C's pow; GLSL's is undefined for negative x and for 0 to the power of 0.
float accurate_pow_f32(float x, float y) {
    uint a_bits = floatBitsToUint(x) & 0x7fffffffu;
    uint b_bits = floatBitsToUint(y) & 0x7fffffffu;
    if (b_bits == 0u || floatBitsToUint(x) == 0x3f800000u) {
        return 1.0;
    }
    if (max(a_bits, b_bits) > 0x7f800000u) {
        return uintBitsToFloat(0x7fc00000u);
    }
    bool is_zero = a_bits == 0u;
    bool is_infinite = a_bits == 0x7f800000u;
    bool is_negative = floatBitsToUint(x) != a_bits;
    bool is_whole = b_bits >= 0x3f800000u && floor(y) == y;
    bool is_odd = is_whole && abs(y) < 16777216.0 && floor(y * 0.5) != y * 0.5;
    if (is_negative && !is_whole && !is_zero && !is_infinite) {
        return uintBitsToFloat(0x7fc00000u);
    }
    float magnitude = 1.0;
    if (is_zero || is_infinite) {
        magnitude = uintBitsToFloat(is_zero == (floatBitsToUint(y) == b_bits) ? 0u : 0x7f800000u);
    } else if (a_bits != 0x3f800000u) {
        float power = clamp(y, -1.0e10, 1.0e10);  // farther out all powers vanish or overflow
        vec2 log_a = log_in_two_parts_f32(uintBitsToFloat(a_bits));
        vec2 z = two_product_f32(power, log_a.x);
        precise float low = z.y + power * log_a.y;
        magnitude = exp_of_sum_f32(z.x, low);
    }
    return uintBitsToFloat(floatBitsToUint(magnitude) | (is_negative && is_odd ? 0x80000000u : 0u));
}

// x minus the nearest multiple of pi/2, as a sum (high, low), and that multiple modulo 4.
vec2 reduce_f32(float x, out int quadrant) {
    uint bits = floatBitsToUint(x) & 0x7fffffffu;
    quadrant = 0;
    if (bits <= 0x3f490fdau) {  // pi/4
        return vec2(x, 0.0);
    }
    if (bits >= 0x7f800000u) {
        return vec2(uintBitsToFloat(0x7fc00000u), 0.0);
    }
    uvec4 quadrants =
        times_two_over_pi(uvec2((bits & 0x007fffffu) | 0x00800000u, 0u), int(bits >> 23) - 150);
    int nearest = int((quadrants.x + 0x20000000u) >> 30);
    uint high = quadrants.x << 2 | quadrants.y >> 30;
    uint low = quadrants.y << 2 | quadrants.z >> 30;
    bool is_before = high >= 0x80000000u;
    high = is_before ? ~high : high;
    low = is_before ? ~low : low;
    int shift = 31 - findMSB(high);
    uint product;
    uint below;
    // pi/2 * 2^31
    umulExtended(high << shift | low >> 1 >> (31 - shift), 0xc90fdaa2u, product, below);
    vec2 r =
        vec2(float(product & 0xffffff00u), float(product & 0xffu)) * power_of_two_f32(-31 - shift);
    quadrant = (x < 0.0 ? -nearest : nearest) & 3;
    return is_before != (x < 0.0) ? -r : r;
}

// sin(r.x + r.y) for |r| <= pi/4, as a sum.
vec2 sin_near_zero_f32(vec2 r) {
    float z = r.x * r.x;
    float p = -1.9518292e-4;  // sin(x) = x + x^3 p within 2^-28
    p = p * z + 8.332189e-3;
    p = p * z - 1.6666655e-1;
    return vec2(r.x, r.x * z * p + r.y * (1.0 - 0.5 * z));
}

// cos(r.x + r.y) for |r| <= pi/4, as a sum.
vec2 cos_near_zero_f32(vec2 r) {
    float z = r.x * r.x;
    float p = 2.4432327e-5;  // cos(x) = 1 - x^2/2 + x^4 p within 2^-33
    p = p * z - 1.388731e-3;
    p = p * z + 4.1666646e-2;
    precise float h = 0.5 * z;
    precise float w = 1.0 - h;
    precise float rest = ((1.0 - w) - h) + (z * z * p - r.x * r.y);
    return vec2(w, rest);
}

// sin(r.x + r.y + quadrant * pi/2) for |r| <= pi/4.
float sin_of_reduced_f32(vec2 r, int quadrant) {
    vec2 y = (quadrant & 1) == 0 ? sin_near_zero_f32(r) : cos_near_zero_f32(r);
    return (quadrant & 2) == 0 ? y.x + y.y : -(y.x + y.y);
}

float sin_f32(float x) {
    if (abs(x) < 2.44140625e-4) {
        return x;  // keeps -0.0 and subnormal numbers
    }
    int quadrant;
    vec2 r = reduce_f32(x, quadrant);
    return sin_of_reduced_f32(r, quadrant);
}

float cos_f32(float x) {
    int quadrant;
    vec2 r = reduce_f32(x, quadrant);
    return sin_of_reduced_f32(r, quadrant + 1);
}

float tan_f32(float x) {
    if (abs(x) < 2.44140625e-4) {
        return x;  // keeps -0.0 and subnormal numbers
    }
    int quadrant;
    vec2 r = reduce_f32(x, quadrant);
    bool is_even = (quadrant & 1) == 0;
    vec2 a = is_even ? sin_near_zero_f32(r) : -cos_near_zero_f32(r);
    vec2 b = is_even ? cos_near_zero_f32(r) : sin_near_zero_f32(r);
    precise float y = (a.x + a.y) / (b.x + b.y);  // corrected by the remainder of the division
    vec2 back = two_product_f32(y, b.x);
    precise float rest = ((a.x - back.x) - back.y) + (a.y - y * b.y);
    return y + rest / b.x;
}

float tanh_f32(float x) {
    float a = abs(x);
    if (a < 2.44140625e-4) {
        return x;  // keeps -0.0 and subnormal numbers
    }
    if (!(a < 0.55)) {
        float y = 1.0 - 2.0 / (exp_f32(2.0 * min(a, 20.0)) + 1.0);
        y = (floatBitsToUint(a) > 0x7f800000u) ? a : y;
        return x < 0.0 ? -y : y;
    }
    float z = x * x;
    float p = -6.246065e-3;  // tanh(x) = x + x^3 p within 2^-29
    p = p * z + 2.1052506e-2;
    p = p * z - 5.3847853e-2;
    p = p * z + 1.3332546e-1;
    p = p * z - 3.3333316e-1;
    return x + x * z * p;
}

float exact_asin_f32(float x) {
    return abs(x) < 2.44140625e-4 ? x : asin_f32(x);  // keeps -0.0 and subnormal numbers
}

// x * 2^64 of a small x.
float raised_f32(float x) {
    uint bits = floatBitsToUint(x);
    uint magnitude = bits & 0x7fffffffu;
    float raised = magnitude < 0x00800000u ? float(magnitude) * 2.58493941e-26
                                           : exact_abs_f32(x) * 1.84467441e19;
    return uintBitsToFloat(floatBitsToUint(raised) | (bits & 0x80000000u));
}

float exact_atan2_f32(float y, float x) {
    uint y_bits = floatBitsToUint(y) & 0x7fffffffu;
    uint x_bits = floatBitsToUint(x) & 0x7fffffffu;
    if (y_bits + 0x06000000u < x_bits && x_bits < 0x7f800000u && floatBitsToUint(x) == x_bits) {
        return div_f32(y, x);  // below 2^-11 the angle is its tangent
    }
    if (max(x_bits, y_bits) < 0x20000000u) {
        return atan2_f32(raised_f32(y), raised_f32(x));
    }
    return atan2_f32(y, x);
}
