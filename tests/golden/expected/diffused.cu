// shadesmith 0.1.0, cuda 4f8e5248, diffused.py:10: diffused(rate: f32)

#define BLOCK 128

constexpr int u_n0 = 512, u_n1 = 256;  // shape of u, w
constexpr int n = 512, m = 256;  // captured

using vec4 = float4;

__device__ inline vec4 operator+(vec4 a, vec4 b) {
    return {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w};
}

__device__ inline vec4 operator*(float a, vec4 b) { return {a * b.x, a * b.y, a * b.z, a * b.w}; }

__device__ inline vec4 operator-(vec4 a, vec4 b) {
    return {a.x - b.x, a.y - b.y, a.z - b.z, a.w - b.w};
}

struct Args {
    const float *__restrict__ u_data;  // u: field[f32, 512x256]
    float *__restrict__ w_data;        // w: field[f32, 512x256]
    float rate;                        // rate: f32
};

#define u(i, j) args.u_data[(i) * u_n1 + (j)]
#define u4(i, j) (*(const vec4 *)&args.u_data[(i) * u_n1 + (j)])
#define w(i, j) args.w_data[(i) * u_n1 + (j)]
#define w4(i, j) (*(vec4 *)&args.w_data[(i) * u_n1 + (j)])

// diffused.py:11  for i, j in u:
__device__ inline void iteration(const Args &args, int i, int j, float rate) {
    if (0 < i && i < n - 1 && 0 < j && j < m - 1) {  // :12
        float total = u(i - 1, j) + u(i + 1, j) + u(i, j - 1) + u(i, j + 1);  // :13
        w(i, j) = u(i, j) + rate * (total - 4.0f * u(i, j));  // :14
    }
}

// 256 threads on an SM, with up to 255 registers for loads in flight (few_threads)
// diffused.py:11  for i, j in u:
extern "C" __global__ void __launch_bounds__(BLOCK, 256 / BLOCK) diffused_0(const Args args) {
    unsigned index = blockIdx.x * BLOCK + threadIdx.x;
    if (index >= u_n0 * (u_n1 / 4)) return;
    int i = index / (u_n1 / 4), j = index % (u_n1 / 4) * 4;
    // four iterations at a time, by accesses of 16 bytes (wide_accesses)
    if (0 < i && i < n - 1 && 0 < j && j + 3 < m - 1) {
        // diffused.py:13  total = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
        vec4 u_ij = u4(i, j);
        vec4 total = u4(i - 1, j) + u4(i + 1, j) + vec4{u(i, j - 1), u_ij.x, u_ij.y, u_ij.z}
            + vec4{u_ij.y, u_ij.z, u_ij.w, u(i, j + 4)};
        // diffused.py:14  w[i, j] = u[i, j] + rate * (total - 4.0 * u[i, j])
        w4(i, j) = u_ij + args.rate * (total - 4.0f * u_ij);
    } else {
        #pragma unroll 1
        for (int jj = j; jj < j + 4; jj++) {
            iteration(args, i, jj, args.rate);
        }
    }
}
