// shadesmith 0.1.0, c df12d27e, histogram.py:10:
// histogram(a: ndarray[f32, 1], order: ndarray[i32, 1])
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

static inline int atomic_add_i32(int *address, int value) {
    return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
}

struct Args {
    const float *a_data;  // a: ndarray[f32, 1]
    int *order_data;      // order: ndarray[i32, 1]
    int *counts_data;     // counts: field[i32, 16]
    float *total_data;    // total: field[f32, 0-D]
    int a_n;              // a.shape[0]
};

#define a(i) args.a_data[i]
#define order(i) args.order_data[i]
#define counts(i) args.counts_data[i]
#define total() args.total_data[0]

// histogram.py:11  for i in a:
static inline void task(const struct Args args, int i) {
    int bucket = (int)(a(i) * 16.0f);  // :12
    // histogram.py:13  order[i] = ti.atomic_add(counts[bucket], 1)
    order(i) = atomic_add_i32(&counts(bucket), 1);
    // histogram.py:14  total[None] += a[i]
    atomic_add_f32(&total(), a(i));
}

void histogram_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    #pragma omp parallel for firstprivate(args) schedule(static) if (args.a_n >= 8192)
    for (int i = 0; i < args.a_n; i++) {
        task(args, i);
    }
}
