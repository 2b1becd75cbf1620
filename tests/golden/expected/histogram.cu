// shadesmith 0.1.0, cuda 53c49658, histogram.py:10:
// histogram(a: ndarray[f32, 1], order: ndarray[i32, 1])

#define BLOCK 128

struct Args {
    const float *a_data;  // a: ndarray[f32, 1]
    int *order_data;      // order: ndarray[i32, 1]
    int *counts_data;     // counts: field[i32, 16]
    float *total_data;    // total: field[f32, 0-D]
    int a_n;              // a.shape[0]
};

#define a(i) args.a_data[i]
#define order(i) args.order_data[i]
#define counts(i) args.counts_data[i]
#define total() args.total_data[0]

// histogram.py:11  for i in a:
__device__ inline void task(const Args &args, int i) {
    int bucket = (int)(a(i) * 16.0f);  // :12
    // histogram.py:13  order[i] = ti.atomic_add(counts[bucket], 1)
    order(i) = atomicAdd(&counts(bucket), 1);
    // histogram.py:14  total[None] += a[i]
    atomicAdd(&total(), a(i));
}

extern "C" __global__ void __launch_bounds__(BLOCK) histogram_0(const Args args) {
    unsigned count = unsigned(args.a_n);
    unsigned stride = gridDim.x * BLOCK;
    for (unsigned index = blockIdx.x * BLOCK + threadIdx.x; index < count; index += stride) {
        task(args, int(index));
    }
}
