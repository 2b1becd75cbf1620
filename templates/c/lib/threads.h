// Votes of the threads of a block. vote: one element for each thread. Chunks are separated by blank
// lines, each defines one name.

#include <stdbool.h>

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
