// shadesmith 0.1.0, c 991e8d55, gradient_of_wave.py:9: wave_grad(t: i32)
#include <stdbool.h>

enum { u_grad_n1 = 64, u_grad_n2 = 64 };  // shape of u_grad
enum { N = 64 };  // captured

static inline float atomic_add_f32(float *address, float value) {
    float old, new;
    const int relaxed = __ATOMIC_RELAXED;
    __atomic_load(address, &old, relaxed);
    do {
        new = old + value;
    } while (!__atomic_compare_exchange(address, &old, &new, true, relaxed, relaxed));
    return old;
}

struct Args {
    float *restrict u_grad_data;  // u_grad: field[f32, 4x64x64]
    int t;                        // t: i32
};

#define u_grad(i, j, k) args.u_grad_data[((long long)(i) * u_grad_n1 + (j)) * u_grad_n2 + (k)]

// gradient_of_wave.py:10  for i, j in ti.ndrange((1, N - 1), (1, N - 1)):
static inline void task(const struct Args args, int i, int j) {
    // adjoint of gradient_of_wave.py:12  u[t + 1, i, j] = 2 * u[t, i, j] - u[t - 1, i, j] + 0.1 *
    //     laplacian
    float u_grad_tij = u_grad(args.t + 1, i, j);
    u_grad(args.t + 1, i, j) = 0.0f;
    float laplacian_adj = u_grad_tij * 0.1f;
    u_grad(args.t - 1, i, j) += -u_grad_tij;
    // adjoint of gradient_of_wave.py:11  laplacian = u[t, i - 1, j] + u[t, i + 1, j] +
    //     u[t, i, j - 1] + u[t, i, j + 1] - 4 * u[t, i, j]
    atomic_add_f32(&u_grad(args.t, i, j), u_grad_tij * 2.0f + -laplacian_adj * 4.0f);
    atomic_add_f32(&u_grad(args.t, i, j + 1), laplacian_adj);
    atomic_add_f32(&u_grad(args.t, i, j - 1), laplacian_adj);
    atomic_add_f32(&u_grad(args.t, i + 1, j), laplacian_adj);
    atomic_add_f32(&u_grad(args.t, i - 1, j), laplacian_adj);
}

void wave_grad_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    for (int i = 1; i < N - 1; i++) {
        for (int j = 1; j < N - 1; j++) {
            task(args, i, j);
        }
    }
}
