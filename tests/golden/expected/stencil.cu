// shadesmith 0.1.0, cuda 9a603548, stencil.py:12:
// stencil(a: ndarray[f32, 2], b: ndarray[f32, 2], order: ndarray[i32, 1])

#define BLOCK 128

// How to divide by a number of the launch without a division.
struct Divisor { unsigned multiplier, shift; };

// n / d for n, d up to 2^31; a launch packs `by` for d.
__device__ inline unsigned divide(unsigned n, Divisor by) {
    return (__umulhi(n, by.multiplier) + n) >> by.shift;
}

struct Args {
    const float *a_data;    // a: ndarray[f32, 2]
    float *b_data;          // b: ndarray[f32, 2]
    const int *order_data;  // order: ndarray[i32, 1]
    int a_n1;               // a.shape[1]
    int b_n0;               // b.shape[0]
    int b_n1;               // b.shape[1]
    int order_n;            // order.shape[0]
    Divisor by_b_n1;        // to divide by b_n1 (launch_divisors)
};

#define a(i, j) args.a_data[(long long)(i) * args.a_n1 + (j)]
#define b(i, j) args.b_data[(long long)(i) * args.b_n1 + (j)]
#define order(i) args.order_data[i]

// stencil.py:5  def first(a, x):
// with a = order
__device__ inline int first(const Args &args, int x) {
    // stencil.py:6  for k in range(a.shape[0]):
    for (int k = 0; k < args.order_n; k++) {
        // stencil.py:7  if a[k] == x:
        if (order(k) == x) {
            return k;  // :8
        }
    }
    return -1;  // :9
}

// a launch of up to 32,768 iterations has blocks of 32 threads (few_threads)
// stencil.py:17  for i, j in b:
extern "C" __global__ void __launch_bounds__(BLOCK) stencil_0(const Args args) {
    unsigned index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= unsigned(args.b_n0) * unsigned(args.b_n1)) return;
    int i = divide(index, args.by_b_n1), j = index - i * args.b_n1;
    float s = 0.0f;  // :18
    // stencil.py:19  for di, dj in ti.static(ti.ndrange((-1, 2), (-1, 2))):
    #pragma unroll
    for (int di = -1; di < 2; di++) {
        #pragma unroll
        for (int dj = -1; dj < 2; dj++) {
            s += a(i + di, j + dj);  // :20
        }
    }
    b(i, j) = s / 9.0f;  // :21
    // stencil.py:22  for k in ti.static(range(2)):
    #pragma unroll
    for (int k = 0; k < 2; k++) {
        int near = i + k;  // :23
        while (near > order(k)) {  // :24
            // stencil.py:25  near -= first(order, j)
            near -= first(args, j);
            if (near == 3) {  // :26
                break;  // :27
            }
        }
        b(near, j) = s;  // :28
    }
}
