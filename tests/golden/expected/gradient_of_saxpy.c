// shadesmith 0.1.0, c 89b2dea7, gradient_of_saxpy.py:5:
// saxpy_grad(a: f32, x: ndarray[f32, 1], y: ndarray[f32, 1])

struct Args {
    const float *x_data;       // x: ndarray[f32, 1]
    float *x_grad_data;        // x_grad: ndarray[f32, 1]
    const float *y_grad_data;  // y_grad: ndarray[f32, 1]
    float a;                   // a: f32
    int x_n;                   // x.shape[0]
};

#define x(i) args.x_data[i]
#define x_grad(i) args.x_grad_data[i]
#define y_grad(i) args.y_grad_data[i]

// gradient_of_saxpy.py:6  for i in x:
static inline void task(const struct Args args, int i) {
    // adjoint of gradient_of_saxpy.py:7  y[i] += a * x[i] * x[i]
    x_grad(i) += 2.0f * y_grad(i) * (args.a * x(i));
}

void saxpy_grad_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    #pragma omp parallel for firstprivate(args) schedule(static) if (args.x_n >= 8192)
    for (int i = 0; i < args.x_n; i++) {
        task(args, i);
    }
}
