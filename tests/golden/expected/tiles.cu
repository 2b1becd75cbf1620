// tiles(a: ndarray[f32, 1], sums: ndarray[f32, 1]), range_for over a
// from tiles.py:4, interface 2cf7bbaa

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
        // tiles.py:9  x = a[i] * a[i]
        x = a(i) * a(i);
        // tiles.py:10  tile[t] = x
        tile[t] = x;
    }
    // tiles.py:11  ti.simt.block.sync()
    __syncthreads();
    // tiles.py:12  stride = 32
    int stride = 32;
    // tiles.py:13  while stride > 0:
    while (stride > 0) {
        if (has_iteration) {
            // tiles.py:14  if t < stride:
            if (t < stride) {
                // tiles.py:15  tile[t] += tile[t + stride]
                tile[t] += tile[t + stride];  // not atomic: no other thread writes it (demote_atomics)
            }
        }
        // tiles.py:16  ti.simt.block.sync()
        __syncthreads();
        // tiles.py:17  stride >>= 1
        stride >>= 1;
    }
    if (has_iteration) {
        // tiles.py:18  a[i] = x / tile[0]
        a(i) = x / tile[0];
        // tiles.py:19  if t == 0:
        if (t == 0) {
            // tiles.py:20  sums[i // 64] = tile[0]
            sums(i / 64) = tile[0];
        }
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK) tiles_0(const Args args) {
    unsigned index = blockIdx.x * BLOCK + threadIdx.x;
    task(args, int(index), index < unsigned(args.a_n));
}
