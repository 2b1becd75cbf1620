// shadesmith 0.1.0, c 65457408, jacobi.py:4:
// jacobi(a: ndarray[f32, 2], b: ndarray[f32, 2], w: f32)

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
static inline void task(const struct Args args, int i, int j) {
    // `if 0 < i < n - 1 and 0 < j < m - 1:` is the range of the loop (narrow_loops)
    float s = a(i - 1, j) + a(i + 1, j) + a(i, j - 1) + a(i, j + 1);  // :8
    b(i, j) = a(i, j) + args.w * (0.25f * s - a(i, j));  // :9
}

void jacobi_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    int end_i = args.n - 1;
    int end_j = args.m - 1;
    #pragma omp parallel for firstprivate(args) schedule(static) \
        if ((long long)(end_i - 1) * (end_j - 1) >= 8192)
    for (int i = 1; i < end_i; i++) {
        #pragma omp simd
        for (int j = 1; j < end_j; j++) {
            task(args, i, j);
        }
    }
}
