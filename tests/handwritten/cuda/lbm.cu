// A step of a Lattice-Boltzmann fluid, D2Q9: collision and streaming, then density and velocity.

constexpr int nx = 801, ny = 201;
constexpr float viscosity = 0.01f;
constexpr float inv_tau = 1.0f / (3.0f * viscosity + 0.5f);

struct vec9 {
    float f[9];
};

__constant__ float w[9] = {4 / 9.0f,  1 / 9.0f,  1 / 9.0f,  1 / 9.0f, 1 / 9.0f,
                           1 / 36.0f, 1 / 36.0f, 1 / 36.0f, 1 / 36.0f};
__constant__ int ex[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1};
__constant__ int ey[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};

__device__ float f_eq(int k, float rho, float2 u) {
    float eu = ex[k] * u.x + ey[k] * u.y;
    float uv = u.x * u.x + u.y * u.y;
    return w[k] * rho * (1 + 3 * eu + 4.5f * eu * eu - 1.5f * uv);
}

extern "C" __global__ void collide_and_stream(
    const float *__restrict__ rho, const float2 *__restrict__ vel, const vec9 *__restrict__ f_old,
    vec9 *__restrict__ f_new
) {
    int j = 1 + blockIdx.x * blockDim.x + threadIdx.x;
    int i = 1 + blockIdx.y;
    if (i >= nx - 1 || j >= ny - 1) {
        return;
    }
    #pragma unroll
    for (int k = 0; k < 9; k++) {
        int from = (i - ex[k]) * ny + j - ey[k];
        float equilibrium = f_eq(k, rho[from], vel[from]);
        f_new[i * ny + j].f[k] = (1 - inv_tau) * f_old[from].f[k] + inv_tau * equilibrium;
    }
}

extern "C" __global__ void update_macro(
    float *__restrict__ rho, float2 *__restrict__ vel, vec9 *__restrict__ f_old,
    const vec9 *__restrict__ f_new
) {
    int j = 1 + blockIdx.x * blockDim.x + threadIdx.x;
    int i = 1 + blockIdx.y;
    if (i >= nx - 1 || j >= ny - 1) {
        return;
    }
    int cell = i * ny + j;
    float density = 0.0f;
    float2 momentum = {0.0f, 0.0f};
    #pragma unroll
    for (int k = 0; k < 9; k++) {
        float f = f_new[cell].f[k];
        f_old[cell].f[k] = f;
        density += f;
        momentum.x += ex[k] * f;
        momentum.y += ey[k] * f;
    }
    rho[cell] = density;
    vel[cell] = {momentum.x / density, momentum.y / density};
}
