// shadesmith 0.1.0, cuda ecc84834, saxpy.py:4:
// saxpy(x: ndarray[f32, 1], y: ndarray[f32, 1], alpha: f32)

#define BLOCK 128

using vec4 = float4;

__device__ inline vec4 operator+(vec4 a, vec4 b) {
    return {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w};
}

__device__ inline vec4 operator*(float a, vec4 b) { return {a * b.x, a * b.y, a * b.z, a * b.w}; }

struct Args {
    const float *x_data;  // x: ndarray[f32, 1]
    float *y_data;        // y: ndarray[f32, 1]
    float alpha;          // alpha: f32
    int x_n;              // x.shape[0]
};

#define x(i) args.x_data[i]
#define x4(i) (*(const vec4 *)&args.x_data[i])
#define y(i) args.y_data[i]
#define y4(i) (*(vec4 *)&args.y_data[i])

// saxpy.py:5  for i in x:
extern "C" __global__ void __launch_bounds__(BLOCK) saxpy_0(const Args args) {
    unsigned index = blockIdx.x * BLOCK + threadIdx.x;
    if (index >= (unsigned(args.x_n) + 3) / 4) return;
    int i = index * 4;
    // four iterations at a time, by accesses of 16 bytes (wide_accesses)
    if ((size_t)args.x_data % 16 == 0 && (size_t)args.y_data % 16 == 0 && i <= args.x_n - 4) {
        // saxpy.py:6  y[i] = alpha * x[i] + y[i]
        y4(i) = args.alpha * x4(i) + y4(i);
    } else {
        // one by one; i + 4 might overflow
        int end = i + min(args.x_n - i, 4);
        for (int ii = i; ii < end; ii++) {
            y(ii) = args.alpha * x(ii) + y(ii);
        }
    }
}
