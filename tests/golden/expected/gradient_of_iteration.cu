// shadesmith 0.1.0, cuda 2d7c493c, gradient_of_iteration.py:8: iterate_grad(n: i32)

#define BLOCK 32  // 256 iterations, for more multiprocessors (few_threads)

constexpr int x_n0 = 256;  // shape of x, x_grad, y_grad

// sin(x - n pi) within 2 ulp and at most 1, where x - n pi is between -pi / 2 and pi / 2; the bit
// `sign` negates it.
__device__ inline float sin_beyond_f32(float x, float n, unsigned sign) {
    float y = fmaf(n, 3.43024902e-15f, fmaf(n, 8.74227766e-8f, fmaf(n, -3.14159274f, x)));
    y = fabsf(y) > 2.4f ? 0.0f : y;  // beyond 2^22 pi, where neighbouring numbers are 1 apart
    float s = y * y;
    float p = fmaf(s, fmaf(s, 2.60831598e-6f, -1.98107024e-4f), 8.33307113e-3f);
    p = fmaf(s, p, -.166666582f);
    return __uint_as_float(__float_as_uint(fmaf(s * y, p, y)) ^ sign);
}

// sin(x) within 2 ulp where |x| < 8192. Up to 2^22 pi it is the sine of a number within 2 ulp of x,
// where neighbouring floats are .001 apart and more; beyond, of any number. The code of sinf for
// large x takes time for all x.
__device__ inline float short_sin_f32(float x) {
    float n = fmaf(x, .318309886f, 12582912.0f);  // ends with the bits of the nearest integer
    return sin_beyond_f32(x, n - 12582912.0f, __float_as_uint(n) << 31);
}

// cos(x), as `short_sin_f32`.
__device__ inline float short_cos_f32(float x) {
    float n = fmaf(x, .318309886f, -.5f) + 12582912.0f;
    return sin_beyond_f32(x, n - 12582912.0f + .5f, ~__float_as_uint(n) << 31);
}

struct Args {
    const float *__restrict__ x_data;  // x: field[f32, 256]
    float *__restrict__ x_grad_data;   // x_grad: field[f32, 256]
    float *__restrict__ y_grad_data;   // y_grad: field[f32, 256]
    int n;                             // n: i32
};

#define x(i) args.x_data[i]
#define x_grad(i) args.x_grad_data[i]
#define y_grad(i) args.y_grad_data[i]

// 256 threads on an SM, with up to 255 registers for loads in flight (few_threads)
// gradient_of_iteration.py:9  for i in x:
extern "C" __global__ void __launch_bounds__(BLOCK, 256 / BLOCK) iterate_grad_0(const Args args) {
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= x_n0) return;
    // gradient_of_iteration.py:10  a = x[i]
    float x_i = x(i), a = x_i;
    // gradient_of_iteration.py:11  for _ in range(n):
    int stride = (max(args.n, 1) - 1) / 64 + 1;
    float a_saved[64] = {};
    for (int j = 0; j < args.n; j++) {
        if (j % stride == 0) {
            a_saved[j / stride] = a;  // for the backward loop (reverse_mode)
        }
        // gradient_of_iteration.py:12  a = ti.sin(a) + 0.1 * x[i] * a
        a = short_sin_f32(a) + 0.1f * x_i * a;
    }
    // adjoint of gradient_of_iteration.py:13  y[i] = a
    float a_adj = y_grad(i);
    // adjoint of :11
    float x_grad_i = x_grad(i);
    for (int j = max(args.n, 0) - 1; j >= 0; j--) {
        int slot = j / stride;
        float a_1 = a_saved[slot];
        for (int again = slot * stride; again < j; again++) {
            a_1 = short_sin_f32(a_1) + 0.1f * x_i * a_1;
        }
        // adjoint of :12
        float old_a_adj = a_adj;
        a_adj *= 0.1f * x_i;
        x_grad_i += old_a_adj * a_1 * 0.1f;
        a_adj += old_a_adj * short_cos_f32(a_1);
    }
    // adjoint of :10
    x_grad(i) = x_grad_i + a_adj;  // stored once: no other iteration writes it (keep_elements)
    y_grad(i) = 0.0f;
}
