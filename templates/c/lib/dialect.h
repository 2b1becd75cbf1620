// The names in capitals that the files of templates/c_family/lib use, in C. The emitter expands
// them.

#include <stdbool.h>
#include <stdint.h>

#define FUNCTION static inline
#define IN_OUT(name) *name
#define DIVIDE(a, b) a / b
#define HALF _Float16
#define TO_HALF(x) (_Float16)(x)
#define FLOAT_BITS(x) f32_bits_to_u32(x)
#define DOUBLE_BITS(x) f64_bits_to_u64(x)
#define LOAD(x) __atomic_load_n(&x, __ATOMIC_RELAXED)
#define LOAD_VOLATILE(x) __atomic_load_n(&x, __ATOMIC_RELAXED)
#define LOAD_CONST_VOLATILE(x) __atomic_load_n(&x, __ATOMIC_RELAXED)
#define ATOMIC_ADD(address, value) __atomic_fetch_add(address, value, __ATOMIC_RELAXED)
#define ATOMIC_SUB(address, value) __atomic_fetch_sub(address, value, __ATOMIC_RELAXED)
#define ATOMIC_AND(address, value) __atomic_fetch_and(address, value, __ATOMIC_RELAXED)
#define ATOMIC_OR(address, value) __atomic_fetch_or(address, value, __ATOMIC_RELAXED)
#define ATOMIC_MIN(address, value) report_min(address, value)
#define COMPARE_AND_SWAP(address, old, value) compare_and_swap(address, old, value)
