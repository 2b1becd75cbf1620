// shadesmith 0.1.0, c 898a2b00, jacobi.py:4:
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
    if (0 < i && i < args.n - 1 && 0 < j && j < args.m - 1) {  // :7
        float s = a(i - 1, j) + a(i + 1, j) + a(i, j - 1) + a(i, j + 1);  // :8
        b(i, j) = a(i, j) + args.w * (0.25f * s - a(i, j));  // :9
    }
}

void jacobi_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    #pragma omp parallel for firstprivate(args) schedule(static) \
        if ((long long)args.n * args.m >= 8192)
    for (int i = 0; i < args.n; i++) {
        #pragma omp simd
        for (int j = 0; j < args.m; j++) {
            task(args, i, j);
        }
    }
}
