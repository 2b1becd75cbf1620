// shadesmith 0.1.0, cuda 4849511e, bins.py:9: bins_of(low: i32)

#define BLOCK 1024

constexpr int x_n0 = 1048576;  // shape of x
constexpr int bins_n0 = 16, bins_n1 = 4;  // shape of bins

struct Args {
    const int *__restrict__ x_data;  // x: field[i32, 1048576]
    int *__restrict__ bins_data;     // bins: field[i32, 16x4]
    int low;                         // low: i32
};

#define x(i) args.x_data[i]
#define bins(i, j) args.bins_data[(i) * bins_n1 + (j)]

// bins.py:10  for i in x:
__device__ inline void task(const Args &args, int i) {
    if (x(i) >= args.low) {  // :11
        // bins.py:12  bins[x[i] >> 4 & 15, x[i] & 3] += 1
        atomicAdd(&bins((x(i) >> 4) & 15, x(i) & 3), 1);  // to the block's copy (block_sums)
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK) bins_of_0(const Args args) {
    // Each block adds to copies in shared memory, for which fewer threads wait at an address.
    __shared__ int bins_copy[bins_n0 * bins_n1];
    for (unsigned k = threadIdx.x; k < bins_n0 * bins_n1; k += BLOCK) {
        bins_copy[k] = 0;
    }
    __syncthreads();
    Args own = args;
    own.bins_data = bins_copy;
    for (unsigned index = blockIdx.x * BLOCK + threadIdx.x; index < x_n0;
        index += gridDim.x * BLOCK) {
        task(own, int(index));
    }
    __syncthreads();
    for (unsigned k = threadIdx.x; k < bins_n0 * bins_n1; k += BLOCK) {
        if (bins_copy[k] != 0) {
            atomicAdd(&args.bins_data[k], bins_copy[k]);
        }
    }
}
