// shadesmith 0.1.0, cuda d62fb534, gradient_of_wave.py:9: wave_grad(t: i32)

#define BLOCK 128

constexpr int u_grad_n1 = 64, u_grad_n2 = 64;  // shape of u_grad

struct Args {
    float *__restrict__ u_grad_data;  // u_grad: field[f32, 4x64x64]
    int t;                            // t: i32
};

#define u_grad(i, j, k) args.u_grad_data[((i) * u_grad_n1 + (j)) * u_grad_n2 + (k)]

// gradient_of_wave.py:10  for i, j in ti.ndrange((1, N - 1), (1, N - 1)):
__device__ inline void task(const Args &args, int i, int j) {
    // adjoint of gradient_of_wave.py:12  u[t + 1, i, j] = 2 * u[t, i, j] - u[t - 1, i, j] + 0.1 *
    //     laplacian
    float u_grad_tij = u_grad(args.t + 1, i, j);
    u_grad(args.t + 1, i, j) = 0.0f;
    float laplacian_adj = u_grad_tij * 0.1f;
    u_grad(args.t - 1, i, j) += -u_grad_tij;
    // adjoint of gradient_of_wave.py:11  laplacian = u[t, i - 1, j] + u[t, i + 1, j] +
    //     u[t, i, j - 1] + u[t, i, j + 1] - 4 * u[t, i, j]
    atomicAdd(&u_grad(args.t, i, j), u_grad_tij * 2.0f + -laplacian_adj * 4.0f);
    atomicAdd(&u_grad(args.t, i, j + 1), laplacian_adj);
    atomicAdd(&u_grad(args.t, i, j - 1), laplacian_adj);
    atomicAdd(&u_grad(args.t, i + 1, j), laplacian_adj);
    atomicAdd(&u_grad(args.t, i - 1, j), laplacian_adj);
}

extern "C" __global__ void __launch_bounds__(BLOCK) wave_grad_0(const Args args) {
    unsigned index = blockIdx.x * BLOCK + threadIdx.x;
    if (index < 3844u) task(args, 1 + int(index / 62), 1 + int(index % 62));
}
