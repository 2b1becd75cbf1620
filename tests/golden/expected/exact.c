// shadesmith 0.1.0, c 4ef9e8d0, exact.py:4: exact(a: ndarray[f32, 1], b: ndarray[f32, 1])

struct Args {
    float *a_data;        // a: ndarray[f32, 1]
    const float *b_data;  // b: ndarray[f32, 1]
    int a_n;              // a.shape[0]
};

#define a(i) args.a_data[i]
#define b(i) args.b_data[i]

// exact.py:5  for i in a:
static inline void task(const struct Args args, int i) {
    a(i) = a(i) / b(i) + 1.0f;  // :6
}

void exact_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    #pragma omp parallel for firstprivate(args) schedule(static) if (args.a_n >= 8192)
    for (int i = 0; i < args.a_n; i++) {
        task(args, i);
    }
}
