// shadesmith 0.1.0, cuda 966355c0, gravity.py:11: gravity(dt: f32)

#define BLOCK 128

constexpr int position_n0 = 1000;  // shape of position, velocity
constexpr int n = 1000;  // captured

// As rsqrtf for numbers that are not subnormal, without the instructions for those.
__device__ inline float normal_rsqrt_f32(float x) {
    asm("rsqrt.approx.ftz.f32 %0, %0;" : "+f"(x));
    return x;
}

using vec3 = float3;

__device__ inline vec3 &operator+=(vec3 &a, vec3 b) {
    return a = {a.x + b.x, a.y + b.y, a.z + b.z};
}

__device__ inline float dot(vec3 a, vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__device__ inline vec3 operator*(float a, vec3 b) { return {a * b.x, a * b.y, a * b.z}; }
__device__ inline vec3 operator-(vec3 a, vec3 b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }

struct Args {
    const vec3 *__restrict__ position_data;  // position: field[f32[3], 1000]
    vec3 *__restrict__ velocity_data;        // velocity: field[f32[3], 1000]
    float dt;                                // dt: f32
};

#define position(i) args.position_data[i]
#define velocity(i) args.velocity_data[i]

// gravity.py:12  for i in position:
__device__ inline void task(const Args &args, int i, bool has_iteration) {
    __shared__ vec3 position_tile[BLOCK];
    // gravity.py:13  force = ti.Vector([0.0, 0.0, 0.0])
    vec3 force = {0.0f, 0.0f, 0.0f};
    vec3 position_i;
    if (has_iteration) {
        position_i = position(i);
    }
    // gravity.py:14  for j in range(n):
    for (int j_tile = 0; j_tile < n; j_tile += BLOCK) {
        int thread = int(threadIdx.x);
        // all threads read position in this order: each loads one element (block_tiles)
        if (j_tile + thread < n) {
            position_tile[thread] = position(j_tile + thread);
        }
        __syncthreads();
        if (has_iteration) {
            int end_j = min(BLOCK, n - j_tile);
            #pragma unroll 16
            for (int j = 0; j < end_j; j++) {
                // gravity.py:15  d = position[j] - position[i]
                vec3 d = position_tile[j] - position_i;
                // gravity.py:16  force += d * ti.rsqrt(d.dot(d) + 1e-4) ** 3
                float rsqrt = normal_rsqrt_f32(dot(d, d) + 1e-4f);
                force += rsqrt * rsqrt * rsqrt * d;
            }
        }
        __syncthreads();
    }
    if (has_iteration) {
        // not atomic: no other iteration writes it (demote_atomics)
        velocity(i) += args.dt * force;  // :17
    }
}

// 256 threads on an SM, with up to 255 registers for loads in flight (few_threads)
extern "C" __global__ void __launch_bounds__(BLOCK, 256 / BLOCK) gravity_0(const Args args) {
    unsigned index = blockIdx.x * BLOCK + threadIdx.x;
    task(args, int(index), index < position_n0);
}
