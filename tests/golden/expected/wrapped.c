// shadesmith 0.1.0, c bc2d1a90, wrapped.py:7: wrapped(a: ndarray[i32, 2], n: i32, m: i32)
#include <stdbool.h>
#include <stdint.h>

// Quotient rounded toward zero; 0 if the divisor is 0.
static inline int div_i32(int a, int b) {
    return b == 0 ? 0 : b == -1 ? -a : a / b;  // x / 0 and the lowest number / -1 trap on x86
}

// Remainder with the sign of the dividend; 0 if the divisor is 0.
static inline int rem_i32(int a, int b) { return b == 0 || b == -1 ? 0 : a % b; }

// Python's //: quotient rounded toward minus infinity; 0 if the divisor is 0.
static inline int floor_div_i32(int a, int b) {
    return div_i32(a, b) - (rem_i32(a, b) != 0 && (a ^ b) < 0);
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

typedef struct { int x, y; } ivec2;

static inline int atomic_add_i32(int *address, int value) {
    return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
}

static inline ivec2 ivec2_floor_div_vs(ivec2 a, int b) {
    return (ivec2){floor_div_i32(a.x, b), floor_div_i32(a.y, b)};
}

static inline void add_to_i32(int *address, int value, bool is_own) {
    if (is_own) {
        *address += value;
    } else {
        atomic_add_i32(address, value);
    }
}

struct Temporaries {
    int a_copies[2097152];  // i32
};

struct Args {
    int *restrict a_data;                 // a: ndarray[i32, 2]
    const uint32_t *restrict table_data;  // table: field[u32, 100]
    struct Temporaries *temporaries;      // values that cross tasks
    int n;                                // n: i32
    int m;                                // m: i32
    int a_n0;                             // a.shape[0]
    int a_n1;                             // a.shape[1]
};

#define a(i, j) args.a_data[(long long)(i) * args.a_n1 + (j)]
#define table(i) args.table_data[i]

// task 0 of 2: range_for over a
// wrapped.py:8  for i, j in a:
static inline void task_0(const struct Args args, int i, int j, bool is_own) {
    // wrapped.py:9  a[(i + 1) % a.shape[0], j // 2 % a.shape[1]] += (i - 1) % 8
    add_to_i32(&a((i + 1) % args.a_n0, (j >> 1) % args.a_n1), (i - 1) & 7, is_own);
}

void wrapped_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    // Threads that add to one array wait for each other, so each adds to copies of its own,
    // unless these are too large.
    int copies = threads_with_copies((long long)args.a_n0 * args.a_n1,
        (long long)args.a_n0 * args.a_n1, 2097152, 32);
    #pragma omp parallel firstprivate(args) \
        num_threads(copies > 0 ? copies : threads_up_to(65536)) \
        if ((long long)args.a_n0 * args.a_n1 >= 8192)
    {
        struct Args own = args;
        if (copies > 0) {
            own.a_data = start_sums_i32(args.temporaries->a_copies,
                (long long)args.a_n0 * args.a_n1);
        }
        #pragma omp for schedule(static)
        for (int i = 0; i < args.a_n0; i++) {
            for (int j = 0; j < args.a_n1; j++) {
                task_0(own, i, j, copies > 0);
            }
        }
        if (copies > 0) {
            join_sums_i32(args.a_data, args.temporaries->a_copies,
                (long long)args.a_n0 * args.a_n1);
        }
    }
}

// task 1 of 2: range_for over k
// wrapped.py:10  for k in range(n):
static inline void task_1(const struct Args args, int k) {
    // wrapped.py:11  tile = ti.Vector([k, n - 1 - k]) // 16
    ivec2 tile = ivec2_floor_div_vs((ivec2){k, args.n - 1 - k}, 16);
    // wrapped.py:12  a[tile.x, k % 16] = table[k % 100] % 10 + (k - m) // 4
    a(tile.x, k & 15) = (int)(table(k % 100) % 10u + (uint32_t)((k - args.m) >> 2));
    if (k > args.m && args.m > 0) {  // :13
        // wrapped.py:14  a[0, 0] += (k - m) // 4 + k % m
        atomic_add_i32(&a(0, 0), ((k - args.m) >> 2) + k % args.m);
    }
}

void wrapped_1(const struct Args *arguments) {
    const struct Args args = *arguments;
    #pragma omp parallel for firstprivate(args) schedule(static) if (args.n >= 8192)
    for (int k = 0; k < args.n; k++) {
        task_1(args, k);
    }
}
