// shadesmith 0.1.0, cuda 750079da, hand_tuning.py:28:
// multiply(a: ndarray[f32, 2], b: ndarray[f32, 2], c: ndarray[f32, 2])

#define BLOCK 128

typedef unsigned int uint32_t;
using vec4 = float4;

__device__ inline vec4 &operator+=(vec4 &a, vec4 b) {
    return a = {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w};
}

__device__ inline vec4 operator*(vec4 a, float b) { return {a.x * b, a.y * b, a.z * b, a.w * b}; }

struct Args {
    const float *a_data;  // a: ndarray[f32, 2]
    const float *b_data;  // b: ndarray[f32, 2]
    float *c_data;        // c: ndarray[f32, 2]
    int a_n1;             // a.shape[1]
    int b_n1;             // b.shape[1]
    int c_n0;             // c.shape[0]
    int c_n1;             // c.shape[1]
};

#define a(i, j) args.a_data[(long long)(i) * args.a_n1 + (j)]
#define b(i, j) args.b_data[(long long)(i) * args.b_n1 + (j)]
#define c(i, j) args.c_data[(long long)(i) * args.c_n1 + (j)]

// hand_tuning.py:29  for i, j in c:
extern "C" __global__ void __launch_bounds__(BLOCK) multiply_0(const Args args) {
    int rows = (uint32_t)args.c_n0 * (uint32_t)args.c_n1 >= 1048576u ? 4 : 1;
    unsigned index = blockIdx.x * BLOCK + threadIdx.x;
    if (index >= unsigned((args.c_n0 - 1) / rows + 1) * unsigned(args.c_n1)) return;
    int i = index / args.c_n1 * rows, j = index % args.c_n1;
    if (rows == 4 && i <= args.c_n0 - 4) {
        // four rows share what they load, if there are many (row_lanes)
        vec4 total = {0.0f, 0.0f, 0.0f, 0.0f};  // :30
        // hand_tuning.py:31  for k in range(a.shape[1]):
        for (int k = 0; k < args.a_n1; k++) {
            // hand_tuning.py:32  total += a[i, k] * b[k, j]
            total += vec4{a(i, k), a(i + 1, k), a(i + 2, k), a(i + 3, k)} * b(k, j);
        }
        // hand_tuning.py:33  c[i, j] = total
        c(i, j) = total.x;
        c(i + 1, j) = total.y;
        c(i + 2, j) = total.z;
        c(i + 3, j) = total.w;
    } else {
        #pragma unroll 1
        for (int ii = i; ii < (rows == 4 ? args.c_n0 : i + 1); ii++) {
            float total = 0.0f;
            for (int k = 0; k < args.a_n1; k++) {
                total += a(ii, k) * b(k, j);
            }
            c(ii, j) = total;
        }
    }
}
