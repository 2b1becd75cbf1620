// Whether a shift or a power of integers leaves the range of its type. Chunks are separated by
// blank lines, each defines one name; a source includes those it uses. Included by the languages'
// own `overflow`, after `mul_overflows_*`.

// types: i32, i64
FUNCTION bool shl_overflows_i32(int a, int count) {
    return count < 0 || count >= 32 || (int)((uint32_t)a << count) >> count != a;
}

// types: u32, u64
FUNCTION bool shl_overflows_u32(uint32_t a, uint32_t count) {
    return count >= 32 || (a << count) >> count != a;
}

// types: i32, u32, i64, u64
FUNCTION bool pow_overflows_i32(int base, int exponent) {
    int result = 1;
    while (exponent > 0) {
        if ((exponent & 1) != 0) {
            if (mul_overflows_i32(result, base)) {
                return true;
            }
            result *= base;
        }
        exponent >>= 1;
        if (exponent > 0) {  // a product that nothing needs may not overflow either
            if (mul_overflows_i32(base, base)) {
                return true;
            }
            base *= base;
        }
    }
    return false;
}
