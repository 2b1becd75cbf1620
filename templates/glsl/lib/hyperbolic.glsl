// The inverse hyperbolic functions of float and double, within 2 units in the last place. GLSL has
// none of double, and Vulkan lets drivers compute asinh(x) of float as log(x + sqrt(x * x + 1.0)),
// which loses all digits near zero.
// Source: the formulas with log(1 + u) of C's libraries; its low part from the sums of
// exact_f32.glsl and math_f64.glsl.

// log(1 + u) for u >= 0.
float log_of_one_plus_f32(float u) {
    vec2 v = two_sum_f32(1.0, u);
    vec2 y = log_in_two_parts_f32(v.x);
    return y.x + (y.y + v.y / v.x);
}

// log(2 x) of a positive, finite x.
float log_of_twice_f32(float x) {
    vec2 y = log_in_two_parts_f32(x);
    return y.x + (y.y + 0.693147182);
}

float asinh_f32(float x) {
    float a = abs(x);
    if (a < 2.44140625e-4 || (floatBitsToUint(x) & 0x7fffffffu) >= 0x7f800000u) {
        return x;  // keeps -0.0, subnormal numbers, infinities and NaN
    }
    float y = a > 4096.0 ? log_of_twice_f32(a)
                         : log_of_one_plus_f32(a + a * a / (1.0 + sqrt(1.0 + a * a)));
    return x < 0.0 ? -y : y;
}

float acosh_f32(float x) {
    if (!(x >= 1.0)) {
        return uintBitsToFloat(0x7fc00000u);
    }
    if (x > 4096.0) {
        return floatBitsToUint(x) == 0x7f800000u ? x : log_of_twice_f32(x);
    }
    float t = x - 1.0;
    return log_of_one_plus_f32(t + sqrt(t * (x + 1.0)));
}

float atanh_f32(float x) {
    float a = abs(x);
    if (a < 2.44140625e-4) {
        return x;  // keeps -0.0 and subnormal numbers
    }
    if (!(a < 1.0)) {
        return uintBitsToFloat(
            a == 1.0 ? 0x7f800000u | (floatBitsToUint(x) & 0x80000000u) : 0x7fc00000u
        );
    }
    float y = 0.5 * log_of_one_plus_f32(2.0 * a / (1.0 - a));
    return x < 0.0 ? -y : y;
}

// log(1 + u) for u >= 0.
double log_of_one_plus_f64(double u) {
    dvec2 v = two_sum(1.0lf, u);
    dvec2 y = log_in_two_parts(v.x);
    return y.x + (y.y + v.y / v.x);
}

// log(2 x) of a positive, finite x.
double log_of_twice_f64(double x) {
    dvec2 y = log_in_two_parts(x);
    return y.x + (y.y + 0.69314718055994531lf);
}

double asinh_f64(double x) {
    double a = abs(x);
    if (a < 7.4505805969238281e-9lf || !(a <= 1.7976931348623157e308lf)) {
        return x;  // keeps -0.0, subnormal numbers, infinities and NaN
    }
    double y = a > 268435456.0lf ? log_of_twice_f64(a)
                                 : log_of_one_plus_f64(a + a * a / (1.0lf + sqrt(1.0lf + a * a)));
    return x < 0.0lf ? -y : y;
}

double acosh_f64(double x) {
    if (!(x >= 1.0lf)) {
        return packDouble2x32(uvec2(0u, 0x7ff80000u));
    }
    if (x > 268435456.0lf) {
        return !(x <= 1.7976931348623157e308lf) ? x : log_of_twice_f64(x);
    }
    double t = x - 1.0lf;
    return log_of_one_plus_f64(t + sqrt(t * (x + 1.0lf)));
}

double atanh_f64(double x) {
    double a = abs(x);
    if (a < 7.4505805969238281e-9lf) {
        return x;  // keeps -0.0 and subnormal numbers
    }
    if (!(a < 1.0lf)) {
        uint high = a == 1.0lf ? 0x7ff00000u | (unpackDouble2x32(x).y & 0x80000000u) : 0x7ff80000u;
        return packDouble2x32(uvec2(0u, high));
    }
    double y = 0.5lf * log_of_one_plus_f64(2.0lf * a / (1.0lf - a));
    return x < 0.0lf ? -y : y;
}

float16_t asinh_f16(float16_t x) {
    return float16_t(asinh_f32(float(x)));
}

float16_t acosh_f16(float16_t x) {
    return float16_t(acosh_f32(float(x)));
}

float16_t atanh_f16(float16_t x) {
    return float16_t(atanh_f32(float(x)));
}
