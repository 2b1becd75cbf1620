// shadesmith 0.1.0, cuda c6372a7a, gradient_of_energy.py:10: energy_grad()

#define BLOCK 128

constexpr int x_n0 = 64;  // shape of x, x_grad
constexpr int N = 64;  // captured

// Adds to 2 neighbouring floats, each atomically; from sm_90 on by one instruction, for which
// `address` is a multiple of 8 bytes.
__device__ inline void atomic_add_f32x2(float *address, float a, float b) {
#if __CUDA_ARCH__ >= 900
    atomicAdd((float2 *)address, make_float2(a, b));
#else
    atomicAdd(&address[0], a);
    atomicAdd(&address[1], b);
#endif
}

struct alignas(8) vec2 { float x, y; };

__device__ inline float dot(vec2 a, vec2 b) { return a.x * b.x + a.y * b.y; }
__device__ inline vec2 operator*(float a, vec2 b) { return {a * b.x, a * b.y}; }

struct Args {
    const vec2 *__restrict__ x_data;           // x: field[f32[2], 64]
    vec2 *__restrict__ x_grad_data;            // x_grad: field[f32[2], 64]
    const float *__restrict__ loss_grad_data;  // loss_grad: field[f32, 0-D]
};

#define x(i) args.x_data[i]
#define x_grad(i) args.x_grad_data[i]
#define loss_grad() args.loss_grad_data[0]

// gradient_of_energy.py:11  for i in x:
__device__ inline void task(const Args &args, int i) {
    // adjoint of gradient_of_energy.py:17  loss[None] += e
    float e_adj = loss_grad();
    for (int j = 0; j < N; j++) {  // :13
        if (i != j) {  // :14
            // gradient_of_energy.py:15  r = x[i] - x[j]
            vec2 r = {x(i).x - x(j).x, x(i).y - x(j).y};
            // gradient_of_energy.py:16  e += 1 / ti.sqrt(r.norm_sqr() + 1e-3)
            float root = sqrtf(dot(r, r) + 0.001f);
            // adjoint of :16
            vec2 r_adj = 2.0f * (0.5f * (-e_adj * (1.0f / root) / root) / root) * r;
            // adjoint of :15
            atomic_add_f32x2(&x_grad(j).x, -r_adj.x, -r_adj.y);  // one instruction (vector_atomics)
            atomic_add_f32x2(&x_grad(i).x, r_adj.x, r_adj.y);
        }
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK) energy_grad_0(const Args args) {
    unsigned index = blockIdx.x * BLOCK + threadIdx.x;
    if (index < x_n0) task(args, int(index));
}
