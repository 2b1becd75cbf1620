// shadesmith 0.1.0, c 20c3b372, saxpy.py:4:
// saxpy(x: ndarray[f32, 1], y: ndarray[f32, 1], alpha: f32)

struct Args {
    const float *x_data;  // x: ndarray[f32, 1]
    float *y_data;        // y: ndarray[f32, 1]
    float alpha;          // alpha: f32
    int x_n;              // x.shape[0]
};

#define x(i) args.x_data[i]
#define y(i) args.y_data[i]

// saxpy.py:5  for i in x:
static inline void task(const struct Args args, int i) {
    y(i) = args.alpha * x(i) + y(i);  // :6
}

void saxpy_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    #pragma omp parallel for firstprivate(args) schedule(static) if (args.x_n >= 8192)
    for (int i = 0; i < args.x_n; i++) {
        task(args, i);
    }
}
