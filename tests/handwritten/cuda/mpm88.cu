// A substep of MLS-MPM in two dimensions: clear the grid, scatter, update the grid, gather.

constexpr int PARTICLES = 4096;
constexpr int CELLS = 64;
constexpr float SPACING = 1.0f / CELLS;
constexpr float STEP = 2e-4f;
constexpr float VOLUME = 0.25f * SPACING * SPACING;
constexpr float STIFFNESS = 400.0f;
constexpr float GRAVITY = 9.8f;
constexpr int WALL = 3;

struct mat2 {
    float xx, xy, yx, yy;
};

__device__ float2 operator+(float2 a, float2 b) {
    return {a.x + b.x, a.y + b.y};
}

__device__ float2 operator*(float s, float2 a) {
    return {s * a.x, s * a.y};
}

__device__ float2 operator*(mat2 a, float2 b) {
    return {a.xx * b.x + a.xy * b.y, a.yx * b.x + a.yy * b.y};
}

// Quadratic B-spline weights of three nodes along one axis.
__device__ void weights(float offset, float w[3]) {
    w[0] = 0.5f * (1.5f - offset) * (1.5f - offset);
    w[1] = 0.75f - (offset - 1.0f) * (offset - 1.0f);
    w[2] = 0.5f * (offset - 0.5f) * (offset - 0.5f);
}

extern "C" __global__ void clear_grid(float2 *momentum, float *mass) {
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node < CELLS * CELLS) {
        momentum[node] = {0.0f, 0.0f};
        mass[node] = 0.0f;
    }
}

extern "C" __global__ void particles_to_grid(
    const float2 *__restrict__ position, const float2 *__restrict__ velocity,
    const mat2 *__restrict__ affine, const float *__restrict__ stretch,
    float2 *__restrict__ momentum, float *__restrict__ mass
) {
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= PARTICLES) {
        return;
    }
    float2 at = (1 / SPACING) * position[p];
    int2 base = {int(at.x - 0.5f), int(at.y - 0.5f)};
    float2 offset = {at.x - base.x, at.y - base.y};
    float wx[3], wy[3];
    weights(offset.x, wx);
    weights(offset.y, wy);
    float pressure = -STEP * 4 * STIFFNESS * VOLUME * (stretch[p] - 1) / (SPACING * SPACING);
    mat2 a = affine[p];
    mat2 push = {VOLUME * a.xx + pressure, VOLUME * a.xy, VOLUME * a.yx, VOLUME * a.yy + pressure};
    #pragma unroll
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            float2 to_node = {(i - offset.x) * SPACING, (j - offset.y) * SPACING};
            float weight = wx[i] * wy[j];
            float2 share = weight * (VOLUME * velocity[p] + push * to_node);
            int node = (base.x + i) * CELLS + base.y + j;
            atomicAdd(&momentum[node].x, share.x);
            atomicAdd(&momentum[node].y, share.y);
            atomicAdd(&mass[node], weight * VOLUME);
        }
    }
}

extern "C" __global__ void update_grid(float2 *momentum, const float *mass) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y;
    int node = i * CELLS + j;
    if (j >= CELLS || mass[node] <= 0) {
        return;
    }
    float2 v = (1 / mass[node]) * momentum[node];
    v.y -= STEP * GRAVITY;
    if ((i < WALL && v.x < 0) || (i > CELLS - WALL && v.x > 0)) {
        v.x = 0;
    }
    if ((j < WALL && v.y < 0) || (j > CELLS - WALL && v.y > 0)) {
        v.y = 0;
    }
    momentum[node] = v;
}

extern "C" __global__ void grid_to_particles(
    float2 *__restrict__ position, float2 *__restrict__ velocity, mat2 *__restrict__ affine,
    float *__restrict__ stretch, const float2 *__restrict__ momentum
) {
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= PARTICLES) {
        return;
    }
    float2 at = (1 / SPACING) * position[p];
    int2 base = {int(at.x - 0.5f), int(at.y - 0.5f)};
    float2 offset = {at.x - base.x, at.y - base.y};
    float wx[3], wy[3];
    weights(offset.x, wx);
    weights(offset.y, wy);
    float2 v = {0.0f, 0.0f};
    mat2 gradient = {};
    #pragma unroll
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            float2 share = wx[i] * wy[j] * momentum[(base.x + i) * CELLS + base.y + j];
            v = v + share;
            gradient.xx += 4 / SPACING * share.x * (i - offset.x);
            gradient.xy += 4 / SPACING * share.x * (j - offset.y);
            gradient.yx += 4 / SPACING * share.y * (i - offset.x);
            gradient.yy += 4 / SPACING * share.y * (j - offset.y);
        }
    }
    velocity[p] = v;
    position[p] = position[p] + STEP * v;
    stretch[p] *= 1 + STEP * (gradient.xx + gradient.yy);
    affine[p] = gradient;
}
