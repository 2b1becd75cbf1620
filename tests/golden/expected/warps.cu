// shadesmith 0.1.0, cuda c083c710, warps.py:5: warps(a: ndarray[i32, 1], b: ndarray[i32, 1])

#define BLOCK 256

// Add the values of the lanes of a warp up to this one.
__device__ inline int inclusive_add(int value) {
    int lane = threadIdx.x % 32;
    for (int offset = 1; offset < 32; offset *= 2) {
        int other = __shfl_up_sync(0xffffffffu, value, offset);
        if (lane >= offset) {
            value += other;
        }
    }
    return value;
}

// The greatest of the values of `lanes`.
__device__ inline int reduce_max(unsigned lanes, int value) {
    if (lanes == 0xffffffffu) {
        for (int bits = 16; bits > 0; bits /= 2) {
            value = max(value, __shfl_xor_sync(0xffffffffu, value, bits));
        }
        return value;
    }
    int result = (-2147483647 - 1);
    for (unsigned rest = lanes; rest != 0; rest &= rest - 1) {
        int source = __ffs(rest) - 1;
        int other = __shfl_sync(lanes, value, source);
        result = max(result, other);
    }
    return result;
}

struct Args {
    const int *a_data;  // a: ndarray[i32, 1]
    int *b_data;        // b: ndarray[i32, 1]
};

#define a(i) args.a_data[i]
#define b(i) args.b_data[i]

// warps.py:7  for i in range(1024):
extern "C" __global__ void __launch_bounds__(BLOCK) warps_0(const Args args) {
    static_assert(1024 % BLOCK == 0, "each thread has an iteration");
    int i = blockIdx.x * BLOCK + threadIdx.x;
    // warps.py:8  x = simt.subgroup.inclusive_add(a[i])
    int x = inclusive_add(a(i));
    // warps.py:9  y = simt.warp.shfl_down_i32(ti.u32(0xFFFFFFFF), x, 1)
    int y = __shfl_down_sync(0xffffffffu, x, 1);
    if (x > 0) {  // :10
        // warps.py:11  y += simt.subgroup.reduce_max(x)
        y += reduce_max(__activemask(), x);
    }
    // warps.py:12  b[i] = y + simt.block.sync_count_nonzero(y)
    b(i) = y + __syncthreads_count(y != 0);
}
