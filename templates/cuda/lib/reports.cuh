// Records of print and assert, read by the host: words[0] counts the words asked for, words[1] is the room for records,
// then come records: site, thread, number of words, words. Records that find no room are dropped, but counted.
// Use: `uint cursor = report_start(report, site, thread, 2u); cursor = report_f32(report, cursor, x); ...`; 64 bit numbers
// take 2 words, the low one first. Chunks are separated by blank lines, each defines one name.

#include "types.cuh"

// Begin a record of `size` words; gives where its first word goes, or 0 if there is no room.
__device__ inline uint32_t report_start(uint32_t *report, uint32_t site, uint32_t thread, uint32_t size) {
    uint32_t start = atomicAdd(&report[0], 3u + size);
    if (start > report[1] || report[1] - start < 3u + size) {
        return 0u;
    }
    report[start + 2u] = site;
    report[start + 3u] = thread;
    report[start + 4u] = size;
    return start + 5u;
}

// Write one word; gives where the next one goes.
__device__ inline uint32_t report_u32(uint32_t *report, uint32_t cursor, uint32_t value) {
    if (cursor == 0u) {
        return 0u;
    }
    report[cursor] = value;
    return cursor + 1u;
}

__device__ inline uint32_t report_i32(uint32_t *report, uint32_t cursor, int value) {
    return report_u32(report, cursor, (uint32_t)value);
}

__device__ inline uint32_t report_f32(uint32_t *report, uint32_t cursor, float value) {
    return report_u32(report, cursor, __float_as_uint(value));
}

__device__ inline uint32_t report_u64(uint32_t *report, uint32_t cursor, uint64_t value) {
    return report_u32(report, report_u32(report, cursor, (uint32_t)value), (uint32_t)(value >> 32));
}

__device__ inline uint32_t report_f64(uint32_t *report, uint32_t cursor, double value) {
    return report_u64(report, cursor, (uint64_t)__double_as_longlong(value));
}

__device__ inline uint32_t report_i64(uint32_t *report, uint32_t cursor, int64_t value) {
    return report_u64(report, cursor, (uint64_t)value);
}
