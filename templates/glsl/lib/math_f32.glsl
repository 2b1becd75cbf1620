// Functions of float where drivers are far off (lavapipe's asin and acos by 1.6e-4, its atan by 300
// ulp).
// Source: polynomials of Moshier, Cephes mathematical library, asinf.c and atanf.c (1992).

// asin(x) for 0 <= x <= 0.5.
float asin_of_half(float x) {
    float z = x * x;
    float p = 4.2163199048e-2;
    p = p * z + 2.4181311049e-2;
    p = p * z + 4.5470025998e-2;
    p = p * z + 7.4953002686e-2;
    p = p * z + 1.6666752422e-1;
    return x + x * z * p;
}

float asin_f32(float x) {
    float a = abs(x);
    float angle =
        a <= 0.5 ? asin_of_half(a) : 1.57079633 - 2.0 * asin_of_half(sqrt(0.5 * (1.0 - a)));
    return (floatBitsToUint(x) & 0x80000000u) != 0u ? -angle : angle;  // asin(-0.0) is -0.0
}

float acos_f32(float x) {
    float a = abs(x);
    if (a <= 0.5) {
        return 1.57079633 - (x < 0.0 ? -asin_of_half(a) : asin_of_half(a));
    }
    float angle = 2.0 * asin_of_half(sqrt(0.5 * (1.0 - a)));
    return x < 0.0 ? 3.14159265 - angle : angle;
}

float atan2_f32(float y, float x) {
    // Vulkan requires no accuracy for divisors above 2^126
    float scale = max(abs(x), abs(y)) > 1.0e37 ? 0.0625 : 1.0;
    float a = abs(x) * scale;
    float b = abs(y) * scale;
    float low = min(a, b);
    float high = max(a, b);
    bool is_steep = low > 0.414213562 * high || (low == high && high > 0.0);
    // atan(low / high), above tan(pi / 8) as pi / 4 + atan((low - high) / (low + high)).
    float t = is_steep ? (low - high) / (low + high) : low / high;
    t = high == 0.0 || low == high ? 0.0 : t;
    float z = t * t;
    float p = 8.05374449538e-2;
    p = p * z - 1.38776856032e-1;
    p = p * z + 1.99777106478e-1;
    p = p * z - 3.33329491539e-1;
    float angle = t + t * z * p;
    angle = is_steep ? 0.785398163 + angle : angle;
    angle = b > a ? 1.57079633 - angle : angle;
    angle = (floatBitsToUint(x) & 0x80000000u) != 0u ? 3.14159265 - angle : angle;
    angle = x == x && y == y ? angle : x + y;
    return (floatBitsToUint(y) & 0x80000000u) != 0u ? -angle : angle;
}
