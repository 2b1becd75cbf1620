// The functions of double that GLSL lacks, within 2 units in the last place. Chunks are separated
// by blank lines, each defines one name; a source includes those it uses. `precise` keeps the error
// terms from being optimised away.
// Source: Dekker, "A floating-point technique for extending the available precision" (1971); Taylor
// and Lambert series.

// a + b exactly, as a sum (high, low).
dvec2 two_sum(double a, double b) {
    precise double high = a + b;
    precise double part = high - a;
    precise double low = (a - (high - part)) + (b - part);
    return dvec2(high, low);
}

// a * b exactly, as a sum (high, low); below 2^970.
dvec2 two_product(double a, double b) {
    precise double a_scaled = a * 134217729.0lf;
    precise double b_scaled = b * 134217729.0lf;
    precise double a_high = a_scaled - (a_scaled - a);
    precise double b_high = b_scaled - (b_scaled - b);
    precise double a_low = a - a_high;
    precise double b_low = b - b_high;
    precise double high = a * b;
    precise double low =
        ((a_high * b_high - high) + a_high * b_low + a_low * b_high) + a_low * b_low;
    return dvec2(high, low);
}

// 2^n for -1022 <= n <= 1023.
double power_of_two(int n) {
    return packDouble2x32(uvec2(0u, uint(n + 1023) << 20));
}

double exp_f64(double x) {
    if (x > 709.79lf) {
        return packDouble2x32(uvec2(0u, 0x7ff00000u));
    }
    if (x < -745.2lf) {
        return 0.0lf;
    }
    if (is_nan_f64(x)) {
        return x;
    }
    precise double n = roundEven(x * 1.4426950408889634lf);
    // log(2) in two parts
    precise double r = (x - n * 0.69314718036912382lf) - n * 1.9082149292705877e-10lf;
    double p = 1.0lf / 6227020800.0lf;
    p = p * r + 1.0lf / 479001600.0lf;
    p = p * r + 1.0lf / 39916800.0lf;
    p = p * r + 1.0lf / 3628800.0lf;
    p = p * r + 1.0lf / 362880.0lf;
    p = p * r + 1.0lf / 40320.0lf;
    p = p * r + 1.0lf / 5040.0lf;
    p = p * r + 1.0lf / 720.0lf;
    p = p * r + 1.0lf / 120.0lf;
    p = p * r + 1.0lf / 24.0lf;
    p = p * r + 1.0lf / 6.0lf;
    p = p * r + 0.5lf;
    double y = 1.0lf + (r + r * r * p);
    int half_n = int(n) / 2;  // in two steps, since 2^n may leave the range
    return y * power_of_two(half_n) * power_of_two(int(n) - half_n);
}

// The exponent e of a positive x = m * 2^e with m between sqrt(1/2) and sqrt(2), and m.
double split_exponent(double x, out int e) {
    e = 0;
    if (x < 2.2250738585072014e-308lf) {
        x *= 18014398509481984.0lf;
        e = -54;
    }
    uvec2 bits = unpackDouble2x32(x);
    e += int(bits.y >> 20) - 1023;
    double m = packDouble2x32(uvec2(bits.x, (bits.y & 0x000fffffu) | 0x3ff00000u));
    if (m > 1.4142135623730951lf) {
        m *= 0.5lf;
        e += 1;
    }
    return m;
}

// 2/3 + 2/5 t + 2/7 t^2 + ... without its first term: log((1 + s) / (1 - s)) = 2 s + s t (2/3 +
// ...), t = s^2.
double log_tail(double t) {
    double p = 2.0lf / 25.0lf;
    p = p * t + 2.0lf / 23.0lf;
    p = p * t + 2.0lf / 21.0lf;
    p = p * t + 2.0lf / 19.0lf;
    p = p * t + 2.0lf / 17.0lf;
    p = p * t + 2.0lf / 15.0lf;
    p = p * t + 2.0lf / 13.0lf;
    p = p * t + 2.0lf / 11.0lf;
    p = p * t + 2.0lf / 9.0lf;
    p = p * t + 2.0lf / 7.0lf;
    p = p * t + 2.0lf / 5.0lf;
    return p * t;
}

