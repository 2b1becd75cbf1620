// shadesmith 0.1.0, cuda 51b286da, normalize.py:4: normalize(a: ndarray[f32, 1])

#define BLOCK 128
#define LOADS 8  // iterations of a thread at a time, so that their loads overlap
#define MAX_BLOCKS 1056u  // that store partial results

typedef unsigned int uint32_t;

// Whether all other blocks have stored their results, which this one then sees. All threads of a
// block call it.
__device__ inline bool is_last_block(unsigned *done, unsigned blocks) {
    __shared__ bool is_last;
    if (threadIdx.x == 0) {
        __threadfence();
        is_last = atomicInc(done, blocks - 1) == blocks - 1;  // which sets the count back to 0
    }
    __syncthreads();
    __threadfence();
    return is_last;
}

using vec4 = float4;

__device__ inline vec4 &operator/=(vec4 &a, float b) {
    return a = {a.x / b, a.y / b, a.z / b, a.w / b};
}

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

struct Temporaries {
    float total;                  // f32
    uint32_t blocks_done;         // u32
    float total_of_blocks[1056];  // f32
};

struct Args {
    float *__restrict__ a_data;  // a: ndarray[f32, 1]
    Temporaries *temporaries;    // values that cross tasks
    int a_n;                     // a.shape[0]
};

#define a(i) args.a_data[i]
#define a4(i) (*(vec4 *)&args.a_data[i])

// task 0 of 3: serial
extern "C" __global__ void normalize_0(const Args args) {
    // normalize.py:5  total = 0.0
    args.temporaries->total = 0.0f;
}

// task 1 of 3: range_for over a
// normalize.py:6  for i in range(a.shape[0]):
__device__ inline void task_1(const Args &args, int i, float &total) {
    total += a(i);  // :7, not atomic: joined below (reduce_atomics)
}

extern "C" __global__ void __launch_bounds__(BLOCK) normalize_1(const Args args) {
    // The last block joins the results of all, in a fixed order: each run gives the same bits.
    unsigned blocks = min(gridDim.x, MAX_BLOCKS);
    if (blockIdx.x >= blocks) {
        return;
    }
    float total = 0.0f;
    unsigned first = blockIdx.x * BLOCK * LOADS + threadIdx.x;
    for (; first + (LOADS - 1) * BLOCK < unsigned(args.a_n); first += blocks * BLOCK * LOADS) {
        #pragma unroll
        for (unsigned item = 0; item < LOADS; item++) {
            unsigned index = first + item * BLOCK;
            task_1(args, int(index), total);
        }
    }
    #pragma unroll 1
    for (unsigned index = first; index < unsigned(args.a_n); index += BLOCK) {
        task_1(args, int(index), total);
    }
    static_assert(BLOCK % 32 == 0, "all warps of a block are full");
    total = block_sum(total);
    if (threadIdx.x == 0) {
        args.temporaries->total_of_blocks[blockIdx.x] = total;
    }
    if (is_last_block(&args.temporaries->blocks_done, blocks)) {
        total = 0.0f;
        for (unsigned i = threadIdx.x; i < blocks; i += BLOCK) {
            total += args.temporaries->total_of_blocks[i];
        }
        total = block_sum(total);
        if (threadIdx.x == 0) {
            args.temporaries->total += total;
        }
    }
}

// task 2 of 3: range_for over a
// normalize.py:8  for i in a:
extern "C" __global__ void __launch_bounds__(BLOCK) normalize_2(const Args args) {
    unsigned index = blockIdx.x * BLOCK + threadIdx.x;
    if (index >= (unsigned(args.a_n) + 3) / 4) return;
    int i = index * 4;
    // four iterations at a time, by accesses of 16 bytes (wide_accesses)
    if ((size_t)args.a_data % 16 == 0 && i <= args.a_n - 4) {
        // normalize.py:9  a[i] /= total
        a4(i) /= args.temporaries->total;
    } else {
        // one by one; i + 4 might overflow
        int end = i + min(args.a_n - i, 4);
        for (int ii = i; ii < end; ii++) {
            a(ii) /= args.temporaries->total;
        }
    }
}
