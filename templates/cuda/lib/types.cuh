// Types that NVRTC lacks without headers. Chunks are separated by blank lines, each defines one
// name; a source includes those it uses.

typedef signed char int8_t;

typedef unsigned char uint8_t;

typedef short int16_t;

typedef unsigned short uint16_t;

typedef unsigned int uint32_t;

typedef long long int64_t;

typedef unsigned long long uint64_t;

// Of libdevice, which NVRTC links; asm would keep it from loading several neighbours at once.
extern "C" __device__ uint16_t __nv_float2half_rn(float x);

// Of libdevice, too.
extern "C" __device__ float __nv_half2float(uint16_t bits);

// A 16 bit float that computes as float; cuda_fp16.h would cost 100 ms a compile.
struct half {
    uint16_t bits;
    half() = default;
    __device__ half(float x) { bits = __nv_float2half_rn(x); }
    __device__ operator float() const { return __nv_half2float(bits); }
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
