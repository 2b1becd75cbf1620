// shadesmith 0.1.0, c 8150df61, ranges.py:4: ranges(a: ndarray[f32, 1], begin: i32, end: i32)
#include <math.h>

static inline int max_i32(int a, int b) { return a > b ? a : b; }

// x, or 0 if it is subnormal: processors multiply such numbers up to 100 times as slowly.
static inline float flushed_f32(float x) { return x * !(fabsf(x) < 0x1p-126f); }

struct Args {
    float *restrict a_data;  // a: ndarray[f32, 1]
    int begin;               // begin: i32
    int end;                 // end: i32
};

#define a(i) args.a_data[i]

// ranges.py:5  for i in range(begin, end, 2):
static inline void task(const struct Args args, int i) {
    float r = 0.0f;  // :6
    // ranges.py:7  for k in range(i, 0, -1):
    for (int k = i; k > 0; k--) {
        for (int q = 0; q < k; q++) {  // :8
            if (q == 3) {  // :9
                continue;  // :10
            }
            r += a(q) * a(k);  // :11
        }
    }
    // flushed: a subnormal number would never decay to 0 (flush_subnormals)
    a(i) = flushed_f32(r > 0.0f && a(i + 1) > 0.0f ? r : -r);  // :12
}

void ranges_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    int end_i = max_i32(args.end, args.begin);
    #pragma omp parallel for firstprivate(args) schedule(static) if (end_i - args.begin >= 64)
    for (long long i = args.begin; i < end_i; i += 2) {
        task(args, i);
    }
}
