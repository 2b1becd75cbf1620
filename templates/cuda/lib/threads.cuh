// What the lanes of a warp ask one another and CUDA has no function for. `lanes`: those that take part, which must all
// come here. Chunks are separated by blank lines, each defines one name.

// Whether this is the lowest of the lanes.
__device__ inline bool elect(unsigned lanes) {
    return threadIdx.x % 32 == __ffs(lanes) - 1;
}

// The lanes if all have one value, else 0.
__device__ inline unsigned match_all(unsigned lanes, int value) {
    int is_equal;
    return __match_all_sync(lanes, value, &is_equal);
}
