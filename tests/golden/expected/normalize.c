// shadesmith 0.1.0, c 9ffb21fa, normalize.py:4: normalize(a: ndarray[f32, 1])
#include <stdint.h>

// A loop that computes a sum is cut into at most so many parts.
#define PARTS 128

// The number of parts of a loop with short iterations: a part has at least some hundred.
static inline int part_count(int count) { return count < 512 * PARTS ? count / 512 + 1 : PARTS; }

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
static inline int run_end(int run, int end) { return (int64_t)end - run < RUN ? end : run + RUN; }

struct Temporaries {
    float total;  // f32
};

struct Args {
    float *restrict a_data;           // a: ndarray[f32, 1]
    struct Temporaries *temporaries;  // values that cross tasks
    int a_n;                          // a.shape[0]
};

#define a(i) args.a_data[i]

// task 0 of 3: serial
static inline void task_0(const struct Args args) {
    // normalize.py:5  total = 0.0
    args.temporaries->total = 0.0f;
}

void normalize_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    task_0(args);
}

// task 1 of 3: range_for over a
// normalize.py:6  for i in range(a.shape[0]):
static inline void task_1(const struct Args args, int i, float *total_run) {
    // normalize.py:7  total += a[i]
    *total_run += a(i);  // not atomic: joined below (reduce_atomics)
}

void normalize_1(const struct Args *arguments) {
    const struct Args args = *arguments;
    // Parts of the loop, joined in order: the result does not depend on the number of threads.
    double total_of[PARTS];
    #pragma omp parallel for firstprivate(args) schedule(static) if (args.a_n >= 8192)
    for (int part = 0; part < part_count(args.a_n); part++) {
        double total = 0.0;
        int end = aligned_end(args.a_n, part);
        for (int run = aligned_begin(args.a_n, part); run < end; run = run_end(run, end)) {
            float total_run = 0.0f;
            #pragma omp simd reduction(+: total_run) simdlen(32)
            for (int64_t i = run; i < run_end(run, end); i++) {
                task_1(args, i, &total_run);
            }
            total += total_run;
        }
        total_of[part] = total;
    }
    double total = 0.0;
    for (int i = 0; i < part_count(args.a_n); i++) {
        total += total_of[i];
    }
    args.temporaries->total += (float)total;
}

// task 2 of 3: range_for over a
// normalize.py:8  for i in a:
static inline void task_2(const struct Args args, int i) {
    // normalize.py:9  a[i] /= total
    a(i) /= args.temporaries->total;
}

void normalize_2(const struct Args *arguments) {
    const struct Args args = *arguments;
    #pragma omp parallel for firstprivate(args) schedule(static) if (args.a_n >= 8192)
    for (int i = 0; i < args.a_n; i++) {
        task_2(args, i);
    }
}
