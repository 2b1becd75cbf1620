// Whether integer arithmetic leaves the range of its type. Chunks are separated by blank lines,
// each defines one name; a source includes those it uses.

#include "dialect.cuh"

// types: i8, u8, i16, u16
__device__ inline bool add_overflows_i8(int8_t a, int8_t b) {
    int sum = a + b;
    return sum != (int8_t)sum;
}

// types: i8, u8, i16, u16
__device__ inline bool sub_overflows_i8(int8_t a, int8_t b) {
    int difference = a - b;
    return difference != (int8_t)difference;
}

// types: i8, u8, i16, u16
__device__ inline bool mul_overflows_i8(int8_t a, int8_t b) {
    int product = (int)((uint32_t)a * (uint32_t)b);
    return product != (int8_t)product;
}

// types: i32, i64
__device__ inline bool add_overflows_i32(int a, int b) {
    int sum = (int)((uint32_t)a + (uint32_t)b);
    return ((a ^ sum) & (b ^ sum)) < 0;
}

// types: i32, i64
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

__device__ inline bool mul_overflows_i64(int64_t a, int64_t b) {
    if (a == -1) {
        return b == -9223372036854775807ll - 1;
    }
    return a != 0 && (int64_t)((uint64_t)a * (uint64_t)b) / a != b;
}

// types: u32, u64
__device__ inline bool add_overflows_u32(uint32_t a, uint32_t b) {
    return a + b < a;
}

// types: u32, u64
__device__ inline bool sub_overflows_u32(uint32_t a, uint32_t b) {
    return a < b;
}

// types: u32, u64
__device__ inline bool mul_overflows_u32(uint32_t a, uint32_t b) {
    return a != 0 && (a * b) / a != b;
}

#include "../../c_family/lib/overflow.h"
