// shadesmith 0.1.0, cuda ec79633e, hand_tuning.py:28:
// multiply(a: ndarray[f32, 2], b: ndarray[f32, 2], c: ndarray[f32, 2])

#define BLOCK 128

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
    unsigned index = blockIdx.x * BLOCK + threadIdx.x;
    if (index >= unsigned(args.c_n0) * unsigned(args.c_n1)) return;
    int i = index / args.c_n1, j = index % args.c_n1;
    float total = 0.0f;  // :30
    // hand_tuning.py:31  for k in range(a.shape[1]):
    for (int k = 0; k < args.a_n1; k++) {
        total += a(i, k) * b(k, j);  // :32
    }
    c(i, j) = total;  // :33
}
