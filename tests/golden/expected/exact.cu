// shadesmith 0.1.0, cuda ac3fe205, exact.py:4: exact(a: ndarray[f32, 1], b: ndarray[f32, 1])

#define BLOCK 128

struct Args {
    float *a_data;        // a: ndarray[f32, 1]
    const float *b_data;  // b: ndarray[f32, 1]
    int a_n;              // a.shape[0]
};

#define a(i) args.a_data[i]
#define b(i) args.b_data[i]

// exact.py:5  for i in a:
__device__ inline void task(const Args &args, int i) {
    a(i) = a(i) / b(i) + 1.0f;  // :6
}

extern "C" __global__ void __launch_bounds__(BLOCK) exact_0(const Args args) {
    unsigned count = unsigned(args.a_n);
    unsigned stride = gridDim.x * BLOCK;
    for (unsigned index = blockIdx.x * BLOCK + threadIdx.x; index < count; index += stride) {
        task(args, int(index));
    }
}
