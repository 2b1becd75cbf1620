// What threads of a warp or block do together and CUDA lacks. `lanes`: the lanes that take part, all
// of which must make the call. Chunks are separated by blank lines, each defines one name.

// Whether this is the lowest of the lanes.
__device__ inline bool elect(unsigned lanes) {
    return threadIdx.x % 32 == __ffs(lanes) - 1;
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

// Adds to 2 neighbouring floats, each atomically; from sm_90 on by one instruction, for which
// `address` is a multiple of 8 bytes.
__device__ inline void atomic_add_f32x2(float *address, float a, float b) {
#if __CUDA_ARCH__ >= 900
    atomicAdd((float2 *)address, make_float2(a, b));
#else
    atomicAdd(&address[0], a);
    atomicAdd(&address[1], b);
#endif
}

// Adds to 4 neighbouring floats, each atomically; from sm_90 on by one instruction, for which
// `address` is a multiple of 16 bytes.
__device__ inline void atomic_add_f32x4(float *address, float a, float b, float c, float d) {
#if __CUDA_ARCH__ >= 900
    atomicAdd((float4 *)address, make_float4(a, b, c, d));
#else
    atomicAdd(&address[0], a);
    atomicAdd(&address[1], b);
    atomicAdd(&address[2], c);
    atomicAdd(&address[3], d);
#endif
}

// `lanes` if all of them have the same value, else 0.
__device__ inline unsigned match_all(unsigned lanes, int value) {
    int is_equal;
    return __match_all_sync(lanes, value, &is_equal);
}
