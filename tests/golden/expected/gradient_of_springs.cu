// shadesmith 0.1.0, cuda f9c73379, gradient_of_springs.py:11: springs_grad()

#define BLOCK 128

constexpr int ends_n0 = 256;  // shape of ends, length, stiffness, length_grad, stiffness_grad

// 1 / x by one instruction, within 1 ulp: infinite for subnormal numbers, 0 beyond 2^126.
__device__ inline float normal_reciprocal_f32(float x) {
    asm("rcp.approx.ftz.f32 %0, %0;" : "+f"(x));
    return x;
}

// Adds to 2 floats, each atomically; from sm_90 on by one instruction, for which `address` is a
// multiple of 8 bytes.
template <class Vector> __device__ inline void atomic_add_float2(Vector *address, Vector value) {
#if __CUDA_ARCH__ >= 900
    atomicAdd((float2 *)address, make_float2(value.x, value.y));
#else
    atomicAdd(&address->x, value.x);
    atomicAdd(&address->y, value.y);
#endif
}

using vec2 = float2;
using ivec2 = int2;

__device__ inline vec2 operator*(float a, vec2 b) { return {a * b.x, a * b.y}; }
__device__ inline float length(vec2 a) { return sqrtf(a.x * a.x + a.y * a.y); }
__device__ inline vec2 operator-(vec2 a, vec2 b) { return {a.x - b.x, a.y - b.y}; }

struct Args {
    const ivec2 *__restrict__ ends_data;         // ends: field[i32[2], 256]
    const vec2 *__restrict__ x_data;             // x: field[f32[2], 128]
    const float *__restrict__ length_data;       // length: field[f32, 256]
    const float *__restrict__ stiffness_data;    // stiffness: field[f32, 256]
    vec2 *__restrict__ x_grad_data;              // x_grad: field[f32[2], 128]
    float *__restrict__ length_grad_data;        // length_grad: field[f32, 256]
    float *__restrict__ stiffness_grad_data;     // stiffness_grad: field[f32, 256]
    const float *__restrict__ energy_grad_data;  // energy_grad: field[f32, 0-D]
};

#define ends(i) args.ends_data[i]
#define x(i) args.x_data[i]
#define length_(i) args.length_data[i]
#define stiffness(i) args.stiffness_data[i]
#define x_grad(i) args.x_grad_data[i]
#define length_grad(i) args.length_grad_data[i]
#define stiffness_grad(i) args.stiffness_grad_data[i]
#define energy_grad() args.energy_grad_data[0]

// gradient_of_springs.py:12  for s in ends:
extern "C" __global__ void __launch_bounds__(BLOCK) springs_grad_0(const Args args) {
    int s = blockIdx.x * BLOCK + threadIdx.x;
    if (s >= ends_n0) return;
    // gradient_of_springs.py:13  d = x[ends[s][0]] - x[ends[s][1]]
    int ends_s_y = ends(s).y;
    vec2 d = x(ends(s).x) - x(ends_s_y);
    // gradient_of_springs.py:14  strain = d.norm() / length[s] - 1
    float norm_d = length(d), reciprocal_length = normal_reciprocal_f32(length_(s));
    float length_ratio = norm_d * reciprocal_length, strain = length_ratio - 1.0f;
    // adjoint of gradient_of_springs.py:15  energy[None] += 0.5 * stiffness[s] * strain**2
    float strain_adj = strain * (energy_grad() * stiffness(s));
    stiffness_grad(s) += 0.5f * energy_grad() * (strain * strain);
    // adjoint of :14
    length_grad(s) -= strain_adj * length_ratio * reciprocal_length;
    vec2 d_adj = strain_adj * reciprocal_length * normal_reciprocal_f32(norm_d) * d;
    // adjoint of :13
    atomic_add_float2(&x_grad(ends_s_y), {-d_adj.x, -d_adj.y});  // one instruction (vector_atomics)
    atomic_add_float2(&x_grad(ends(s).x), d_adj);
}
