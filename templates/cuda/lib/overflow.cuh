// Whether integer arithmetic leaves the range of its type. Chunks are separated by blank lines, each defines one name; a
// file carries those it uses.

#include "types.cuh"

__device__ inline bool add_overflows_i32(int a, int b) {
    int sum = (int)((uint32_t)a + (uint32_t)b);
    return ((a ^ sum) & (b ^ sum)) < 0;
}

__device__ inline bool sub_overflows_i32(int a, int b) {
    int difference = (int)((uint32_t)a - (uint32_t)b);
    return ((a ^ b) & (a ^ difference)) < 0;
}

__device__ inline bool mul_overflows_i32(int a, int b) {
    if (a == -1) {
        return b == -2147483647 - 1;
    }
    return a != 0 && (int)((uint32_t)a * (uint32_t)b) / a != b;
}

__device__ inline bool shl_overflows_i32(int a, int count) {
    return count < 0 || count >= 32 || (int)((uint32_t)a << count) >> count != a;
}

__device__ inline bool pow_overflows_i32(int base, int exponent) {
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

__device__ inline bool add_overflows_u32(uint32_t a, uint32_t b) {
    return a + b < a;
}

__device__ inline bool sub_overflows_u32(uint32_t a, uint32_t b) {
    return a < b;
}

__device__ inline bool mul_overflows_u32(uint32_t a, uint32_t b) {
    return a != 0 && (a * b) / a != b;
}

__device__ inline bool shl_overflows_u32(uint32_t a, uint32_t count) {
    return count >= 32 || (a << count) >> count != a;
}

__device__ inline bool pow_overflows_u32(uint32_t base, uint32_t exponent) {
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

__device__ inline bool add_overflows_i64(int64_t a, int64_t b) {
    int64_t sum = (int64_t)((uint64_t)a + (uint64_t)b);
    return ((a ^ sum) & (b ^ sum)) < 0;
}

__device__ inline bool sub_overflows_i64(int64_t a, int64_t b) {
    int64_t difference = (int64_t)((uint64_t)a - (uint64_t)b);
    return ((a ^ b) & (a ^ difference)) < 0;
}

__device__ inline bool mul_overflows_i64(int64_t a, int64_t b) {
    if (a == -1) {
        return b == -9223372036854775807ll - 1;
    }
    return a != 0 && (int64_t)((uint64_t)a * (uint64_t)b) / a != b;
}

__device__ inline bool shl_overflows_i64(int64_t a, int64_t count) {
    return count < 0 || count >= 64 || (int64_t)((uint64_t)a << count) >> count != a;
}

__device__ inline bool pow_overflows_i64(int64_t base, int64_t exponent) {
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

__device__ inline bool add_overflows_u64(uint64_t a, uint64_t b) {
    return a + b < a;
}

__device__ inline bool sub_overflows_u64(uint64_t a, uint64_t b) {
    return a < b;
}

__device__ inline bool mul_overflows_u64(uint64_t a, uint64_t b) {
    return a != 0 && (a * b) / a != b;
}

__device__ inline bool shl_overflows_u64(uint64_t a, uint64_t count) {
    return count >= 64 || (a << count) >> count != a;
}

__device__ inline bool pow_overflows_u64(uint64_t base, uint64_t exponent) {
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

__device__ inline bool add_overflows_i8(int8_t a, int8_t b) {
    int sum = a + b;
    return sum < -128 || sum > 127;
}

__device__ inline bool sub_overflows_i8(int8_t a, int8_t b) {
    int difference = a - b;
    return difference < -128 || difference > 127;
}

__device__ inline bool mul_overflows_i8(int8_t a, int8_t b) {
    int product = a * b;
    return product < -128 || product > 127;
}

__device__ inline bool add_overflows_u8(uint8_t a, uint8_t b) {
    return a + b > 255;
}

__device__ inline bool sub_overflows_u8(uint8_t a, uint8_t b) {
    return a < b;
}

__device__ inline bool mul_overflows_u8(uint8_t a, uint8_t b) {
    return (uint32_t)a * b > 255u;
}

__device__ inline bool add_overflows_i16(int16_t a, int16_t b) {
    int sum = a + b;
    return sum < -32768 || sum > 32767;
}

__device__ inline bool sub_overflows_i16(int16_t a, int16_t b) {
    int difference = a - b;
    return difference < -32768 || difference > 32767;
}

__device__ inline bool mul_overflows_i16(int16_t a, int16_t b) {
    int product = a * b;
    return product < -32768 || product > 32767;
}

__device__ inline bool add_overflows_u16(uint16_t a, uint16_t b) {
    return a + b > 65535;
}

__device__ inline bool sub_overflows_u16(uint16_t a, uint16_t b) {
    return a < b;
}

__device__ inline bool mul_overflows_u16(uint16_t a, uint16_t b) {
    return (uint32_t)a * b > 65535u;
}