// log(x) of a positive, finite x as a sum (high, low), good to about 2^-64.
dvec2 log_in_two_parts(double x) {
    int e;
    precise double m = split_exponent(x, e);
    precise double f = m - 1.0lf;
    dvec2 u = two_sum(m, 1.0lf);
    precise double s = f / u.x;
    dvec2 back = two_product(s, u.x);
    precise double s_low = (((f - back.x) - back.y) - s * u.y) / u.x;
    dvec2 t = two_product(s, s);
    t.y += 2.0lf * s * s_low;
    double tail = log_tail(t.x);
    dvec2 p = two_sum(0.66666666666666663lf, tail);
    p.y += 3.7007434154171886e-17lf;
    dvec2 v = two_product(t.x, p.x);
    v.y += t.x * p.y + t.y * p.x;
    dvec2 w = two_product(s, v.x);
    w.y += s * v.y + s_low * v.x;
    dvec2 near = two_sum(2.0lf * s, w.x);
    near.y += w.y + 2.0lf * s_low;
    precise double n = double(e);
    dvec2 far = two_sum(n * 0.69314718036912382lf, near.x);
    dvec2 low = two_product(n, 1.9082149292705877e-10lf);
    dvec2 sum = two_sum(far.x, low.x);
    precise double rest = far.y + sum.y + low.y + near.y;
    return two_sum(sum.x, rest);
}

double log_f64(double x) {
    if (x <= 0.0lf) {
        return packDouble2x32(uvec2(0u, x == 0.0lf ? 0xfff00000u : 0x7ff80000u));
    }
    if (!(x <= 1.7976931348623157e308lf)) {
        return x;  // infinity or not a number
    }
    return log_in_two_parts(x).x;
}

double pow_f64(double x, double y) {
    if (y == 0.0lf || x == 1.0lf) {
        return 1.0lf;
    }
    if (is_nan_f64(x) || is_nan_f64(y)) {
        return x + y;
    }
    double infinity = packDouble2x32(uvec2(0u, 0x7ff00000u));
    double a = abs(x);
    bool is_whole = floor(y) == y;
    bool is_odd = is_whole && abs(y) < 9007199254740992.0lf && floor(y * 0.5lf) != y * 0.5lf;
    bool is_negative = (unpackDouble2x32(x).y & 0x80000000u) != 0u;
    double magnitude = 1.0lf;
    if (a == 0.0lf || a == infinity) {
        magnitude = (a == 0.0lf) == (y > 0.0lf) ? 0.0lf : infinity;
    } else if (a != 1.0lf) {
        double power = clamp(y, -1.0e20lf, 1.0e20lf);
        dvec2 log_a = log_in_two_parts(a);
        dvec2 z = two_product(power, log_a.x);
        precise double low = z.y + power * log_a.y;
        double scale = exp_f64(z.x);
        magnitude = scale == infinity || scale == 0.0lf ? scale : scale + scale * low;
    }
    if (is_negative && !is_whole && a != 0.0lf && a != infinity) {
        return packDouble2x32(uvec2(0u, 0x7ff80000u));
    }
    return is_negative && is_odd ? -magnitude : magnitude;
}

// x minus the nearest multiple of pi/2, as a sum (high, low), and that multiple modulo 4; exact to
// |x| = 2^50.
dvec2 reduce_by_half_pi(double x, out int quadrant) {
    precise double n = roundEven(x * 0.63661977236758138lf);
    quadrant = int(n - 4.0lf * floor(n * 0.25lf));
    dvec2 first = two_product(n, 1.5707963267948966lf);
    dvec2 second = two_product(n, 6.123233995736766e-17lf);
    precise double high = x - first.x;
    dvec2 a = two_sum(high, -first.y);
    dvec2 b = two_sum(a.x, -second.x);
    precise double low = a.y + b.y - second.y - n * -1.4973849048591698e-33lf;
    return two_sum(b.x, low);
}

