// shadesmith 0.1.0, cuda 20385a85, normalize.py:4: normalize(a: ndarray[f32, 1])

#define BLOCK 128

struct Temporaries {
    float total;  // f32
};

struct Args {
    float *a_data;             // a: ndarray[f32, 1]
    Temporaries *temporaries;  // values that cross tasks
    int a_n;                   // a.shape[0]
};

#define a(i) args.a_data[i]

// task 0 of 3: serial
__device__ inline void task_0(const Args &args) {
    // normalize.py:5  total = 0.0
    args.temporaries->total = 0.0f;
}

extern "C" __global__ void normalize_0(const Args args) {
    task_0(args);
}

// task 1 of 3: range_for over a
// normalize.py:6  for i in range(a.shape[0]):
__device__ inline void task_1(const Args &args, int i) {
    // normalize.py:7  total += a[i]
    atomicAdd(&args.temporaries->total, a(i));
}

extern "C" __global__ void __launch_bounds__(BLOCK) normalize_1(const Args args) {
    unsigned count = unsigned(args.a_n);
    unsigned stride = gridDim.x * BLOCK;
    for (unsigned index = blockIdx.x * BLOCK + threadIdx.x; index < count; index += stride) {
        task_1(args, int(index));
    }
}

// task 2 of 3: range_for over a
// normalize.py:8  for i in a:
__device__ inline void task_2(const Args &args, int i) {
    // normalize.py:9  a[i] /= total
    a(i) /= args.temporaries->total;
}

extern "C" __global__ void __launch_bounds__(BLOCK) normalize_2(const Args args) {
    unsigned count = unsigned(args.a_n);
    unsigned stride = gridDim.x * BLOCK;
    for (unsigned index = blockIdx.x * BLOCK + threadIdx.x; index < count; index += stride) {
        task_2(args, int(index));
    }
}
