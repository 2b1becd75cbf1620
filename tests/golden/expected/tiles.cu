// shadesmith 0.1.0, cuda 89bfaa74, tiles.py:4: tiles(a: ndarray[f32, 1], sums: ndarray[f32, 1])

#define BLOCK 64

struct Args {
    float *a_data;     // a: ndarray[f32, 1]
    float *sums_data;  // sums: ndarray[f32, 1]
    int a_n;           // a.shape[0]
};

#define a(i) args.a_data[i]
#define sums(i) args.sums_data[i]

// tiles.py:6  for i in a:
__device__ inline void task(const Args &args, int i, bool has_iteration) {
    __shared__ float tile[64];
    // tiles.py:8  t = ti.simt.block.thread_idx()
    int t = int(threadIdx.x);
    float x;
    if (has_iteration) {
        x = a(i) * a(i);  // :9
        tile[t] = x;  // :10
    }
    // tiles.py:11  ti.simt.block.sync()
    __syncthreads();
    int stride = 32;  // :12
    while (stride > 0) {  // :13
        if (has_iteration) {
            if (t < stride) {  // :14
                // not atomic: no other thread writes it (demote_atomics)
                tile[t] += tile[t + stride];  // :15
            }
        }
        // tiles.py:16  ti.simt.block.sync()
        __syncthreads();
        stride >>= 1;  // :17
    }
    if (has_iteration) {
        a(i) = x / tile[0];  // :18
        if (t == 0) {  // :19
            // tiles.py:20  sums[i // 64] = tile[0]
            sums(i >> 6) = tile[0];
        }
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK) tiles_0(const Args args) {
    unsigned index = blockIdx.x * BLOCK + threadIdx.x;
    task(args, int(index), index < unsigned(args.a_n));
}