// sin(r.x + r.y) for |r| <= pi/4, as a sum.
dvec2 sin_near_zero(dvec2 r) {
    double z = r.x * r.x;
    double p = 1.0lf / 355687428096000.0lf;
    p = p * z - 1.0lf / 1307674368000.0lf;
    p = p * z + 1.0lf / 6227020800.0lf;
    p = p * z - 1.0lf / 39916800.0lf;
    p = p * z + 1.0lf / 362880.0lf;
    p = p * z - 1.0lf / 5040.0lf;
    p = p * z + 1.0lf / 120.0lf;
    p = p * z - 1.0lf / 6.0lf;
    return dvec2(r.x, r.x * z * p + r.y * (1.0lf - 0.5lf * z));
}

// cos(r.x + r.y) for |r| <= pi/4, as a sum.
dvec2 cos_near_zero(dvec2 r) {
    double z = r.x * r.x;
    double p = -1.0lf / 6402373705728000.0lf;
    p = p * z + 1.0lf / 20922789888000.0lf;
    p = p * z - 1.0lf / 87178291200.0lf;
    p = p * z + 1.0lf / 479001600.0lf;
    p = p * z - 1.0lf / 3628800.0lf;
    p = p * z + 1.0lf / 40320.0lf;
    p = p * z - 1.0lf / 720.0lf;
    p = p * z + 1.0lf / 24.0lf;
    precise double h = 0.5lf * z;
    precise double w = 1.0lf - h;
    precise double rest = ((1.0lf - w) - h) + (z * z * p - r.x * r.y);
    return dvec2(w, rest);
}

// sin(r.x + r.y + quadrant * pi/2) for |r| <= pi/4.
double sin_of_reduced(dvec2 r, int quadrant) {
    dvec2 y = (quadrant & 1) == 0 ? sin_near_zero(r) : cos_near_zero(r);
    return (quadrant & 2) == 0 ? y.x + y.y : -(y.x + y.y);
}

// tan(r.x + r.y + quadrant * pi/2) for |r| <= pi/4: the quotient of two sums, corrected by its
// remainder.
double tan_of_reduced(dvec2 r, int quadrant) {
    bool is_even = (quadrant & 1) == 0;
    dvec2 a = is_even ? sin_near_zero(r) : -cos_near_zero(r);
    dvec2 b = is_even ? cos_near_zero(r) : sin_near_zero(r);
    precise double y = (a.x + a.y) / (b.x + b.y);
    dvec2 back = two_product(y, b.x);
    precise double rest = ((a.x - back.x) - back.y) + (a.y - y * b.y);
    return y + rest / b.x;
}

double sin_f64(double x) {
    int quadrant;
    dvec2 r = reduce_by_half_pi(x, quadrant);
    return sin_of_reduced(r, quadrant);
}

double cos_f64(double x) {
    int quadrant;
    dvec2 r = reduce_by_half_pi(x, quadrant);
    return sin_of_reduced(r, quadrant + 1);
}

double tan_f64(double x) {
    int quadrant;
    dvec2 r = reduce_by_half_pi(x, quadrant);
    return tan_of_reduced(r, quadrant);
}

// atan(k / 8) in two parts. No array, since lavapipe is slow at those.
dvec2 atan_of_eighths(int k) {
    return
        k == 0 ? dvec2(0.0lf, 0.0lf) :
        k == 1 ? dvec2(0.12435499454676144lf, -3.1253241424539383e-18lf) :
        k == 2 ? dvec2(0.24497866312686414lf, 1.0698755618734451e-17lf) :
        k == 3 ? dvec2(0.35877067027057225lf, -2.4623815582638635e-17lf) :
        k == 4 ? dvec2(0.4636476090008061lf, 2.2698777452961687e-17lf) :
        k == 5 ? dvec2(0.5585993153435624lf, -5.4556305485916264e-18lf) :
        k == 6 ? dvec2(0.6435011087932844lf, 1.5834785051444286e-17lf) :
        k == 7 ? dvec2(0.7188299996216245lf, -2.1478388444456983e-17lf) :
        dvec2(0.7853981633974483lf, 3.061616997868383e-17lf);
}

