// The names in capitals that the files of templates/c_family/lib use, in CUDA C. The emitter
// expands them.

#include "types.cuh"

#define FUNCTION __device__ inline
#define IN_OUT(name) &name
#define DIVIDE(a, b) __fdiv_rn(a, b)
#define HALF half
#define TO_HALF(x) half(x)
#define FLOAT_BITS(x) __float_as_uint(x)
#define DOUBLE_BITS(x) (uint64_t)__double_as_longlong(x)
#define LOAD(x) x
#define LOAD_VOLATILE(x) *(volatile uint32_t *)&x
#define LOAD_CONST_VOLATILE(x) *(const volatile uint32_t *)&x
#define ATOMIC_ADD(address, value) atomicAdd(address, value)
#define ATOMIC_SUB(address, value) atomicSub(address, value)
#define ATOMIC_AND(address, value) atomicAnd(address, value)
#define ATOMIC_OR(address, value) atomicOr(address, value)
#define ATOMIC_MIN(address, value) atomicMin(address, value)
#define COMPARE_AND_SWAP(address, old, value) atomicCAS(address, old, value)
