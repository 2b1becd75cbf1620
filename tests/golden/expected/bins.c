// shadesmith 0.1.0, c 4d76073e, bins.py:9: bins_of(low: i32)
#include <stdbool.h>

enum { x_n0 = 1048576 };  // shape of x
enum { bins_n0 = 16, bins_n1 = 4 };  // shape of bins

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

struct Temporaries {
    int bins_copies[526336];  // i32
};

struct Args {
    const int *restrict x_data;       // x: field[i32, 1048576]
    int *restrict bins_data;          // bins: field[i32, 16x4]
    struct Temporaries *temporaries;  // values that cross tasks
    int low;                          // low: i32
};

#define x(i) args.x_data[i]
#define bins(i, j) args.bins_data[(long long)(i) * bins_n1 + (j)]

// bins.py:10  for i in x:
static inline void task(const struct Args args, int i) {
    if (x(i) >= args.low) {  // :11
        // bins.py:12  bins[x[i] >> 4 & 15, x[i] & 3] += 1
        bins((x(i) >> 4) & 15, x(i) & 3) += 1;  // not atomic: each thread has a copy (private_sums)
    }
}

void bins_of_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    // Each thread adds to copies of its own, since atomic additions take longer.
    #pragma omp parallel firstprivate(args) num_threads(threads_up_to(32))
    {
        struct Args own = args;
        own.bins_data = start_sums_i32(args.temporaries->bins_copies, bins_n0 * bins_n1);
        #pragma omp for schedule(static)
        for (int i = 0; i < x_n0; i++) {
            task(own, i);
        }
        join_sums_i32(args.bins_data, args.temporaries->bins_copies, bins_n0 * bins_n1);
    }
}
