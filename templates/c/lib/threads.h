// Votes of the threads of a block. vote: one element for each thread. Chunks are separated by blank
// lines, each defines one name.

#include <stdbool.h>
#include <stdint.h>

// A loop that computes a sum is cut into so many parts.
#define PARTS 128

// The first iteration of one of the PARTS parts of a loop.
static inline int part_begin(int count, int part) {
    return count > 0 ? (int)((int64_t)count * part / PARTS) : 0;
}

// How many threads vote true.
static inline int block_count(int threads, const bool *vote) {
    int count = 0;
    for (int thread = 0; thread < threads; thread++) {
        count += vote[thread];
    }
    return count;
}

static inline bool block_all(int threads, const bool *vote) {
    return block_count(threads, vote) == threads;
}

static inline bool block_any(int threads, const bool *vote) {
    return block_count(threads, vote) > 0;
}
