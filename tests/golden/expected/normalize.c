// shadesmith 0.1.0, c 5cbb0598, normalize.py:4: normalize(a: ndarray[f32, 1])
#include <stdbool.h>

static inline float atomic_add_f32(float *address, float value) {
    float old, new;
    const int relaxed = __ATOMIC_RELAXED;
    __atomic_load(address, &old, relaxed);
    do {
        new = old + value;
    } while (!__atomic_compare_exchange(address, &old, &new, true, relaxed, relaxed));
    return old;
}

struct Temporaries {
    float total;  // f32
};

struct Args {
    float *a_data;                    // a: ndarray[f32, 1]
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
static inline void task_1(const struct Args args, int i) {
    // normalize.py:7  total += a[i]
    atomic_add_f32(&args.temporaries->total, a(i));
}

void normalize_1(const struct Args *arguments) {
    const struct Args args = *arguments;
    #pragma omp parallel for firstprivate(args) schedule(static) if (args.a_n >= 8192)
    for (int i = 0; i < args.a_n; i++) {
        task_1(args, i);
    }
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
