// shadesmith 0.1.0, cuda 60d56823, gradient_of_scatter.py:10: scatter_grad()

#define BLOCK 128

constexpr int x_n0 = 256;  // shape of x, v, x_grad, v_grad
constexpr int momentum_grad_n1 = 64;  // shape of momentum_grad
constexpr int N = 64;  // captured

using vec2 = float2;
using ivec2 = int2;

__device__ inline vec2 &operator+=(vec2 &a, vec2 b) { return a = {a.x + b.x, a.y + b.y}; }
__device__ inline float dot(vec2 a, vec2 b) { return a.x * b.x + a.y * b.y; }
__device__ inline vec2 operator*(float a, vec2 b) { return {a * b.x, a * b.y}; }
__device__ inline vec2 operator*(vec2 a, vec2 b) { return {a.x * b.x, a.y * b.y}; }
__device__ inline vec2 operator-(float a, vec2 b) { return {a - b.x, a - b.y}; }
__device__ inline vec2 operator-(vec2 a, float b) { return {a.x - b, a.y - b}; }
__device__ inline vec2 operator-(vec2 a, vec2 b) { return {a.x - b.x, a.y - b.y}; }

struct Args {
    const vec2 *__restrict__ x_data;              // x: field[f32[2], 256]
    const vec2 *__restrict__ v_data;              // v: field[f32[2], 256]
    vec2 *__restrict__ x_grad_data;               // x_grad: field[f32[2], 256]
    vec2 *__restrict__ v_grad_data;               // v_grad: field[f32[2], 256]
    const vec2 *__restrict__ momentum_grad_data;  // momentum_grad: field[f32[2], 64x64]
};

#define x(i) args.x_data[i]
#define v(i) args.v_data[i]
#define x_grad(i) args.x_grad_data[i]
#define v_grad(i) args.v_grad_data[i]
#define momentum_grad(i, j) args.momentum_grad_data[(i) * momentum_grad_n1 + (j)]

// 512 threads on an SM, with up to 128 registers for loads in flight (loads_in_flight)
// gradient_of_scatter.py:11  for p in x:
extern "C" __global__ void __launch_bounds__(BLOCK, 512 / BLOCK) scatter_grad_0(const Args args) {
    int p = blockIdx.x * BLOCK + threadIdx.x;
    if (p >= x_n0) return;
    // gradient_of_scatter.py:12  base = (x[p] * N - 0.5).cast(int)
    ivec2 base = {(int)(N * x(p).x - 0.5f), (int)(N * x(p).y - 0.5f)};
    // gradient_of_scatter.py:13  fx = x[p] * N - base
    vec2 fx = {N * x(p).x - base.x, N * x(p).y - base.y};
    // gradient_of_scatter.py:14  w =
    //     [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2]
    vec2 fx_difference = 1.5f - fx, fx_difference_1 = fx - 1.0f, fx_difference_2 = fx - 0.5f;
    vec2 w[3] = {0.5f * (fx_difference * fx_difference), 0.75f - fx_difference_1 * fx_difference_1,
        0.5f * (fx_difference_2 * fx_difference_2)};
    float w_adj[3][2] = {};
    // gradient_of_scatter.py:15  for i, j in ti.static(ti.ndrange(3, 3)):
    vec2 v_p = v(p);  // the same in all iterations (hoist_loads)
    vec2 v_grad_p = v_grad(p);
    #pragma unroll
    for (int i = 0; i < 3; i++) {
        #pragma unroll
        for (int j = 0; j < 3; j++) {
            // adjoint of gradient_of_scatter.py:16  momentum[base + ti.Vector([i, j])] += w[i][0] *
            //     w[j][1] * v[p]
            float momentum_adj_dot_v = dot(momentum_grad(base.x + i, base.y + j), v_p);
            v_grad_p += w[i].x * w[j].y * momentum_grad(base.x + i, base.y + j);
            w_adj[j][1] += momentum_adj_dot_v * w[i].x;
            w_adj[i][0] += momentum_adj_dot_v * w[j].y;
        }
    }
    v_grad(p) = v_grad_p;  // stored once: no other iteration writes it (keep_elements)
    vec2 fx_adj = fx_difference_2 * vec2{w_adj[2][0], w_adj[2][1]}  // adjoint of :14
        - 2.0f * fx_difference_1 * vec2{w_adj[1][0], w_adj[1][1]}
        - fx_difference * vec2{w_adj[0][0], w_adj[0][1]};
    x_grad(p) += (float)N * fx_adj;  // adjoint of :12
}
