// shadesmith 0.1.0, cuda cf2c44d0, swap.py:4: swap(a: ndarray[f32, 1])

#define BLOCK 64

struct Args {
    float *__restrict__ a_data;  // a: ndarray[f32, 1]
    int a_n;                     // a.shape[0]
};

#define a(i) args.a_data[i]

// swap.py:6  for i in a:
__device__ inline void task(const Args &args, int i, bool has_iteration) {
    __shared__ float tile[64];
    // swap.py:8  t = ti.simt.block.thread_idx()
    int t = int(threadIdx.x);
    if (has_iteration) {
        tile[t] = a(i);  // :9
    }
    // swap.py:10  ti.simt.block.sync()
    __syncthreads();
    if (has_iteration) {
        a(i) = tile[63 - t];  // :11
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK) swap_0(const Args args) {
    for (unsigned first = blockIdx.x * BLOCK; first < unsigned(args.a_n);
        first += gridDim.x * BLOCK) {
        unsigned index = first + threadIdx.x;
        task(args, int(index), index < unsigned(args.a_n));
        __syncthreads();  // the next iteration overwrites the shared arrays
    }
}
