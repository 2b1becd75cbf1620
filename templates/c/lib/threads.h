// Votes of the threads of a block. vote: one element for each thread. Chunks are separated by blank
// lines, each defines one name.

#include <stdbool.h>
#include <stdint.h>
#include "dialect.h"
#include "numbers.h"

// A loop that computes a sum is cut into at most so many parts.
#define PARTS 128

// The first iteration of one of the PARTS parts of a loop.
static inline int part_begin(int count, int part) {
    return count > 0 ? (int)((int64_t)count * part / PARTS) : 0;
}

// The first iteration after it.
static inline int part_end(int count, int part) {
    return part_begin(count, part + 1);
}

// The number of parts of a loop with short iterations: a part has at least some hundred.
static inline int part_count(int count) {
    return count < 512 * PARTS ? count / 512 + 1 : PARTS;
}

// The first iteration of one of these parts, a multiple of 64: vectors are whole and aligned.
static inline int aligned_begin(int count, int part) {
    return (int)((int64_t)count * part / part_count(count)) / 64 * 64;
}

// The first iteration after it.
static inline int aligned_end(int count, int part) {
    return part + 1 < part_count(count) ? aligned_begin(count, part + 1) : count;
}

// A sum of floats adds so many iterations in f32, and the sums of such runs in f64.
#define RUN 2048

// The first iteration after a run of at most RUN.
static inline int run_end(int run, int end) {
    return (int64_t)end - run < RUN ? end : run + RUN;
}

// The first iteration after a run of `lanes` that starts at `first`, of a loop that ends at `end`.
static inline int lanes_end(int first, int end, int lanes) {
    return (int64_t)end - first < lanes ? end : first + lanes;
}

// Tells gcc what holds. It does not know the range of an index that threads share, and makes no
// vectors of what is at sums and products of it, which might wrap.
#define ASSUME(condition) if (!(condition)) __builtin_unreachable()

// Vectors of 16 bytes, for sums of elements at indices that are loaded: gcc would gather them into
// wider vectors, which takes longer.
#define SHORT_VECTORS
#if defined(__x86_64__) && __GNUC__ >= 8 && !defined(__clang__)
#undef SHORT_VECTORS
#define SHORT_VECTORS __attribute__((target("prefer-vector-width=128")))
#endif

// Bounds of numbers stay selections: gcc 12 would make jumps of them, and copy what follows for a
// number that is its bound.
#define STRAIGHT
#if defined(__GNUC__) && !defined(__clang__)
#undef STRAIGHT
#define STRAIGHT __attribute__((optimize("no-thread-jumps", "no-tree-pre")))
#endif

// The number of threads for a loop in which each thread has copies of arrays.
static inline int threads_up_to(int most) {
#ifdef _OPENMP
    extern int omp_get_max_threads(void);
    return omp_get_max_threads() < most ? omp_get_max_threads() : most;
#else
    return most < 1 ? most : 1;
#endif
}

static inline int thread_number(void) {
#ifdef _OPENMP
    extern int omp_get_thread_num(void);
    return omp_get_thread_num();
#else
    return 0;
#endif
}

static inline int thread_count(void) {
#ifdef _OPENMP
    extern int omp_get_num_threads(void);
    return omp_get_num_threads();
#else
    return 1;
#endif
}

// Numbers between the copies of an array: an index that misses by a row reaches no other copy.
#define PADDING 16384

// Whether two arrays share no memory.
static inline bool are_apart(const void *a, const void *a_end, const void *b, const void *b_end) {
    return a_end <= b || b_end <= a;
}

// How many threads add to copies of arrays that have `count` numbers, if the copies of each array
// have up to `capacity`; 0 if all threads add to the arrays themselves, since copies take longer.
static inline int threads_with_copies(
    long long additions, long long count, long long capacity, int most_threads
) {
    const long long fit = capacity / (count + PADDING), worth = 2 * additions / (count + 1);
    const long long threads = fit < worth ? fit : worth;
    const int most = threads_up_to(most_threads);
    if (additions < 8192 || (threads < 4 && (threads < most || most == 1))) {
        return 0;
    }
    return threads < most ? (int)threads : most;
}

// types: f32, f64
// The copy of an array that the calling thread adds to. It starts at -0.0, which changes no number.
static inline void *start_sums_f32(void *copies, long long count) {
    float *sums = (float *)copies + thread_number() * (count + PADDING);
    for (long long k = 0; k < count; k++) {
        sums[k] = -0.0f;
    }
    return sums;
}

// types: i32, u32, i64, u64
// The copy of an array that the calling thread adds to.
static inline void *start_sums_i32(void *copies, long long count) {
    int *sums = (int *)copies + thread_number() * (count + PADDING);
    for (long long k = 0; k < count; k++) {
        sums[k] = 0;
    }
    return sums;
}

// So many elements of an array are skipped at once if no thread has added to them.
#define SKIPPED 16

// types: f32, f64
// Adds the copies of all threads to the array, which other launches may change at the same time.
static inline void join_sums_f32(void *array, const void *copies, long long count) {
    const uint32_t nothing = f32_bits_to_u32(-0.0f);  // compilers need not tell it from 0
    const long long threads = thread_count();
    #pragma omp for schedule(static) nowait
    for (long long first = 0; first < count; first += SKIPPED) {
        float *to = (float *)array + first, sums[SKIPPED];
        for (int k = 0; k < SKIPPED; k++) {
            sums[k] = -0.0f;
        }
        for (long long thread = 0; thread < threads; thread++) {
            const float *from = (const float *)copies + thread * (count + PADDING) + first;
            for (int k = 0; k < SKIPPED; k++) {
                sums[k] += from[k];
            }
        }
        bool is_changed = false;
        for (int k = 0; k < SKIPPED; k++) {
            is_changed |= f32_bits_to_u32(sums[k]) != nothing;
        }
        for (int k = 0; is_changed && k < SKIPPED && first + k < count; k++) {
            if (f32_bits_to_u32(sums[k]) != nothing) {
                #pragma omp atomic
                to[k] += sums[k];
            }
        }
    }
}

// types: i32, u32, i64, u64
// Adds the copies of all threads to the array, which other launches may change at the same time.
static inline void join_sums_i32(void *array, const void *copies, long long count) {
    const long long threads = thread_count();
    #pragma omp for schedule(static) nowait
    for (long long first = 0; first < count; first += SKIPPED) {
        int *to = (int *)array + first, sums[SKIPPED] = {0};
        for (long long thread = 0; thread < threads; thread++) {
            const int *from = (const int *)copies + thread * (count + PADDING) + first;
            for (long long k = 0; k < SKIPPED; k++) {
                sums[k] += from[k];
            }
        }
        bool is_changed = false;
        for (long long k = 0; k < SKIPPED; k++) {
            is_changed |= sums[k] != 0;
        }
        for (long long k = 0; is_changed && k < SKIPPED && first + k < count; k++) {
            if (sums[k] != 0) {
                #pragma omp atomic
                to[k] += sums[k];
            }
        }
    }
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
