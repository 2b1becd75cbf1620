// A substep of MLS-MPM in two dimensions with water, jelly and snow.

constexpr int n_particles = 9000;
constexpr int n_grid = 128;
constexpr float dx = 1.0f / n_grid, inv_dx = n_grid;
constexpr float dt = 1e-4f;
constexpr float p_vol = 0.25f * dx * dx;
constexpr float p_mass = p_vol * 1.0f;
constexpr float E = 1000.0f, nu = 0.2f;
constexpr float mu_0 = E / (2 * (1 + nu)), lambda_0 = E * nu / ((1 + nu) * (1 - 2 * nu));
constexpr float gravity = 50.0f;
enum { WATER, JELLY, SNOW };

struct mat2 {
    float xx, xy, yx, yy;
};

__device__ float2 operator+(float2 a, float2 b) {
    return {a.x + b.x, a.y + b.y};
}

__device__ float2 operator*(float s, float2 a) {
    return {s * a.x, s * a.y};
}

__device__ mat2 operator+(mat2 a, mat2 b) {
    return {a.xx + b.xx, a.xy + b.xy, a.yx + b.yx, a.yy + b.yy};
}

__device__ mat2 operator-(mat2 a, mat2 b) {
    return {a.xx - b.xx, a.xy - b.xy, a.yx - b.yx, a.yy - b.yy};
}

__device__ mat2 operator*(float s, mat2 a) {
    return {s * a.xx, s * a.xy, s * a.yx, s * a.yy};
}

__device__ float2 operator*(mat2 a, float2 b) {
    return {a.xx * b.x + a.xy * b.y, a.yx * b.x + a.yy * b.y};
}

__device__ mat2 operator*(mat2 a, mat2 b) {
    return {
        a.xx * b.xx + a.xy * b.yx,
        a.xx * b.xy + a.xy * b.yy,
        a.yx * b.xx + a.yy * b.yx,
        a.yx * b.xy + a.yy * b.yy,
    };
}

__device__ mat2 transpose(mat2 a) {
    return {a.xx, a.yx, a.xy, a.yy};
}

__device__ mat2 diagonal(float x, float y) {
    return {x, 0.0f, 0.0f, y};
}

// A = U * diagonal(sig) * transpose(V): the polar decomposition, then a Jacobi rotation.
__device__ void svd(mat2 A, mat2 &U, float2 &sig, mat2 &V) {
    float c = A.xx + A.yy, s = A.yx - A.xy;
    float length = sqrtf(c * c + s * s);
    mat2 R = {1.0f, 0.0f, 0.0f, 1.0f};
    if (length > 0) {
        R = (1 / length) * mat2{c, -s, s, c};
    }
    mat2 S = transpose(R) * A;
    V = {1.0f, 0.0f, 0.0f, 1.0f};
    sig = {S.xx, S.yy};
    if (fabsf(S.xy) > 1e-12f) {
        float tau = 0.5f * (S.xx - S.yy);
        float w = sqrtf(tau * tau + S.xy * S.xy);
        float t = S.xy / (tau + (tau > 0 ? w : -w));
        float cosine = 1 / sqrtf(t * t + 1);
        float sine = t * cosine;
        V = {cosine, -sine, sine, cosine};
        sig = {S.xx + t * S.xy, S.yy - t * S.xy};
    }
    U = R * V;
}

// Quadratic B-spline weights of three nodes along one axis.
__device__ void weights(float fx, float w[3]) {
    w[0] = 0.5f * (1.5f - fx) * (1.5f - fx);
    w[1] = 0.75f - (fx - 1.0f) * (fx - 1.0f);
    w[2] = 0.5f * (fx - 0.5f) * (fx - 0.5f);
}

extern "C" __global__ void clear_grid(float2 *grid_v, float *grid_m) {
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node < n_grid * n_grid) {
        grid_v[node] = {0.0f, 0.0f};
        grid_m[node] = 0.0f;
    }
}

