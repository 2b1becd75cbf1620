// shadesmith 0.1.0, c c8ece042, histogram.py:10:
// histogram(a: ndarray[f32, 1], order: ndarray[i32, 1])
#include <stdbool.h>
#include <stdint.h>

static inline int f32_bits_to_i32(float x) {
    union { float number; int bits; } both = {x};
    return both.bits;
}

static inline float i32_bits_to_f32(int x) {
    union { int bits; float number; } both = {x};
    return both.number;
}

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

static inline int atomic_add_i32(int *address, int value) {
    return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
}

struct Args {
    const float *a_data;         // a: ndarray[f32, 1]
    int *order_data;             // order: ndarray[i32, 1]
    int *restrict counts_data;   // counts: field[i32, 16]
    float *restrict total_data;  // total: field[f32, 0-D]
    int a_n;                     // a.shape[0]
};

#define a(i) args.a_data[i]
#define order(i) args.order_data[i]
#define counts(i) args.counts_data[i]
#define total() args.total_data[0]

// histogram.py:11  for i in a:
static inline void task(const struct Args args, int i, double *total_sum) {
    int bucket = (int)(a(i) * 16.0f);  // :12
    // histogram.py:13  order[i] = ti.atomic_add(counts[bucket], 1)
    order(i) = atomic_add_i32(&counts(bucket), 1);
    // histogram.py:14  total[None] += a[i]
    *total_sum += a(i);  // not atomic: joined below (reduce_atomics)
}

void histogram_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    // Parts of the loop, joined in order: the result does not depend on the number of threads.
    double total_sum_of[PARTS];
    #pragma omp parallel for firstprivate(args) schedule(static) if (args.a_n >= 8192)
    for (int part = 0; part < part_count(args.a_n); part++) {
        double total_sum = 0.0;
        for (int64_t i = aligned_begin(args.a_n, part); i < aligned_end(args.a_n, part); i++) {
            task(args, i, &total_sum);
        }
        total_sum_of[part] = total_sum;
    }
    double total_sum = 0.0;
    for (int i = 0; i < part_count(args.a_n); i++) {
        total_sum += total_sum_of[i];
    }
    atomic_add_f32(&total(), (float)total_sum);
}
