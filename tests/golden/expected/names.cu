// shadesmith 0.1.0, cuda b2b5db51, names.py:5:
// names(ψ: ndarray[f32[3], 1], float: ndarray[i32, 1], step: f32)

#define BLOCK 128

using vec3 = float3;

__device__ inline vec3 &operator+=(vec3 &a, vec3 b) {
    return a = {a.x + b.x, a.y + b.y, a.z + b.z};
}

__device__ inline vec3 operator/(vec3 a, float b) { return {a.x / b, a.y / b, a.z / b}; }
__device__ inline float length(vec3 a) { return sqrtf(a.x * a.x + a.y * a.y + a.z * a.z); }

struct Args {
    vec3 *psi_data;   // ψ: ndarray[f32[3], 1]
    int *float_data;  // float: ndarray[i32, 1]
    float step;       // step: f32
    int psi_n;        // ψ.shape[0]
};

#define psi(i) args.psi_data[i]
#define float_(i) args.float_data[i]

// names.py:6  for i in ψ:
extern "C" __global__ void __launch_bounds__(BLOCK) names_0(const Args args) {
    unsigned index = blockIdx.x * BLOCK + threadIdx.x;
    if (index >= unsigned(args.psi_n)) return;
    int i = index;
    // names.py:7  λ = ψ[i] * step
    vec3 lambda = {psi(i).x * args.step, psi(i).y * args.step, psi(i).z * args.step};
    // names.py:8  length = λ.norm()
    float length_ = length(lambda);
    // names.py:9  distance = step - length
    float distance = args.step - length_;
    if (distance > 0.0f) {  // :10
        // names.py:11  float[i] = ti.atomic_add(float[0], 1)
        float_(i) = atomicAdd(&float_(0), 1);
    }
    // names.py:12  ψ[i] += λ.zyx / max(distance, 1e-9)
    // not atomic: no other iteration writes it (demote_atomics)
    psi(i) += vec3{lambda.z, lambda.y, lambda.x} / fmaxf(distance, 1e-9f);
}
