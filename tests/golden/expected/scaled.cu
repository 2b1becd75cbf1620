// shadesmith 0.1.0, cuda 15d115bc, scaled.py:9: scaled(a: f32)

#define BLOCK 128

constexpr int x_n0 = 2048, x_n1 = 1024;  // shape of x, y

using vec4 = float4;

__device__ inline vec4 operator*(float a, vec4 b) { return {a * b.x, a * b.y, a * b.z, a * b.w}; }

struct Args {
    const float *__restrict__ x_data;  // x: field[f32, 2048x1024]
    float *__restrict__ y_data;        // y: field[f32, 2048x1024]
    float a;                           // a: f32
};

#define x4(i, j) (*(const vec4 *)&args.x_data[(i) * x_n1 + (j)])
#define y4(i, j) (*(vec4 *)&args.y_data[(i) * x_n1 + (j)])

// scaled.py:10  for i, j in x:
extern "C" __global__ void __launch_bounds__(BLOCK) scaled_0(const Args args) {
    unsigned index = blockIdx.x * BLOCK + threadIdx.x;
    if (index >= x_n0 * (x_n1 / 4)) return;
    int i = index / (x_n1 / 4), j = index % (x_n1 / 4) * 4;
    // four iterations at a time, by accesses of 16 bytes (wide_accesses)
    // scaled.py:11  y[i, j] = a * x[i, j]
    y4(i, j) = args.a * x4(i, j);
}
