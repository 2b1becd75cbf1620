// The scatter of MLS-MPM in three dimensions: each particle adds momentum and mass to 27 nodes.

constexpr int n_particles = 1 << 16;
constexpr int n_grid = 64;
constexpr float dx = 1.0f / n_grid;
constexpr float dt = 1e-4f;
constexpr float p_vol = 0.125f * dx * dx * dx;
constexpr float p_mass = p_vol * 1.0f;
constexpr float E = 400.0f;

struct mat3 {
    float m[3][3];
};

__device__ float3 operator+(float3 a, float3 b) {
    return {a.x + b.x, a.y + b.y, a.z + b.z};
}

__device__ float3 operator*(float s, float3 a) {
    return {s * a.x, s * a.y, s * a.z};
}

__device__ float3 operator*(mat3 a, float3 b) {
    return {
        a.m[0][0] * b.x + a.m[0][1] * b.y + a.m[0][2] * b.z,
        a.m[1][0] * b.x + a.m[1][1] * b.y + a.m[1][2] * b.z,
        a.m[2][0] * b.x + a.m[2][1] * b.y + a.m[2][2] * b.z,
    };
}

// Quadratic B-spline weights of three nodes along one axis.
__device__ void weights(float fx, float w[3]) {
    w[0] = 0.5f * (1.5f - fx) * (1.5f - fx);
    w[1] = 0.75f - (fx - 1.0f) * (fx - 1.0f);
    w[2] = 0.5f * (fx - 0.5f) * (fx - 0.5f);
}

extern "C" __global__ void p2g(
    const float3 *__restrict__ x, const float3 *__restrict__ v, const mat3 *__restrict__ C,
    const float *__restrict__ J, float3 *__restrict__ grid_v, float *__restrict__ grid_m
) {
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= n_particles) {
        return;
    }
    float3 Xp = (1 / dx) * x[p];
    int3 base = {int(Xp.x - 0.5f), int(Xp.y - 0.5f), int(Xp.z - 0.5f)};
    float3 fx = {Xp.x - base.x, Xp.y - base.y, Xp.z - base.z};
    float wx[3], wy[3], wz[3];
    weights(fx.x, wx);
    weights(fx.y, wy);
    weights(fx.z, wz);
    float stress = -dt * 4 * E * p_vol * (J[p] - 1) / (dx * dx);
    mat3 affine = C[p];
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            affine.m[i][j] = p_mass * affine.m[i][j] + (i == j ? stress : 0.0f);
        }
    }
    float3 momentum = p_mass * v[p];
    #pragma unroll
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            for (int k = 0; k < 3; k++) {
                float3 dpos = {(i - fx.x) * dx, (j - fx.y) * dx, (k - fx.z) * dx};
                float weight = wx[i] * wy[j] * wz[k];
                float3 share = weight * (momentum + affine * dpos);
                int node = ((base.x + i) * n_grid + base.y + j) * n_grid + base.z + k;
                atomicAdd(&grid_v[node].x, share.x);
                atomicAdd(&grid_v[node].y, share.y);
                atomicAdd(&grid_v[node].z, share.z);
                atomicAdd(&grid_m[node], weight * p_mass);
            }
        }
    }
}
