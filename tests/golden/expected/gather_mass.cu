// shadesmith 0.1.0, cuda 663919fb, gather_mass.py:12: gather_mass(m: f32)

#define BLOCK 128

constexpr int count_n1 = 2;  // shape of count
constexpr int n = 64;  // captured

struct Args {
    const float *__restrict__ x_data;  // x: field[f32, 20000]
    float *__restrict__ mass_data;     // mass: field[f32, 64]
    int *__restrict__ count_data;      // count: field[i32, 64x2]
    float m;                           // m: f32
};

#define x(i) args.x_data[i]
#define mass(i) args.mass_data[i]
#define count(i, j) args.count_data[(i) * count_n1 + (j)]

// gather_mass.py:13  for p in range(20_000):
__device__ inline void task(const Args &args, int p) {
    int cell = (int)(x(p) * (float)n);  // :14
    // gather_mass.py:15  mass[cell] += m
    atomicAdd(&mass(cell), args.m);
    // gather_mass.py:16  count[cell, p % 2] += 1
    atomicAdd(&count(cell, p & 1), 1);
}

extern "C" __global__ void __launch_bounds__(BLOCK) gather_mass_0(const Args args) {
    unsigned index = blockIdx.x * BLOCK + threadIdx.x;
    if (index < 20000u) task(args, int(index));
}