// atan(low / high) for 0 <= low <= high and high > 0, as a sum; both far from the limits of double.
dvec2 atan_of_quotient(double low, double high) {
    double quotient = low / high;
    int k = quotient < 0.1lf ? 0 : int(roundEven(quotient * 8.0lf));
    double c = double(k) * 0.125lf;
    uvec2 bits = unpackDouble2x32(high);
    // so short that c * head is exact
    double head = packDouble2x32(uvec2(bits.x & 0xfffffff0u, bits.y));
    precise double above = (low - c * head) - c * (high - head);
    double t = above / (high + c * low);  // atan(low / high) = atan(k / 8) + atan(t)
    double z = t * t;
    double p = 1.0lf / 17.0lf;
    p = p * z - 1.0lf / 15.0lf;
    p = p * z + 1.0lf / 13.0lf;
    p = p * z - 1.0lf / 11.0lf;
    p = p * z + 1.0lf / 9.0lf;
    p = p * z - 1.0lf / 7.0lf;
    p = p * z + 1.0lf / 5.0lf;
    p = p * z - 1.0lf / 3.0lf;
    dvec2 base = atan_of_eighths(k);
    return dvec2(base.x, base.y + (t + t * z * p));
}

double atan2_f64(double y, double x) {
    if (is_nan_f64(x) || is_nan_f64(y)) {
        return x + y;
    }
    double infinity = packDouble2x32(uvec2(0u, 0x7ff00000u));
    double a = abs(x);
    double b = abs(y);
    double largest = max(a, b);
    if (largest == infinity) {
        a = a == infinity ? 1.0lf : 0.0lf;
        b = b == infinity ? 1.0lf : 0.0lf;
    } else if (largest == 0.0lf) {
        a = 1.0lf;
    } else if (largest > 3.2733906078961419e150lf || largest < 3.8725919148493183e-121lf) {
        double scale = power_of_two(largest > 1.0lf ? -500 : 500);
        a *= scale;
        b *= scale;
    }
    dvec2 angle = atan_of_quotient(min(a, b), max(a, b));
    if (b > a) {
        dvec2 high = two_sum(1.5707963267948966lf, -angle.x);
        angle = dvec2(high.x, high.y + (6.123233995736766e-17lf - angle.y));
    }
    if ((unpackDouble2x32(x).y & 0x80000000u) != 0u) {
        dvec2 high = two_sum(3.1415926535897931lf, -angle.x);
        angle = dvec2(high.x, high.y + (1.2246467991473532e-16lf - angle.y));
    }
    double sum = angle.x + angle.y;
    return (unpackDouble2x32(y).y & 0x80000000u) != 0u ? -sum : sum;
}

double asin_f64(double x) {
    return atan2_f64(x, sqrt((1.0lf - x) * (1.0lf + x)));
}

double acos_f64(double x) {
    return atan2_f64(sqrt((1.0lf - x) * (1.0lf + x)), x);
}

double tanh_f64(double x) {
    double a = abs(x);
    if (!(a < 0.55lf)) {
        double y = 1.0lf - 2.0lf / (exp_f64(2.0lf * a) + 1.0lf);
        return x < 0.0lf ? -y : y;
    }
    if (a < 7.4505805969238281e-9lf) {
        return x;  // keeps -0.0 and subnormal numbers
    }
    // Lambert's fraction x / (1 + z / (3 + z / (5 + ...))) down to 15, as a quotient of polynomials
    double z = x * x;
    double p = ((z + 594.0lf) * z + 45045.0lf) * z + 675675.0lf;
    double q = (((z + 630.0lf) * z + 51975.0lf) * z + 945945.0lf) * z + 2027025.0lf;
    return x - x * z * (p / q);
}
