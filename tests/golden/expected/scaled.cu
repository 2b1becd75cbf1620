// shadesmith 0.1.0, cuda 338c4be6, scaled.py:9: scaled(a: f32)

#define BLOCK 128
#define LOADS 8  // iterations of a thread at a time, so that their loads overlap

constexpr int x_n0 = 2048, x_n1 = 1024;  // shape of x, y

struct Args {
    const float *__restrict__ x_data;  // x: field[f32, 2048x1024]
    float *__restrict__ y_data;        // y: field[f32, 2048x1024]
    float a;                           // a: f32
};

#define x(i, j) __ldg(&args.x_data[(i) * x_n1 + (j)])
#define y(i, j) args.y_data[(i) * x_n1 + (j)]

// scaled.py:10  for i, j in x:
__device__ inline void task(const Args &args, int i, int j) {
    y(i, j) = args.a * x(i, j);  // :11
}

extern "C" __global__ void __launch_bounds__(BLOCK) scaled_0(const Args args) {
    unsigned count = x_n0 * x_n1;
    unsigned stride = gridDim.x * BLOCK * LOADS;
    unsigned first = blockIdx.x * BLOCK * LOADS + threadIdx.x;
    for (; first + (LOADS - 1) * BLOCK < count; first += stride) {
        #pragma unroll
        for (unsigned item = 0; item < LOADS; item++) {
            unsigned index = first + item * BLOCK;
            task(args, int(index / x_n1), int(index % x_n1));
        }
    }
    #pragma unroll 1
    for (unsigned index = first; index < count; index += BLOCK) {
        task(args, int(index / x_n1), int(index % x_n1));
    }
}
