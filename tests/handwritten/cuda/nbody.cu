// Gravity between all pairs of bodies, with softening: one step of the velocities.

constexpr int BODIES = 4096;
constexpr float SOFTENING = 1e-3f;

__device__ float3 operator+(float3 a, float3 b) {
    return {a.x + b.x, a.y + b.y, a.z + b.z};
}

__device__ float3 operator-(float3 a, float3 b) {
    return {a.x - b.x, a.y - b.y, a.z - b.z};
}

__device__ float3 operator*(float s, float3 a) {
    return {s * a.x, s * a.y, s * a.z};
}

__device__ float dot(float3 a, float3 b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

extern "C" __global__ void kick(
    const float3 *__restrict__ position, float3 *__restrict__ velocity, float mass, float step
) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= BODIES) {
        return;
    }
    float3 here = position[i];
    float3 force = {0.0f, 0.0f, 0.0f};
    for (int j = 0; j < BODIES; j++) {
        float3 to = position[j] - here;
        float inverse = rsqrtf(dot(to, to) + SOFTENING);
        force = force + mass * inverse * inverse * inverse * to;
    }
    velocity[i] = velocity[i] + step * force;
}
