// shadesmith 0.1.0, cuda bb14f04a, saxpy.py:4:
// saxpy(x: ndarray[f32, 1], y: ndarray[f32, 1], alpha: f32)

#define BLOCK 128

struct Args {
    const float *x_data;  // x: ndarray[f32, 1]
    float *y_data;        // y: ndarray[f32, 1]
    float alpha;          // alpha: f32
    int x_n;              // x.shape[0]
};

#define x(i) args.x_data[i]
#define y(i) args.y_data[i]

// saxpy.py:5  for i in x:
__device__ inline void task(const Args &args, int i) {
    y(i) = args.alpha * x(i) + y(i);  // :6
}

extern "C" __global__ void __launch_bounds__(BLOCK) saxpy_0(const Args args) {
    unsigned count = unsigned(args.x_n);
    unsigned stride = gridDim.x * BLOCK;
    for (unsigned index = blockIdx.x * BLOCK + threadIdx.x; index < count; index += stride) {
        task(args, int(index));
    }
}