extern "C" __global__ void particles_to_grid(
    const float2 *__restrict__ x, const float2 *__restrict__ v, const mat2 *__restrict__ C,
    mat2 *__restrict__ F, const int *__restrict__ material, float *__restrict__ Jp,
    float2 *__restrict__ grid_v, float *__restrict__ grid_m
) {
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= n_particles) {
        return;
    }
    float2 Xp = inv_dx * x[p];
    int2 base = {int(Xp.x - 0.5f), int(Xp.y - 0.5f)};
    float2 fx = {Xp.x - base.x, Xp.y - base.y};
    float wx[3], wy[3];
    weights(fx.x, wx);
    weights(fx.y, wy);
    mat2 deformation = (diagonal(1, 1) + dt * C[p]) * F[p];
    float h = expf(10 * (1 - Jp[p]));  // snow gets harder when compressed
    if (material[p] == JELLY) {
        h = 0.3f;
    }
    float mu = material[p] == WATER ? 0.0f : mu_0 * h;
    float la = lambda_0 * h;
    mat2 U, V;
    float2 sig;
    svd(deformation, U, sig, V);
    if (material[p] == SNOW) {
        float2 limited = {
            fminf(fmaxf(sig.x, 1 - 2.5e-2f), 1 + 4.5e-3f),
            fminf(fmaxf(sig.y, 1 - 2.5e-2f), 1 + 4.5e-3f),
        };
        Jp[p] *= sig.x / limited.x * (sig.y / limited.y);
        sig = limited;
        deformation = U * diagonal(sig.x, sig.y) * transpose(V);
    }
    float J = sig.x * sig.y;
    if (material[p] == WATER) {
        deformation = diagonal(sqrtf(J), sqrtf(J));
    }
    F[p] = deformation;
    mat2 stress = 2 * mu * (deformation - U * transpose(V)) * transpose(deformation);
    stress = stress + diagonal(la * J * (J - 1), la * J * (J - 1));
    mat2 affine = (-dt * p_vol * 4 * inv_dx * inv_dx) * stress + p_mass * C[p];
    #pragma unroll
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            float2 dpos = {(i - fx.x) * dx, (j - fx.y) * dx};
            float weight = wx[i] * wy[j];
            float2 share = weight * (p_mass * v[p] + affine * dpos);
            int node = (base.x + i) * n_grid + base.y + j;
            atomicAdd(&grid_v[node].x, share.x);
            atomicAdd(&grid_v[node].y, share.y);
            atomicAdd(&grid_m[node], weight * p_mass);
        }
    }
}

extern "C" __global__ void update_grid(float2 *grid_v, const float *grid_m) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y;
    int node = i * n_grid + j;
    if (j >= n_grid || grid_m[node] <= 0) {
        return;
    }
    float2 v = (1 / grid_m[node]) * grid_v[node];
    v.y -= dt * gravity;
    if ((i < 3 && v.x < 0) || (i > n_grid - 3 && v.x > 0)) {
        v.x = 0;
    }
    if ((j < 3 && v.y < 0) || (j > n_grid - 3 && v.y > 0)) {
        v.y = 0;
    }
    grid_v[node] = v;
}

extern "C" __global__ void grid_to_particles(
    float2 *__restrict__ x, float2 *__restrict__ v, mat2 *__restrict__ C,
    const float2 *__restrict__ grid_v
) {
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= n_particles) {
        return;
    }
    float2 Xp = inv_dx * x[p];
    int2 base = {int(Xp.x - 0.5f), int(Xp.y - 0.5f)};
    float2 fx = {Xp.x - base.x, Xp.y - base.y};
    float wx[3], wy[3];
    weights(fx.x, wx);
    weights(fx.y, wy);
    float2 new_v = {0.0f, 0.0f};
    mat2 new_C = {};
    #pragma unroll
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            float2 dpos = {i - fx.x, j - fx.y};
            float2 share = wx[i] * wy[j] * grid_v[(base.x + i) * n_grid + base.y + j];
            new_v = new_v + share;
            mat2 outer = {share.x * dpos.x, share.x * dpos.y, share.y * dpos.x, share.y * dpos.y};
            new_C = new_C + 4 * inv_dx * outer;
        }
    }
    v[p] = new_v;
    C[p] = new_C;
    x[p] = x[p] + dt * new_v;
}
