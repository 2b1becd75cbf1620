// shadesmith 0.1.0, cuda 97e2565d, gather_mass.py:12: gather_mass(m: f32)

#define BLOCK 128
#define LOADS 8  // iterations of a thread at a time, so that their loads overlap

constexpr int mass_n0 = 64;  // shape of mass
constexpr int count_n0 = 64, count_n1 = 2;  // shape of count
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
    int cell = (int)(x(p) * n);  // :14
    // gather_mass.py:15  mass[cell] += m
    atomicAdd(&mass(cell), args.m);  // to the block's copy (block_sums)
    // gather_mass.py:16  count[cell, p % 2] += 1
    atomicAdd(&count(cell, p & 1), 1);  // to the block's copy (block_sums)
}

extern "C" __global__ void __launch_bounds__(BLOCK) gather_mass_0(const Args args) {
    // Each block adds to copies in shared memory, for which fewer threads wait at an address.
    __shared__ float mass_copy[mass_n0];
    __shared__ int count_copy[count_n0 * count_n1];
    for (unsigned k = threadIdx.x; k < mass_n0; k += BLOCK) {
        mass_copy[k] = 0.0f;
    }
    for (unsigned k = threadIdx.x; k < count_n0 * count_n1; k += BLOCK) {
        count_copy[k] = 0;
    }
    __syncthreads();
    Args own = args;
    own.mass_data = mass_copy;
    own.count_data = count_copy;
    unsigned first = blockIdx.x * BLOCK * LOADS + threadIdx.x;
    for (; first + (LOADS - 1) * BLOCK < 20000; first += gridDim.x * BLOCK * LOADS) {
        #pragma unroll
        for (unsigned item = 0; item < LOADS; item++) {
            unsigned index = first + item * BLOCK;
            task(own, int(index));
        }
    }
    #pragma unroll 1
    for (unsigned index = first; index < 20000; index += BLOCK) {
        task(own, int(index));
    }
    __syncthreads();
    for (unsigned k = threadIdx.x; k < mass_n0; k += BLOCK) {
        if (mass_copy[k] != 0.0f) {
            atomicAdd(&args.mass_data[k], mass_copy[k]);
        }
    }
    for (unsigned k = threadIdx.x; k < count_n0 * count_n1; k += BLOCK) {
        if (count_copy[k] != 0) {
            atomicAdd(&args.count_data[k], count_copy[k]);
        }
    }
}
