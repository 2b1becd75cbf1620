// shadesmith 0.1.0, c 7b5a463e, left_out.py:18: kernel(x: ndarray[f32, 1], dt: f32)
// no task for the loop in line 19: it does nothing (dead_code)
// `if debug:` in line 35 left out: always false (frontend)
#include <math.h>

// x, or 0 if it is subnormal: processors multiply such numbers up to 100 times as slowly.
static inline float flushed_f32(float x) { return x * !(fabsf(x) < 0x1p-126f); }

struct Args {
    float *restrict x_data;  // x: ndarray[f32, 1]
    float dt;                // dt: f32
    int x_n;                 // x.shape[0]
};

#define x(i) args.x_data[i]

// left_out.py:10  def slope(x: ti.template(), i):
static inline float slope(const struct Args args, int i) {
    // `if order == 2:` is always true (frontend)
    float found = (x(i + 1ll) - x(i - 1ll)) / 2.0f;  // :13
    return found;  // :14
}

// left_out.py:22  for i in range(1, x.shape[0] - 1):
static inline void task(const struct Args args, int i) {
    // `if debug:` left out: always false (frontend)
    // flushed: a subnormal number would never decay to 0 (flush_subnormals)
    // not atomic: no other iteration writes it (demote_atomics)
    x(i) = flushed_f32(x(i) - args.dt * slope(args, i));  // :26
    // `if limit > 2:` left out: always false (simplify)
    // `elif order == 1:` left out: always false (frontend)
    x(i) = flushed_f32(x(i) * 0.5f);  // :32
}

void kernel_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    int end_i = args.x_n - 1;
    #pragma omp parallel for firstprivate(args) schedule(static) if (end_i - 1 >= 8192)
    for (int i = 1; i < end_i; i++) {
        task(args, i);
    }
}
