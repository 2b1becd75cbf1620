// shadesmith 0.1.0, c 7d7c836a, diffused.py:10: diffused(rate: f32)

enum { u_n1 = 256 };  // shape of u, w
enum { n = 512, m = 256 };  // captured

struct Args {
    const float *restrict u_data;  // u: field[f32, 512x256]
    float *restrict w_data;        // w: field[f32, 512x256]
    float rate;                    // rate: f32
};

#define u(i, j) args.u_data[(long long)(i) * u_n1 + (j)]
#define w(i, j) args.w_data[(long long)(i) * u_n1 + (j)]

// diffused.py:11  for i, j in u:
static inline void task(const struct Args args, int i, int j) {
    // `if 0 < i < n - 1 and 0 < j < m - 1:` is the range of the loop (narrow_loops)
    float total = u(i - 1, j) + u(i + 1, j) + u(i, j - 1) + u(i, j + 1);  // :13
    w(i, j) = u(i, j) + args.rate * (total - 4.0f * u(i, j));  // :14
}

void diffused_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    #pragma omp parallel for firstprivate(args) schedule(static)
    for (int i = 1; i < n - 1; i++) {
        #pragma omp simd
        for (int j = 1; j < m - 1; j++) {
            task(args, i, j);
        }
    }
}
