// Shallow water by finite volumes: limited slopes from nine points, Rusanov's flux at the faces.

constexpr int n = 512;
constexpr float dx = 1.0f / n;
constexpr float dt = 1e-4f;
constexpr float g = 9.81f;

__device__ float3 operator+(float3 a, float3 b) {
    return {a.x + b.x, a.y + b.y, a.z + b.z};
}

__device__ float3 operator-(float3 a, float3 b) {
    return {a.x - b.x, a.y - b.y, a.z - b.z};
}

__device__ float3 operator*(float s, float3 a) {
    return {s * a.x, s * a.y, s * a.z};
}

__device__ float minmod(float a, float b) {
    if (a * b <= 0) {
        return 0.0f;
    }
    return fabsf(a) < fabsf(b) ? a : b;
}

__device__ float3 slope(float3 a, float3 b, float3 c) {
    float3 l = b - a;
    float3 r = c - b;
    return {minmod(l.x, r.x), minmod(l.y, r.y), minmod(l.z, r.z)};
}

// Flux along x.
__device__ float3 flux(float3 u) {
    float speed = u.y / u.x;
    return {u.y, u.y * speed + 0.5f * g * u.x * u.x, u.z * speed};
}

__device__ float wave_speed(float3 u) {
    return fabsf(u.y / u.x) + sqrtf(g * u.x);
}

// Flux between b and c.
__device__ float3 face(float3 a, float3 b, float3 c, float3 d) {
    float3 left = b + 0.5f * slope(a, b, c);
    float3 right = c - 0.5f * slope(b, c, d);
    float fastest = fmaxf(wave_speed(left), wave_speed(right));
    return 0.5f * (flux(left) + flux(right)) - 0.5f * fastest * (right - left);
}

// Exchange of x and y.
__device__ float3 turned(float3 u) {
    return {u.x, u.z, u.y};
}

__device__ float3 flux_x(const float3 *q) {
    return face(q[-n], q[0], q[n], q[2 * n]);
}

__device__ float3 flux_y(const float3 *q) {
    return turned(face(turned(q[-1]), turned(q[0]), turned(q[1]), turned(q[2])));
}

extern "C" __global__ void update(const float3 *__restrict__ q, float3 *__restrict__ q_new) {
    int j = 2 + blockIdx.x * blockDim.x + threadIdx.x;
    int i = 2 + blockIdx.y;
    if (j >= n - 2) {
        return;
    }
    const float3 *cell = q + i * n + j;
    float3 change = flux_x(cell) - flux_x(cell - n) + flux_y(cell) - flux_y(cell - 1);
    q_new[i * n + j] = *cell - dt / dx * change;
}
