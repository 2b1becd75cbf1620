// Collective operations of a warp that CUDA lacks. `lanes`: the lanes that take part, all of which
// must make the call. Chunks are separated by blank lines, each defines one name.

// Whether this is the lowest of the lanes.
__device__ inline bool elect(unsigned lanes) {
    return threadIdx.x % 32 == __ffs(lanes) - 1;
}

// `lanes` if all of them have the same value, else 0.
__device__ inline unsigned match_all(unsigned lanes, int value) {
    int is_equal;
    return __match_all_sync(lanes, value, &is_equal);
}
