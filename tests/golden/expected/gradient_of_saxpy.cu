// shadesmith 0.1.0, cuda bd03dd99, gradient_of_saxpy.py:5:
// saxpy_grad(a: f32, x: ndarray[f32, 1], y: ndarray[f32, 1])

#define BLOCK 128

using vec4 = float4;

__device__ inline vec4 &operator+=(vec4 &a, vec4 b) {
    return a = {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w};
}

__device__ inline vec4 operator*(float a, vec4 b) { return {a * b.x, a * b.y, a * b.z, a * b.w}; }

__device__ inline vec4 operator*(vec4 a, vec4 b) {
    return {a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w};
}

struct Args {
    const float *x_data;       // x: ndarray[f32, 1]
    float *x_grad_data;        // x_grad: ndarray[f32, 1]
    const float *y_grad_data;  // y_grad: ndarray[f32, 1]
    float a;                   // a: f32
    int x_n;                   // x.shape[0]
};

#define x(i) args.x_data[i]
#define x4(i) (*(const vec4 *)&args.x_data[i])
#define x_grad(i) args.x_grad_data[i]
#define x_grad4(i) (*(vec4 *)&args.x_grad_data[i])
#define y_grad(i) args.y_grad_data[i]
#define y_grad4(i) (*(const vec4 *)&args.y_grad_data[i])

// gradient_of_saxpy.py:6  for i in x:
extern "C" __global__ void __launch_bounds__(BLOCK) saxpy_grad_0(const Args args) {
    unsigned index = blockIdx.x * BLOCK + threadIdx.x;
    if (index >= (unsigned(args.x_n) + 3) / 4) return;
    int i = index * 4;
    // four iterations at a time, by accesses of 16 bytes (wide_accesses)
    if ((size_t)args.x_data % 16 == 0 && (size_t)args.y_grad_data % 16 == 0
        && (size_t)args.x_grad_data % 16 == 0 && i <= args.x_n - 4) {
        // adjoint of gradient_of_saxpy.py:7  y[i] += a * x[i] * x[i]
        x_grad4(i) += 2.0f * y_grad4(i) * (args.a * x4(i));
    } else {
        // one by one; i + 4 might overflow
        int end = i + min(args.x_n - i, 4);
        for (int ii = i; ii < end; ii++) {
            x_grad(ii) += 2.0f * y_grad(ii) * (args.a * x(ii));
        }
    }
}
