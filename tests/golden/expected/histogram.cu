// shadesmith 0.1.0, cuda 9e278134, histogram.py:10:
// histogram(a: ndarray[f32, 1], order: ndarray[i32, 1])

#define BLOCK 128

// The sum of the values of a block's threads, in the first; all threads call it.
__device__ inline float block_sum(float value) {
    __shared__ float of_warps[32];
    for (int step = 16; step > 0; step /= 2) {
        value += __shfl_down_sync(0xffffffffu, value, step);
    }
    if (threadIdx.x % 32 == 0) {
        of_warps[threadIdx.x / 32] = value;
    }
    __syncthreads();
    for (unsigned warp = 1; threadIdx.x == 0 && warp < blockDim.x / 32; warp++) {
        value += of_warps[warp];
    }
    __syncthreads();  // the next call overwrites the array
    return value;
}

struct Args {
    const float *a_data;             // a: ndarray[f32, 1]
    int *order_data;                 // order: ndarray[i32, 1]
    int *__restrict__ counts_data;   // counts: field[i32, 16]
    float *__restrict__ total_data;  // total: field[f32, 0-D]
    int a_n;                         // a.shape[0]
};

#define a(i) args.a_data[i]
#define order(i) args.order_data[i]
#define counts(i) args.counts_data[i]
#define total() args.total_data[0]

// histogram.py:11  for i in a:
__device__ inline void task(const Args &args, int i, float &total_sum) {
    int bucket = (int)(a(i) * 16.0f);  // :12
    // histogram.py:13  order[i] = ti.atomic_add(counts[bucket], 1)
    order(i) = atomicAdd(&counts(bucket), 1);
    // histogram.py:14  total[None] += a[i]
    total_sum += a(i);  // not atomic: joined below (reduce_atomics)
}

extern "C" __global__ void __launch_bounds__(BLOCK) histogram_0(const Args args) {
    float total_sum = 0.0f;
    unsigned count = unsigned(args.a_n);
    unsigned stride = gridDim.x * BLOCK;
    for (unsigned index = blockIdx.x * BLOCK + threadIdx.x; index < count; index += stride) {
        task(args, int(index), total_sum);
    }
    total_sum = block_sum(total_sum);
    if (threadIdx.x == 0) {
        atomicAdd(&total(), total_sum);
    }
}
