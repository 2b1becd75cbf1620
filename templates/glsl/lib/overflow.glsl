// Whether integer arithmetic leaves the range of its type. Chunks are separated by blank lines,
// each defines one name; a source includes those it uses.

bool add_overflows_i32(int a, int b) {
    int sum = a + b;
    return ((a ^ sum) & (b ^ sum)) < 0;
}

bool sub_overflows_i32(int a, int b) {
    int difference = a - b;
    return ((a ^ b) & (a ^ difference)) < 0;
}

bool mul_overflows_i32(int a, int b) {
    int high;
    int low;
    imulExtended(a, b, high, low);
    return high != low >> 31;
}

bool shl_overflows_i32(int a, int count) {
    return count < 0 || count >= 32 || (a << count) >> count != a;
}

bool pow_overflows_i32(int base, int exponent) {
    int result = 1;
    while (exponent > 0) {
        if ((exponent & 1) != 0) {
            if (mul_overflows_i32(result, base)) {
                return true;
            }
            result *= base;
        }
        exponent >>= 1;
        if (exponent > 0 && mul_overflows_i32(base, base)) {
            return true;
        }
        base *= base;
    }
    return false;
}

bool add_overflows_u32(uint a, uint b) {
    return a + b < a;
}

bool sub_overflows_u32(uint a, uint b) {
    return a < b;
}

bool mul_overflows_u32(uint a, uint b) {
    uint high;
    uint low;
    umulExtended(a, b, high, low);
    return high != 0u;
}

bool shl_overflows_u32(uint a, uint count) {
    return count >= 32u || (a << count) >> count != a;
}

bool pow_overflows_u32(uint base, uint exponent) {
    uint result = 1u;
    while (exponent > 0u) {
        if ((exponent & 1u) != 0u) {
            if (mul_overflows_u32(result, base)) {
                return true;
            }
            result *= base;
        }
        exponent >>= 1;
        if (exponent > 0u && mul_overflows_u32(base, base)) {
            return true;
        }
        base *= base;
    }
    return false;
}

bool add_overflows_i64(int64_t a, int64_t b) {
    int64_t sum = a + b;
    return ((a ^ sum) & (b ^ sum)) < 0l;
}

bool sub_overflows_i64(int64_t a, int64_t b) {
    int64_t difference = a - b;
    return ((a ^ b) & (a ^ difference)) < 0l;
}

bool mul_overflows_i64(int64_t a, int64_t b) {
    if (a == -1l) {
        // not `b == -b`, true of other numbers too in lavapipe 26
        return b == -9223372036854775807l - 1l;
    }
    return a != 0l && div_i64(a * b, a) != b;
}

bool shl_overflows_i64(int64_t a, int64_t count) {
    return count < 0l || count >= 64l || (a << count) >> count != a;
}

bool pow_overflows_i64(int64_t base, int64_t exponent) {
    int64_t result = 1l;
    while (exponent > 0l) {
        if ((exponent & 1l) != 0l) {
            if (mul_overflows_i64(result, base)) {
                return true;
            }
            result *= base;
        }
        exponent >>= 1;
        if (exponent > 0l && mul_overflows_i64(base, base)) {
            return true;
        }
        base *= base;
    }
    return false;
}

bool add_overflows_u64(uint64_t a, uint64_t b) {
    return a + b < a;
}

bool sub_overflows_u64(uint64_t a, uint64_t b) {
    return a < b;
}

bool mul_overflows_u64(uint64_t a, uint64_t b) {
    return a != 0ul && div_u64(a * b, a) != b;
}

bool shl_overflows_u64(uint64_t a, uint64_t count) {
    return count >= 64ul || (a << count) >> count != a;
}

bool pow_overflows_u64(uint64_t base, uint64_t exponent) {
    uint64_t result = 1ul;
    while (exponent > 0ul) {
        if ((exponent & 1ul) != 0ul) {
            if (mul_overflows_u64(result, base)) {
                return true;
            }
            result *= base;
        }
        exponent >>= 1;
        if (exponent > 0ul && mul_overflows_u64(base, base)) {
            return true;
        }
        base *= base;
    }
    return false;
}

// types: i8, i16
// NVIDIA's driver (580) computes a comparison of the sum in 32 bits wrongly.
bool add_overflows_i8(int8_t a, int8_t b) {
    int8_t sum = a + b;
    return ((a ^ sum) & (b ^ sum)) < int8_t(0);
}

bool sub_overflows_i8(int8_t a, int8_t b) {
    int difference = int(a) - int(b);
    return difference < -128 || difference > 127;
}

bool mul_overflows_i8(int8_t a, int8_t b) {
    int product = int(a) * int(b);
    return product < -128 || product > 127;
}

bool add_overflows_u8(uint8_t a, uint8_t b) {
    return uint(a) + uint(b) > 255u;
}

// types: u8, u16
bool sub_overflows_u8(uint8_t a, uint8_t b) {
    return a < b;
}

// a * b < 2^8; NVIDIA's driver (580) cannot compile the comparison itself.
bool mul_overflows_u8(uint8_t a, uint8_t b) {
    return uint(a) * (uint(b) | 256u) >> 8 != uint(a);
}

bool sub_overflows_i16(int16_t a, int16_t b) {
    int difference = int(a) - int(b);
    return difference < -32768 || difference > 32767;
}

bool mul_overflows_i16(int16_t a, int16_t b) {
    int product = int(a) * int(b);
    return product < -32768 || product > 32767;
}

bool add_overflows_u16(uint16_t a, uint16_t b) {
    return uint(a) + uint(b) > 65535u;
}

// a * b < 2^16; NVIDIA's driver (580) cannot compile the comparison itself.
bool mul_overflows_u16(uint16_t a, uint16_t b) {
    return uint(a) * (uint(b) | 65536u) >> 16 != uint(a);
}
