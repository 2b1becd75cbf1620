// Gravity between all pairs of bodies, with softening: one step of the velocities. Blocks read the
// bodies tile by tile, each thread one of them.

constexpr int BODIES = 4096;
constexpr int TILE = 128;  // bodies in shared memory, and threads of a block
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
    static_assert(BODIES % TILE == 0, "no tile is shorter");
    __shared__ float3 tile[TILE];
    int i = blockIdx.x * TILE + threadIdx.x;
    float3 here = position[i];
    float3 force = {0.0f, 0.0f, 0.0f};
    for (int first = 0; first < BODIES; first += TILE) {
        tile[threadIdx.x] = position[first + threadIdx.x];
        __syncthreads();
        #pragma unroll 16
        for (int j = 0; j < TILE; j++) {
            float3 to = tile[j] - here;
            float inverse = rsqrtf(dot(to, to) + SOFTENING);
            force = force + mass * inverse * inverse * inverse * to;
        }
        __syncthreads();
    }
    velocity[i] = velocity[i] + step * force;
}
