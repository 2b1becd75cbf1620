// shadesmith 0.1.0, cuda 3e68cfd1, jacobi.py:4:
// jacobi(a: ndarray[f32, 2], b: ndarray[f32, 2], w: f32)

#define BLOCK 128

struct Args {
    const float *a_data;  // a: ndarray[f32, 2]
    float *b_data;        // b: ndarray[f32, 2]
    float w;              // w: f32
    int n;                // a.shape[0]
    int m;                // a.shape[1]
    int b_n1;             // b.shape[1]
};

#define a(i, j) args.a_data[(long long)(i) * args.m + (j)]
#define b(i, j) args.b_data[(long long)(i) * args.b_n1 + (j)]

// jacobi.py:6  for i, j in a:
__device__ inline void task(const Args &args, int i, int j) {
    if (0 < i && i < args.n - 1 && 0 < j && j < args.m - 1) {  // :7
        float s = a(i - 1, j) + a(i + 1, j) + a(i, j - 1) + a(i, j + 1);  // :8
        b(i, j) = a(i, j) + args.w * (0.25f * s - a(i, j));  // :9
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK) jacobi_0(const Args args) {
    for (unsigned index = blockIdx.x * BLOCK + threadIdx.x;
        index < unsigned(args.n) * unsigned(args.m); index += gridDim.x * BLOCK) {
        task(args, int(index / args.m), int(index % args.m));
    }
}
