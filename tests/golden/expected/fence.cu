// shadesmith 0.1.0, cuda 097876a0, fence.py:9:
// fence(parts: ndarray[i32, 1], last: ndarray[i32, 1])

#define BLOCK 64

struct Args {
    int *parts_data;  // parts: ndarray[i32, 1]
    int *last_data;   // last: ndarray[i32, 1]
    int *done_data;   // done: field[i32, 0-D]
    int parts_n;      // parts.shape[0]
};

#define parts(i) args.parts_data[i]
#define last(i) args.last_data[i]
#define done() args.done_data[0]

// fence.py:11  for i in parts:
__device__ inline void task(const Args &args, int i) {
    // fence.py:12  parts[i] += 1
    atomicAdd(&parts(i), 1);
    // fence.py:13  ti.simt.grid.memfence()
    __threadfence();
    // fence.py:14  last[i] = ti.atomic_add(done[None], 1)
    last(i) = atomicAdd(&done(), 1);
}

extern "C" __global__ void __launch_bounds__(BLOCK) fence_0(const Args args) {
    for (unsigned index = blockIdx.x * BLOCK + threadIdx.x; index < unsigned(args.parts_n);
        index += gridDim.x * BLOCK) {
        task(args, int(index));
    }
}
