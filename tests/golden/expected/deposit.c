// shadesmith 0.1.0, c 36aea4f6, deposit.py:10: deposit(x: ndarray[f32, 2], m: f32)
#include <stdbool.h>
#include <stdint.h>

enum { flow_n0 = 256 };  // shape of flow

static inline int f32_bits_to_i32(float x) {
    union { float number; int bits; } both = {x};
    return both.bits;
}

static inline float i32_bits_to_f32(int x) {
    union { int bits; float number; } both = {x};
    return both.number;
}

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

typedef struct { float x, y; } vec2;
typedef struct { float x, y, z; } vec3;

static inline vec2 vec2_add(vec2 a, vec2 b) { return (vec2){a.x + b.x, a.y + b.y}; }

static inline float atomic_add_f32(float *address, float value) {
    float old, new;
    const int relaxed = __ATOMIC_RELAXED;
    int *word = (int *)address, bits = __atomic_load_n(word, relaxed);
    do {
        old = i32_bits_to_f32(bits);
        new = old + value;
    } while (!__atomic_compare_exchange_n(word, &bits, f32_bits_to_i32(new), true, relaxed,
        relaxed));
    return old;
}

typedef struct {
    vec3 momentum;
    float mass;
} Cell;
_Static_assert(sizeof(Cell) == 16, "must match the cell size on the host");

struct Temporaries {
    float flow_copies[540672];  // f32
};

struct Args {
    const float *restrict x_data;     // x: ndarray[f32, 2]
    Cell *restrict cells;             // momentum: field[f32[3], 16x8], mass: field[f32, 16x8]
    vec2 *restrict flow_data;         // flow: field[f32[2], 256]
    struct Temporaries *temporaries;  // values that cross tasks
    float m;                          // m: f32
    int x_n0;                         // x.shape[0]
    int x_n1;                         // x.shape[1]
};

#define x(i, j) args.x_data[(long long)(i) * args.x_n1 + (j)]
#define momentum(i, j) args.cells[(long long)(i) * 8 + (j)].momentum
#define mass(i, j) args.cells[(long long)(i) * 8 + (j)].mass
#define flow(i) args.flow_data[i]

// deposit.py:11  for p in range(x.shape[0]):
static inline void task(const struct Args args, int p) {
    int i = (int)x(p, 0), j = (int)x(p, 1);  // :12
    // deposit.py:14  momentum[i, j] += m * v
    atomic_add_f32(&momentum(i, j).x, args.m * x(p, 2));
    atomic_add_f32(&momentum(i, j).y, args.m * x(p, 3));
    atomic_add_f32(&momentum(i, j).z, args.m * -args.m);
    // deposit.py:15  mass[i, j] += m
    atomic_add_f32(&mass(i, j), args.m);
    // deposit.py:16  flow[i] += v.xy
    // not atomic: each thread has a copy (private_sums)
    flow(i) = vec2_add(flow(i), (vec2){x(p, 2), x(p, 3)});
}

void deposit_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    // Each thread adds to copies of its own, since atomic additions take longer.
    #pragma omp parallel firstprivate(args) num_threads(threads_up_to(32)) if (args.x_n0 >= 8192)
    {
        struct Args own = args;
        own.flow_data = start_sums_f32(args.temporaries->flow_copies, flow_n0 * 2);
        #pragma omp for schedule(static)
        for (int p = 0; p < args.x_n0; p++) {
            task(own, p);
        }
        join_sums_f32(args.flow_data, args.temporaries->flow_copies, flow_n0 * 2);
    }
}
