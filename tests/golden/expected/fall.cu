// shadesmith 0.1.0, cuda d70dcc75, fall.py:11: fall(dt: f32, gravity: f32[3])

#define BLOCK 128

using vec3 = float3;

__device__ inline vec3 operator+(vec3 a, vec3 b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }

__device__ inline vec3 &operator+=(vec3 &a, vec3 b) {
    return a = {a.x + b.x, a.y + b.y, a.z + b.z};
}

__device__ inline vec3 operator*(float a, vec3 b) { return {a * b.x, a * b.y, a * b.z}; }

struct Args {
    vec3 *__restrict__ v_data;  // v: field[f32[3], 1024]
    vec3 *__restrict__ x_data;  // x: field[f32[3], 1024]
    float dt;                   // dt: f32
    vec3 gravity;               // gravity: f32[3]
};

#define v(i) args.v_data[i]
#define x(i) args.x_data[i]

// fall.py:12  for i in range(1024):
extern "C" __global__ void __launch_bounds__(BLOCK) fall_0(const Args args) {
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= 1024) return;
    // fall.py:13  v[i] += dt * gravity
    v(i) += args.dt * args.gravity;  // not atomic: no other iteration writes it (demote_atomics)
    x(i) += args.dt * v(i);  // :14, not atomic: no other iteration writes it (demote_atomics)
    if (x(i).y < 0.0f) {  // :15
        x(i).y = 0.0f;  // :16
        v(i).y *= -0.5f;  // :17
    }
}
