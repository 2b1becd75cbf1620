// Functions of double for fast_math=False beyond the range of math_f64.glsl: angles above 2^50,
// remainders.

// x minus the nearest multiple of pi/2, as a sum (high, low), and that multiple modulo 4; for |x|
// >= 2^25.
dvec2 reduce_large(double x, out int quadrant) {
    uvec2 bits = unpackDouble2x32(x);
    uint high = bits.y & 0x7fffffffu;
    quadrant = 0;
    if (high >= 0x7ff00000u) {
        return dvec2(packDouble2x32(uvec2(0u, 0x7ff80000u)), 0.0lf);
    }
    uvec4 quadrants = times_two_over_pi(
        uvec2(bits.x, (high & 0x000fffffu) | 0x00100000u), int(high >> 20) - 1075
    );
    int nearest = int((quadrants.x + 0x20000000u) >> 30);
    quadrants = quadrants << 2 | uvec4(quadrants.yzw, 0u) >> 30;
    bool is_before = quadrants.x >= 0x80000000u;
    quadrants = is_before ? ~quadrants : quadrants;
    dvec2 fraction = two_sum(
        double(quadrants.x) * 2.3283064365386963e-10lf,
        double(quadrants.y) * 5.4210108624275222e-20lf
    );
    double rest = double(quadrants.z) * 1.2621774483536189e-29lf
        + double(quadrants.w) * 2.9387358770557188e-39lf;
    fraction = two_sum(fraction.x, fraction.y + rest);
    dvec2 r = two_product(fraction.x, 1.5707963267948966lf);
    r = two_sum(
        r.x, r.y + (fraction.x * 6.123233995736766e-17lf + fraction.y * 1.5707963267948966lf)
    );
    quadrant = (x < 0.0lf ? -nearest : nearest) & 3;
    return is_before != (x < 0.0lf) ? -r : r;
}

// x minus the nearest multiple of pi/2, as a sum (high, low), and that multiple modulo 4.
dvec2 reduce_any(double x, out int quadrant) {
    if (abs(x) < 33554432.0lf) {
        return reduce_by_half_pi(x, quadrant);
    }
    return reduce_large(x, quadrant);
}

double accurate_sin_f64(double x) {
    if (abs(x) < 7.4505805969238281e-9lf) {
        return x;  // keeps -0.0 and subnormal numbers
    }
    int quadrant;
    dvec2 r = reduce_any(x, quadrant);
    return sin_of_reduced(r, quadrant);
}

double accurate_cos_f64(double x) {
    int quadrant;
    dvec2 r = reduce_any(x, quadrant);
    return sin_of_reduced(r, quadrant + 1);
}

double accurate_tan_f64(double x) {
    if (abs(x) < 7.4505805969238281e-9lf) {
        return x;  // keeps -0.0 and subnormal numbers
    }
    int quadrant;
    dvec2 r = reduce_any(x, quadrant);
    return tan_of_reduced(r, quadrant);
}

// Remainder with the sign of the dividend, exactly: quotients of 50 bits at a time.
double fmod_f64(double a, double b) {
    double x = abs(a);
    double y = abs(b);
    if (is_nan_f64(a) || is_inf_f64(a) || is_nan_f64(b) || y == 0.0lf) {
        return packDouble2x32(uvec2(0u, 0x7ff80000u));
    }
    if (x < y) {
        return a;
    }
    int a_exponent;
    int e;
    precise double rest = split_exponent(x, a_exponent);
    double divisor = split_exponent(y, e);
    int left = a_exponent - e;
    do {
        int bits = min(left, 50);
        rest *= power_of_two(bits);
        dvec2 multiple = two_product(trunc(rest / divisor), divisor);
        rest = (rest - multiple.x) - multiple.y;
        rest = rest < 0.0lf ? rest + divisor : rest >= divisor ? rest - divisor : rest;
        left -= bits;
    } while (left > 0);
    rest = rest * power_of_two(e / 2) * power_of_two(e - e / 2);
    return (unpackDouble2x32(a).y & 0x80000000u) != 0u ? -rest : rest;
}

// Python's % by its formula, each step rounded.
double exact_mod_f64(double a, double b) {
    precise double multiple = b * floor(a / b);
    precise double remainder = a - multiple;
    return remainder;
}
