// shadesmith 0.1.0, cuda 6d81604d, gradient_of_energy.py:10: energy_grad()

#define BLOCK 128

constexpr int x_n0 = 64;  // shape of x, x_grad
constexpr int N = 64;  // captured

// As rsqrtf for numbers that are not subnormal, without the instructions for those.
__device__ inline float normal_rsqrt_f32(float x) {
    asm("rsqrt.approx.ftz.f32 %0, %0;" : "+f"(x));
    return x;
}

using vec2 = float2;

__device__ inline vec2 &operator+=(vec2 &a, vec2 b) { return a = {a.x + b.x, a.y + b.y}; }
__device__ inline vec2 &operator-=(vec2 &a, vec2 b) { return a = {a.x - b.x, a.y - b.y}; }
__device__ inline float dot(vec2 a, vec2 b) { return a.x * b.x + a.y * b.y; }
__device__ inline vec2 operator*(float a, vec2 b) { return {a * b.x, a * b.y}; }
__device__ inline vec2 operator-(vec2 a, vec2 b) { return {a.x - b.x, a.y - b.y}; }

struct Args {
    const vec2 *__restrict__ x_data;           // x: field[f32[2], 64]
    vec2 *__restrict__ x_grad_data;            // x_grad: field[f32[2], 64]
    const float *__restrict__ loss_grad_data;  // loss_grad: field[f32, 0-D]
};

#define x(i) args.x_data[i]
#define x_grad(i) args.x_grad_data[i]
#define loss_grad() args.loss_grad_data[0]

// gradient_of_energy.py:11  for i in x:
extern "C" __global__ void __launch_bounds__(BLOCK) energy_grad_0(const Args args) {
    int j = blockIdx.x * BLOCK + threadIdx.x;
    if (j >= x_n0) return;
    vec2 x_adj = {0.0f, 0.0f};
    // adjoint of :11
    vec2 x_j = x(j);
    for (int i = 0; i < x_n0; i++) {
        // gradient_of_energy.py:15  r = x[i] - x[j]
        vec2 r = x(i) - x_j;
        // gradient_of_energy.py:16  e += 1 / ti.sqrt(r.norm_sqr() + 1e-3)
        float inverse_root = normal_rsqrt_f32(dot(r, r) + 0.001f);
        vec2 term = loss_grad() * inverse_root * inverse_root * inverse_root * r;  // adjoint of :16
        if (i != j) {  // :14
            x_adj += term;  // adjoint of :15
        }
    }
    // adjoint of gradient_of_energy.py:17  loss[None] += e
    float loss_grad_value = loss_grad();
    // gradient_of_energy.py:13  for j in range(N):
    for (int j_1 = 0; j_1 < N; j_1++) {
        vec2 r = x_j - x(j_1);
        float inverse_root = normal_rsqrt_f32(dot(r, r) + 0.001f);
        vec2 term = loss_grad_value * inverse_root * inverse_root * inverse_root * r;
        if (j != j_1) {
            x_adj -= term;
        }
    }
    x_grad(j) += x_adj;
}
