// stencil(a: ndarray[f32, 2], b: ndarray[f32, 2], order: ndarray[i32, 1]), range_for over b
// from stencil.py:12, interface 5d642a28

#define BLOCK 128

struct Args {
    const float *a_data;    // a: ndarray[f32, 2]
    float *b_data;          // b: ndarray[f32, 2]
    const int *order_data;  // order: ndarray[i32, 1]
    int a_n1;               // a.shape[1]
    int b_n0;               // b.shape[0]
    int b_n1;               // b.shape[1]
    int order_n;            // order.shape[0]
};

#define a(i, j) args.a_data[(long long)(i) * args.a_n1 + (j)]
#define b(i, j) args.b_data[(long long)(i) * args.b_n1 + (j)]
#define order(i) args.order_data[i]

// stencil.py:17  for i, j in b:
__device__ inline void task(const Args &args, int i, int j) {
    // stencil.py:20  s += a[i + di, j + dj]
    float s = a(i - 1, j - 1) + a(i - 1, j) + a(i - 1, j + 1) + a(i, j - 1) + a(i, j) + a(i, j + 1)
        + a(i + 1, j - 1) + a(i + 1, j) + a(i + 1, j + 1);
    b(i, j) = s / 9.0f;  // :21
    // stencil.py:23  near = i + k
    int near = i;
    // stencil.py:24  while near > order[k]:
    while (near > order(0)) {
        bool first_returned = false;
        int first_result = 0;
        // stencil.py:6  for k in range(a.shape[0]):
        for (int k = 0; k < args.order_n; k++) {
            // stencil.py:7  if a[k] == x:
            if (order(k) == j) {
                // stencil.py:8  return k
                first_result = k;
                first_returned = true;
                break;
            }
        }
        // stencil.py:9  return -1
        if (!first_returned) {
            first_result = -1;
        }
        // stencil.py:25  near -= first(order, j)
        near -= first_result;
        if (near == 3) {  // :26
            break;  // :27
        }
    }
    b(near, j) = s;  // :28

    int near_1 = i + 1;
    while (near_1 > order(1)) {
        bool first_returned = false;
        int first_result = 0;
        for (int k = 0; k < args.order_n; k++) {
            if (order(k) == j) {
                first_result = k;
                first_returned = true;
                break;
            }
        }
        if (!first_returned) {
            first_result = -1;
        }
        near_1 -= first_result;
        if (near_1 == 3) {
            break;
        }
    }
    b(near_1, j) = s;
}

extern "C" __global__ void __launch_bounds__(BLOCK) stencil_0(const Args args) {
    unsigned index = blockIdx.x * BLOCK + threadIdx.x;
    if (index < unsigned(args.b_n0) * unsigned(args.b_n1)) {
        task(args, int(index / args.b_n1), int(index % args.b_n1));
    }
}
