// shadesmith 0.1.0, cuda f650bcbc, gradient_of_wave.py:9: wave_grad(t: i32)

#define BLOCK 128

constexpr int u_grad_n1 = 64, u_grad_n2 = 64;  // shape of u_grad
constexpr int N = 64;  // captured

struct Args {
    float *__restrict__ u_grad_data;  // u_grad: field[f32, 4x64x64]
    int t;                            // t: i32
};

#define u_grad(i, j, k) args.u_grad_data[((i) * u_grad_n1 + (j)) * u_grad_n2 + (k)]

// task 0 of 2: range_for over i, j
// gradient_of_wave.py:10  for i, j in ti.ndrange((1, N - 1), (1, N - 1)):
extern "C" __global__ void __launch_bounds__(BLOCK) wave_grad_0(const Args args) {
    unsigned index = blockIdx.x * BLOCK + threadIdx.x;
    if (index >= u_grad_n1 * u_grad_n2) return;
    int i = index / u_grad_n2, j = index % u_grad_n2;
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
    u_grad(args.t, i, j) += u_adj;
}

// task 1 of 2: range_for over i, j
// gradient_of_wave.py:10  for i, j in ti.ndrange((1, N - 1), (1, N - 1)):
extern "C" __global__ void __launch_bounds__(BLOCK) wave_grad_1(const Args args) {
    unsigned index = blockIdx.x * BLOCK + threadIdx.x;
    if (index >= (N - 2) * (N - 2)) return;
    int i = 1 + index / (N - 2), j = 1 + index % (N - 2);
    // adjoint of gradient_of_wave.py:12  u[t + 1, i, j] = 2 * u[t, i, j] - u[t - 1, i, j] + 0.1 *
    //     laplacian
    u_grad(args.t - 1, i, j) -= u_grad(args.t + 1, i, j);
    u_grad(args.t + 1, i, j) = 0.0f;
}
