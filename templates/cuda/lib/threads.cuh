// What threads of a warp or block do together and CUDA lacks. `lanes`: the lanes that take part,
// all of which must make the call. Chunks are separated by blank lines, each defines one name.

// Whether this is the lowest of the lanes.
__device__ inline bool elect(unsigned lanes) {
    return threadIdx.x % 32 == __ffs(lanes) - 1;
}

// The value, which NVRTC does not know: so threads that left a loop in different iterations go on
// together.
__device__ inline bool rejoined(bool value) {
    int hidden = value;
    asm("" : "+r"(hidden));
    return hidden != 0;
}

// Whether all other blocks have stored their results, which this one then sees. All threads of a
// block call it.
__device__ inline bool is_last_block(unsigned *done, unsigned blocks) {
    __shared__ bool is_last;
    if (threadIdx.x == 0) {
        __threadfence();
        is_last = atomicInc(done, blocks - 1) == blocks - 1;  // which sets the count back to 0
    }
    __syncthreads();
    __threadfence();
    return is_last;
}

// Fields start at multiples of 16 bytes. With that NVRTC loads neighbours, or parts of an element,
// at once.
template <class Number> __device__ inline Number *aligned(Number *data) {
    return (Number *)__builtin_assume_aligned(data, 16);
}

// Adds to 2 floats, each atomically; from sm_90 on by one instruction, for which `address` is a
// multiple of 8 bytes.
template <class Vector> __device__ inline void atomic_add_float2(Vector *address, Vector value) {
#if __CUDA_ARCH__ >= 900
    atomicAdd((float2 *)address, make_float2(value.x, value.y));
#else
    atomicAdd(&address->x, value.x);
    atomicAdd(&address->y, value.y);
#endif
}

// Adds to 3 floats, each atomically; from sm_90 on by two instructions, since the first two or the
// last two are at a multiple of 8 bytes.
template <class Vector> __device__ inline void atomic_add_float3(Vector *address, Vector value) {
#if __CUDA_ARCH__ >= 900
    bool is_xy = (size_t)address % 8 == 0;  // the pair
    atomicAdd((float2 *)(is_xy ? &address->x : &address->y),
        is_xy ? make_float2(value.x, value.y) : make_float2(value.y, value.z));
    atomicAdd(is_xy ? &address->z : &address->x, is_xy ? value.z : value.x);
#else
    atomicAdd(&address->x, value.x);
    atomicAdd(&address->y, value.y);
    atomicAdd(&address->z, value.z);
#endif
}

// Adds to 4 floats, each atomically; from sm_90 on by one instruction, for which `address` is a
// multiple of 16 bytes.
template <class Vector> __device__ inline void atomic_add_float4(Vector *address, Vector value) {
#if __CUDA_ARCH__ >= 900
    atomicAdd((float4 *)address, make_float4(value.x, value.y, value.z, value.w));
#else
    atomicAdd(&address->x, value.x);
    atomicAdd(&address->y, value.y);
    atomicAdd(&address->z, value.z);
    atomicAdd(&address->w, value.w);
#endif
}

// `lanes` if all of them have the same value, else 0.
__device__ inline unsigned match_all(unsigned lanes, int value) {
    int is_equal;
    return __match_all_sync(lanes, value, &is_equal);
}
