// Density and pressure of SPH: particles are put into cells, each sums over the 27 around it.

constexpr int n_particles = 1 << 16;
constexpr int n_cells = 32;
constexpr int max_per_cell = 32;
constexpr float h = 1.0f / n_cells;
constexpr float mass = 1000.0f / n_particles;
constexpr float rest_density = 1000.0f;
constexpr float stiffness = 50.0f;
constexpr float h3 = h * h * h;
constexpr float poly6_factor = 315.0f / (64.0f * 3.14159265f * h3 * h3 * h3);

__device__ int3 cell_of(float3 p) {
    return {int(floorf(p.x / h)), int(floorf(p.y / h)), int(floorf(p.z / h))};
}

__device__ bool inside(int3 c) {
    return c.x >= 0 && c.y >= 0 && c.z >= 0 && c.x < n_cells && c.y < n_cells && c.z < n_cells;
}

__device__ int index_of(int3 c) {
    return (c.x * n_cells + c.y) * n_cells + c.z;
}

__device__ float poly6(float r2) {
    float d = fmaxf(h * h - r2, 0.0f);
    return poly6_factor * d * d * d;
}

extern "C" __global__ void clear_cells(int *count) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < n_cells * n_cells * n_cells) {
        count[c] = 0;
    }
}

extern "C" __global__ void fill_cells(const float3 *x, int *count, int *cell) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n_particles) {
        return;
    }
    int3 c = cell_of(x[i]);
    if (inside(c)) {
        int k = atomicAdd(&count[index_of(c)], 1);
        if (k < max_per_cell) {
            cell[index_of(c) * max_per_cell + k] = i;
        }
    }
}

extern "C" __global__ void compute_density(
    const float3 *__restrict__ x, const int *__restrict__ count, const int *__restrict__ cell,
    float *__restrict__ density, float *__restrict__ pressure
) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n_particles) {
        return;
    }
    int3 c = cell_of(x[i]);
    float rho = 0.0f;
    for (int dx = -1; dx <= 1; dx++) {
        for (int dy = -1; dy <= 1; dy++) {
            for (int dz = -1; dz <= 1; dz++) {
                int3 neighbour = {c.x + dx, c.y + dy, c.z + dz};
                if (!inside(neighbour)) {
                    continue;
                }
                int index = index_of(neighbour);
                int entries = min(count[index], max_per_cell);
                for (int k = 0; k < entries; k++) {
                    float3 p = x[cell[index * max_per_cell + k]];
                    float3 r = {x[i].x - p.x, x[i].y - p.y, x[i].z - p.z};
                    rho += mass * poly6(r.x * r.x + r.y * r.y + r.z * r.z);
                }
            }
        }
    }
    density[i] = rho;
    pressure[i] = fmaxf(stiffness * (powf(rho / rest_density, 7.0f) - 1.0f), 0.0f);
}
