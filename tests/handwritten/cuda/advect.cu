// Advection of stable fluids: a backtrace by Runge and Kutta of third order, bilinear samples.

constexpr int n = 512;
constexpr float dt = 0.03f;
constexpr float dye_decay = 0.99f;

__device__ float2 operator+(float2 a, float2 b) {
    return {a.x + b.x, a.y + b.y};
}

__device__ float2 operator-(float2 a, float2 b) {
    return {a.x - b.x, a.y - b.y};
}

__device__ float2 operator*(float s, float2 a) {
    return {s * a.x, s * a.y};
}

__device__ float3 operator+(float3 a, float3 b) {
    return {a.x + b.x, a.y + b.y, a.z + b.z};
}

__device__ float3 operator-(float3 a, float3 b) {
    return {a.x - b.x, a.y - b.y, a.z - b.z};
}

__device__ float3 operator*(float s, float3 a) {
    return {s * a.x, s * a.y, s * a.z};
}

template <typename T> __device__ T sample(const T *field, float u, float v) {
    int i = max(0, min(n - 1, int(u)));
    int j = max(0, min(n - 1, int(v)));
    return field[i * n + j];
}

template <typename T> __device__ T lerp(T a, T b, float t) {
    return a + t * (b - a);
}

template <typename T> __device__ T bilerp(const T *field, float2 p) {
    float s = p.x - 0.5f;
    float t = p.y - 0.5f;
    float iu = floorf(s);
    float iv = floorf(t);
    T a = sample(field, iu, iv);
    T b = sample(field, iu + 1, iv);
    T c = sample(field, iu, iv + 1);
    T d = sample(field, iu + 1, iv + 1);
    return lerp(lerp(a, b, s - iu), lerp(c, d, s - iu), t - iv);
}

__device__ float2 backtrace(const float2 *velocity, float2 p) {
    float2 v1 = bilerp(velocity, p);
    float2 v2 = bilerp(velocity, p - 0.5f * dt * v1);
    float2 v3 = bilerp(velocity, p - 0.75f * dt * v2);
    return p - dt * (2.0f / 9.0f * v1 + 1.0f / 3.0f * v2 + 4.0f / 9.0f * v3);
}

extern "C" __global__ void advect(
    const float2 *__restrict__ velocity, float2 *__restrict__ new_velocity,
    const float3 *__restrict__ dye, float3 *__restrict__ new_dye
) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y;
    if (j >= n) {
        return;
    }
    float2 p = backtrace(velocity, {i + 0.5f, j + 0.5f});
    new_velocity[i * n + j] = bilerp(velocity, p);
    new_dye[i * n + j] = dye_decay * bilerp(dye, p);
}
