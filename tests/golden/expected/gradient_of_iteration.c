// shadesmith 0.1.0, c f3d5289b, gradient_of_iteration.py:8: iterate_grad(n: i32)
#include <math.h>

enum { x_n0 = 256 };  // shape of x, x_grad, y_grad

static inline int max_i32(int a, int b) { return a > b ? a : b; }

struct Args {
    const float *restrict x_data;  // x: field[f32, 256]
    float *restrict x_grad_data;   // x_grad: field[f32, 256]
    float *restrict y_grad_data;   // y_grad: field[f32, 256]
    int n;                         // n: i32
};

#define x(i) args.x_data[i]
#define x_grad(i) args.x_grad_data[i]
#define y_grad(i) args.y_grad_data[i]

// gradient_of_iteration.py:9  for i in x:
static inline void task(const struct Args args, int i) {
    float a = x(i);  // :10
    // gradient_of_iteration.py:11  for _ in range(n):
    int stride = (max_i32(args.n, 1) - 1) / 64 + 1;
    float a_saved[64] = {0};
    for (int j = 0; j < args.n; j++) {
        if (j % stride == 0) {
            a_saved[j / stride] = a;  // for the backward loop (reverse_mode)
        }
        a = sinf(a) + 0.1f * x(i) * a;  // :12
    }
    // adjoint of gradient_of_iteration.py:13  y[i] = a
    float a_adj = y_grad(i);
    // adjoint of :11
    float x_grad_i = x_grad(i);
    for (int j = max_i32(args.n, 0) - 1; j >= 0; j--) {
        int slot = j / stride;
        float a_1 = a_saved[slot];
        for (int again = slot * stride; again < j; again++) {
            a_1 = sinf(a_1) + 0.1f * x(i) * a_1;
        }
        // adjoint of :12
        float old_a_adj = a_adj;
        a_adj *= 0.1f * x(i);
        x_grad_i += old_a_adj * a_1 * 0.1f;
        a_adj += old_a_adj * cosf(a_1);
    }
    // adjoint of :10
    x_grad(i) = x_grad_i + a_adj;  // stored once: no other iteration writes it (keep_elements)
    y_grad(i) = 0.0f;
}

void iterate_grad_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    #pragma omp parallel for firstprivate(args) schedule(static)
    for (int i = 0; i < x_n0; i++) {
        task(args, i);
    }
}
