// Whether integer arithmetic leaves the range of its type. Chunks are separated by blank lines,
// each defines one name; a source includes those it uses.

#include "dialect.h"

// types: i32, i64, u32, u64, i8, u8, i16, u16
static inline bool add_overflows_i32(int a, int b) {
    int sum;
    return __builtin_add_overflow(a, b, &sum);
}

// types: i32, i64, u32, u64, i8, u8, i16, u16
static inline bool sub_overflows_i32(int a, int b) {
    int difference;
    return __builtin_sub_overflow(a, b, &difference);
}

// types: i32, i64, u32, u64, i8, u8, i16, u16
static inline bool mul_overflows_i32(int a, int b) {
    int product;
    return __builtin_mul_overflow(a, b, &product);
}

#include "../../c_family/lib/overflow.h"
