// Whether integer arithmetic leaves the range of its type. Chunks are separated by blank lines, each defines one name; a
// file carries those it uses.

#include <stdbool.h>
#include <stdint.h>

static inline bool add_overflows_i32(int a, int b) {
    int sum;
    return __builtin_add_overflow(a, b, &sum);
}

static inline bool sub_overflows_i32(int a, int b) {
    int difference;
    return __builtin_sub_overflow(a, b, &difference);
}

static inline bool mul_overflows_i32(int a, int b) {
    int product;
    return __builtin_mul_overflow(a, b, &product);
}

static inline bool shl_overflows_i32(int a, int count) {
    return count < 0 || count >= 32 || (a << count) >> count != a;
}

static inline bool pow_overflows_i32(int base, int exponent) {
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

static inline bool add_overflows_u32(uint32_t a, uint32_t b) {
    uint32_t sum;
    return __builtin_add_overflow(a, b, &sum);
}

static inline bool sub_overflows_u32(uint32_t a, uint32_t b) {
    uint32_t difference;
    return __builtin_sub_overflow(a, b, &difference);
}

static inline bool mul_overflows_u32(uint32_t a, uint32_t b) {
    uint32_t product;
    return __builtin_mul_overflow(a, b, &product);
}

static inline bool shl_overflows_u32(uint32_t a, uint32_t count) {
    return count >= 32 || (a << count) >> count != a;
}

static inline bool pow_overflows_u32(uint32_t base, uint32_t exponent) {
    uint32_t result = 1;
    while (exponent > 0) {
        if ((exponent & 1) != 0) {
            if (mul_overflows_u32(result, base)) {
                return true;
            }
            result *= base;
        }
        exponent >>= 1;
        if (exponent > 0 && mul_overflows_u32(base, base)) {
            return true;
        }
        base *= base;
    }
    return false;
}

static inline bool add_overflows_i64(int64_t a, int64_t b) {
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum);
}

static inline bool sub_overflows_i64(int64_t a, int64_t b) {
    int64_t difference;
    return __builtin_sub_overflow(a, b, &difference);
}

static inline bool mul_overflows_i64(int64_t a, int64_t b) {
    int64_t product;
    return __builtin_mul_overflow(a, b, &product);
}

static inline bool shl_overflows_i64(int64_t a, int64_t count) {
    return count < 0 || count >= 64 || (a << count) >> count != a;
}

static inline bool pow_overflows_i64(int64_t base, int64_t exponent) {
    int64_t result = 1;
    while (exponent > 0) {
        if ((exponent & 1) != 0) {
            if (mul_overflows_i64(result, base)) {
                return true;
            }
            result *= base;
        }
        exponent >>= 1;
        if (exponent > 0 && mul_overflows_i64(base, base)) {
            return true;
        }
        base *= base;
    }
    return false;
}

static inline bool add_overflows_u64(uint64_t a, uint64_t b) {
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum);
}

static inline bool sub_overflows_u64(uint64_t a, uint64_t b) {
    uint64_t difference;
    return __builtin_sub_overflow(a, b, &difference);
}

static inline bool mul_overflows_u64(uint64_t a, uint64_t b) {
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product);
}

static inline bool shl_overflows_u64(uint64_t a, uint64_t count) {
    return count >= 64 || (a << count) >> count != a;
}

static inline bool pow_overflows_u64(uint64_t base, uint64_t exponent) {
    uint64_t result = 1;
    while (exponent > 0) {
        if ((exponent & 1) != 0) {
            if (mul_overflows_u64(result, base)) {
                return true;
            }
            result *= base;
        }
        exponent >>= 1;
        if (exponent > 0 && mul_overflows_u64(base, base)) {
            return true;
        }
        base *= base;
    }
    return false;
}

static inline bool add_overflows_i8(int8_t a, int8_t b) {
    int8_t sum;
    return __builtin_add_overflow(a, b, &sum);
}

static inline bool sub_overflows_i8(int8_t a, int8_t b) {
    int8_t difference;
    return __builtin_sub_overflow(a, b, &difference);
}

static inline bool mul_overflows_i8(int8_t a, int8_t b) {
    int8_t product;
    return __builtin_mul_overflow(a, b, &product);
}

static inline bool add_overflows_u8(uint8_t a, uint8_t b) {
    uint8_t sum;
    return __builtin_add_overflow(a, b, &sum);
}

static inline bool sub_overflows_u8(uint8_t a, uint8_t b) {
    uint8_t difference;
    return __builtin_sub_overflow(a, b, &difference);
}

static inline bool mul_overflows_u8(uint8_t a, uint8_t b) {
    uint8_t product;
    return __builtin_mul_overflow(a, b, &product);
}

static inline bool add_overflows_i16(int16_t a, int16_t b) {
    int16_t sum;
    return __builtin_add_overflow(a, b, &sum);
}

static inline bool sub_overflows_i16(int16_t a, int16_t b) {
    int16_t difference;
    return __builtin_sub_overflow(a, b, &difference);
}

static inline bool mul_overflows_i16(int16_t a, int16_t b) {
    int16_t product;
    return __builtin_mul_overflow(a, b, &product);
}

static inline bool add_overflows_u16(uint16_t a, uint16_t b) {
    uint16_t sum;
    return __builtin_add_overflow(a, b, &sum);
}

static inline bool sub_overflows_u16(uint16_t a, uint16_t b) {
    uint16_t difference;
    return __builtin_sub_overflow(a, b, &difference);
}

static inline bool mul_overflows_u16(uint16_t a, uint16_t b) {
    uint16_t product;
    return __builtin_mul_overflow(a, b, &product);
}
