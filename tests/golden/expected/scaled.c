// shadesmith 0.1.0, c f056e8c1, scaled.py:9: scaled(a: f32)

enum { x_n0 = 2048, x_n1 = 1024 };  // shape of x, y

struct Args {
    const float *restrict x_data;  // x: field[f32, 2048x1024]
    float *restrict y_data;        // y: field[f32, 2048x1024]
    float a;                       // a: f32
};

#define x(i, j) args.x_data[(long long)(i) * x_n1 + (j)]
#define y(i, j) args.y_data[(long long)(i) * x_n1 + (j)]

// scaled.py:10  for i, j in x:
static inline void task(const struct Args args, int i, int j) {
    y(i, j) = args.a * x(i, j);  // :11
}

void scaled_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    #pragma omp parallel for firstprivate(args) schedule(static)
    for (int i = 0; i < x_n0; i++) {
        #pragma omp simd
        for (int j = 0; j < x_n1; j++) {
            task(args, i, j);
        }
    }
}
