// shadesmith 0.1.0, c 10030fac, gradient_of_wave.py:9: wave_grad(t: i32)
#include <math.h>
#include <stdbool.h>

enum { u_grad_n1 = 64, u_grad_n2 = 64 };  // shape of u_grad
enum { N = 64 };  // captured

// x, or 0 if it is subnormal: processors multiply such numbers up to 100 times as slowly.
static inline float flushed_f32(float x) { return x * !(fabsf(x) < 0x1p-126f); }

struct Args {
    float *restrict u_grad_data;  // u_grad: field[f32, 4x64x64]
    int t;                        // t: i32
};

#define u_grad(i, j, k) args.u_grad_data[((long long)(i) * u_grad_n1 + (j)) * u_grad_n2 + (k)]

// task 0 of 2: range_for over i, j
// gradient_of_wave.py:10  for i, j in ti.ndrange((1, N - 1), (1, N - 1)):
static inline void task_0(const struct Args args, int i, int j) {
    float u_adj = 0.0f;
    // adjoint of :10
    bool i_inside = i >= 1 && i < N - 1;
    if (i_inside && j >= 1 && j < N - 1) {
        // adjoint of gradient_of_wave.py:11  laplacian = u[t, i - 1, j] + u[t, i + 1, j] +
        //     u[t, i, j - 1] + u[t, i, j + 1] - 4 * u[t, i, j]
        u_adj += 2.0f * u_grad(args.t + 1, i, j) - 4.0f * u_grad(args.t + 1, i, j) * 0.1f;
    }
    if (i_inside && j - 1 >= 1) {
        u_adj += u_grad(args.t + 1, i, j - 1) * 0.1f;
    }
    if (i_inside && j + 1 < N - 1) {
        u_adj += u_grad(args.t + 1, i, j + 1) * 0.1f;
    }
    if (i - 1 >= 1 && j >= 1 && j < N - 1) {
        u_adj += u_grad(args.t + 1, i - 1, j) * 0.1f;
    }
    if (i + 1 < N - 1 && j >= 1 && j < N - 1) {
        u_adj += u_grad(args.t + 1, i + 1, j) * 0.1f;
    }
    // flushed: a subnormal number would never decay to 0 (flush_subnormals)
    u_grad(args.t, i, j) = flushed_f32(u_grad(args.t, i, j) + u_adj);
}

void wave_grad_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    for (int i = 0; i < u_grad_n1; i++) {
        #pragma omp simd
        for (int j = 0; j < u_grad_n2; j++) {
            task_0(args, i, j);
        }
    }
}

// task 1 of 2: range_for over i, j
// gradient_of_wave.py:10  for i, j in ti.ndrange((1, N - 1), (1, N - 1)):
static inline void task_1(const struct Args args, int i, int j) {
    // adjoint of gradient_of_wave.py:12  u[t + 1, i, j] = 2 * u[t, i, j] - u[t - 1, i, j] + 0.1 *
    //     laplacian
    u_grad(args.t - 1, i, j) -= u_grad(args.t + 1, i, j);
    u_grad(args.t + 1, i, j) = 0.0f;
}

void wave_grad_1(const struct Args *arguments) {
    const struct Args args = *arguments;
    for (int i = 1; i < N - 1; i++) {
        #pragma omp simd
        for (int j = 1; j < N - 1; j++) {
            task_1(args, i, j);
        }
    }
}
