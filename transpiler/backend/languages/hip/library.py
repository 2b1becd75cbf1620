"""Helpers of HIP that replace CUDA's: half precision, and collectives of 32 lanes of a wavefront.

A wavefront has 32 or 64 lanes, a subgroup has 32: a wavefront of 64 has two, each with its half of the bits. HIP's
functions with a mask (`__shfl_sync`) came with ROCm 6.2; these need no mask, since the participating lanes call them
together. Chunks have the form of `templates/*/lib`.
"""

CHUNKS = r"""
// A 16 bit float that computes as float.
struct half {
    uint16_t bits;
    half() = default;
    __device__ half(float x) {
        _Float16 value = (_Float16)x;
        memcpy(&bits, &value, sizeof bits);
    }
    __device__ operator float() const {
        _Float16 value;
        memcpy(&value, &bits, sizeof bits);
        return (float)value;
    }
    __device__ half &operator+=(float x) { return *this = half(*this + x); }
};

// One bit for each of the 32 lanes: its value.
__device__ inline unsigned ballot_of_subgroup(bool value) {
    return (unsigned)(__ballot(value) >> (__lane_id() & 32));
}

__device__ inline unsigned ballot_lanes(unsigned lanes, bool value) {
    return ballot_of_subgroup(value) & lanes;
}

// The currently active lanes.
__device__ inline unsigned active_lanes() {
    return ballot_of_subgroup(true);
}

__device__ inline bool all_lanes(unsigned lanes, bool value) {
    return ballot_lanes(lanes, !value) == 0;
}

__device__ inline bool any_lanes(unsigned lanes, bool value) {
    return ballot_lanes(lanes, value) != 0;
}

// Whether the value is the same in all of `lanes`.
__device__ inline bool uniform_lanes(unsigned lanes, bool value) {
    return all_lanes(lanes, value) || !any_lanes(lanes, value);
}

template <typename T> __device__ inline T shuffle_lanes(unsigned, T value, int lane) {
    return __shfl(value, lane, 32);
}

template <typename T> __device__ inline T shuffle_lanes_xor(unsigned, T value, int bits) {
    return __shfl_xor(value, bits, 32);
}

template <typename T> __device__ inline T shuffle_lanes_up(unsigned, T value, int offset) {
    return __shfl_up(value, offset, 32);
}

template <typename T> __device__ inline T shuffle_lanes_down(unsigned, T value, int offset) {
    return __shfl_down(value, offset, 32);
}

// The lanes whose value equals that of this lane.
template <typename T> __device__ inline unsigned match_any_lanes(unsigned lanes, T value) {
    unsigned matches = 0;
    for (unsigned rest = lanes; rest != 0; rest &= rest - 1) {
        int lane = __ffs(rest) - 1;
        matches |= shuffle_lanes(lanes, value, lane) == value ? 1u << lane : 0u;
    }
    return matches;
}

// `lanes` if all of them have the same value, else 0.
__device__ inline unsigned match_all(unsigned lanes, int value) {
    return all_lanes(lanes, shuffle_lanes(lanes, value, __ffs(lanes) - 1) == value) ? lanes : 0u;
}

// Make the writes of the lanes of a wavefront visible to one another; the lanes run in lockstep.
__device__ inline void synchronize_lanes(unsigned) {
    __threadfence_block();
    __builtin_amdgcn_wave_barrier();
}
"""
