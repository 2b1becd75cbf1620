// shadesmith 0.1.0, cuda e84f5930, gradient_of_saxpy.py:5:
// saxpy_grad(a: f32, x: ndarray[f32, 1], y: ndarray[f32, 1])

#define BLOCK 128

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
__device__ inline void task(const Args &args, int i) {
    // adjoint of gradient_of_saxpy.py:7  y[i] += a * x[i] * x[i]
    x_grad(i) += y_grad(i) * (args.a * x(i)) + y_grad(i) * x(i) * args.a;
}

extern "C" __global__ void __launch_bounds__(BLOCK) saxpy_grad_0(const Args args) {
    unsigned count = unsigned(args.x_n);
    unsigned stride = gridDim.x * BLOCK;
    for (unsigned index = blockIdx.x * BLOCK + threadIdx.x; index < count; index += stride) {
        task(args, int(index));
    }
}
