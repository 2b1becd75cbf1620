// shadesmith 0.1.0, c b59b0702, gather_mass.py:12: gather_mass(m: f32)
#include <stdbool.h>
#include <stdint.h>

enum { mass_n0 = 64 };  // shape of mass
enum { count_n0 = 64, count_n1 = 2 };  // shape of count
enum { n = 64 };  // captured

static inline uint32_t f32_bits_to_u32(float x) {
    union { float number; uint32_t bits; } both = {x};
    return both.bits;
}

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

// The copy of an array that the calling thread adds to. It starts at -0.0, which changes no number.
static inline void *start_sums_f32(void *copies, long long count) {
    float *sums = (float *)copies + thread_number() * (count + PADDING);
    for (long long k = 0; k < count; k++) {
        sums[k] = -0.0f;
    }
    return sums;
}

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
    float mass_copies[526336];  // f32
    int count_copies[528384];   // i32
};

struct Args {
    const float *restrict x_data;     // x: field[f32, 20000]
    float *restrict mass_data;        // mass: field[f32, 64]
    int *restrict count_data;         // count: field[i32, 64x2]
    struct Temporaries *temporaries;  // values that cross tasks
    float m;                          // m: f32
};

#define x(i) args.x_data[i]
#define mass(i) args.mass_data[i]
#define count(i, j) args.count_data[(long long)(i) * count_n1 + (j)]

// gather_mass.py:13  for p in range(20_000):
static inline void task(const struct Args args, int p) {
    int cell = (int)(x(p) * n);  // :14
    mass(cell) += args.m;  // :15, not atomic: each thread has a copy (private_sums)
    // gather_mass.py:16  count[cell, p % 2] += 1
    count(cell, p & 1) += 1;  // not atomic: each thread has a copy (private_sums)
}

void gather_mass_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    // Each thread adds to copies of its own, since atomic additions take longer.
    #pragma omp parallel firstprivate(args) num_threads(threads_up_to(32))
    {
        struct Args own = args;
        own.mass_data = start_sums_f32(args.temporaries->mass_copies, mass_n0);
        own.count_data = start_sums_i32(args.temporaries->count_copies, count_n0 * count_n1);
        #pragma omp for schedule(static)
        for (int p = 0; p < 20000; p++) {
            task(own, p);
        }
        join_sums_f32(args.mass_data, args.temporaries->mass_copies, mass_n0);
        join_sums_i32(args.count_data, args.temporaries->count_copies, count_n0 * count_n1);
    }
}
