// Types that NVRTC lacks without headers. Chunks are separated by blank lines, each defines one
// name; a source includes those it uses.

typedef signed char int8_t;

typedef unsigned char uint8_t;

typedef short int16_t;

typedef unsigned short uint16_t;

typedef unsigned int uint32_t;

typedef long long int64_t;

typedef unsigned long long uint64_t;

// A 16 bit float that computes as float; cuda_fp16.h would cost 100 ms a compile.
struct half {
    uint16_t bits;
    half() = default;
    __device__ half(float x) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x)); }
    __device__ operator float() const {
        float x;
        asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
        return x;
    }
    __device__ half &operator+=(float x) { return *this = half(*this + x); }
};

// By __byte_perm: where one byte of these bits is stored, ptxas 13.0 stores the number instead.
__device__ inline uint16_t bits_of_half(half x) {
    return (uint16_t)__byte_perm(x.bits, 0, 0x5410);
}

__device__ inline half half_from_bits(uint16_t bits) {
    half x;
    x.bits = bits;
    return x;
}
