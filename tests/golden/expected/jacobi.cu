// shadesmith 0.1.0, cuda f385c4e9, jacobi.py:4:
// jacobi(a: ndarray[f32, 2], b: ndarray[f32, 2], w: f32)

#define BLOCK 128

// How to divide by a number of the launch without a division.
struct Divisor { unsigned multiplier, shift; };

// n / d for n, d up to 2^31; a launch packs `by` for d.
__device__ inline unsigned divide(unsigned n, Divisor by) {
    return (__umulhi(n, by.multiplier) + n) >> by.shift;
}

using vec4 = float4;

__device__ inline vec4 operator+(vec4 a, vec4 b) {
    return {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w};
}

__device__ inline vec4 operator*(float a, vec4 b) { return {a * b.x, a * b.y, a * b.z, a * b.w}; }

__device__ inline vec4 operator-(vec4 a, vec4 b) {
    return {a.x - b.x, a.y - b.y, a.z - b.z, a.w - b.w};
}

struct Args {
    const float *a_data;  // a: ndarray[f32, 2]
    float *b_data;        // b: ndarray[f32, 2]
    float w;              // w: f32
    int n;                // a.shape[0]
    int m;                // a.shape[1]
    int b_n1;             // b.shape[1]
    Divisor by_extent_j;  // to divide by the extent along j (launch_divisors)
};

#define a(i, j) args.a_data[(long long)(i) * args.m + (j)]
#define a4(i, j) (*(const vec4 *)&args.a_data[(long long)(i) * args.m + (j)])
#define b(i, j) args.b_data[(long long)(i) * args.b_n1 + (j)]
#define b4(i, j) (*(vec4 *)&args.b_data[(long long)(i) * args.b_n1 + (j)])

// jacobi.py:6  for i, j in a:
__device__ inline void iteration(const Args &args, int i, int j, float w) {
    if (0 < i && i < args.n - 1 && 0 < j && j < args.m - 1) {  // :7
        float s = a(i - 1, j) + a(i + 1, j) + a(i, j - 1) + a(i, j + 1);  // :8
        b(i, j) = a(i, j) + w * (0.25f * s - a(i, j));  // :9
    }
}

// jacobi.py:6  for i, j in a:
extern "C" __global__ void __launch_bounds__(BLOCK) jacobi_0(const Args args) {
    int extent_j = (unsigned(args.m) + 3) / 4;
    unsigned index = blockIdx.x * BLOCK + threadIdx.x;
    if (index >= unsigned(args.n) * unsigned(extent_j)) return;
    int i = divide(index, args.by_extent_j), j = (index - i * extent_j) * 4;
    // four iterations at a time, by accesses of 16 bytes (wide_accesses)
    bool aligned = (size_t)args.a_data % 16 == 0 && (size_t)args.b_data % 16 == 0 && args.m % 4 == 0
        && args.b_n1 % 4 == 0;
    if (aligned && 0 < i && i < args.n - 1 && 0 < j && j < args.m - 4) {
        // jacobi.py:8  s = a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]
        vec4 a_ij = a4(i, j);
        vec4 s = a4(i - 1, j) + a4(i + 1, j) + vec4{a(i, j - 1), a_ij.x, a_ij.y, a_ij.z}
            + vec4{a_ij.y, a_ij.z, a_ij.w, a(i, j + 4)};
        // jacobi.py:9  b[i, j] = a[i, j] + w * (0.25 * s - a[i, j])
        b4(i, j) = a_ij + args.w * (0.25f * s - a_ij);
    } else {
        // one by one; if rows are not aligned, neighbouring threads take neighbours
        int quarter = (args.m - 1) / 4 + 1;
        #pragma unroll 1
        for (int part = 0; part < 4; part++) {
            int jj = aligned ? j + part : j / 4 + part * quarter;
            if (jj < args.m) {
                iteration(args, i, jj, args.w);
            }
        }
    }
}
