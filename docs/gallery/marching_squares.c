// shadesmith 0.1.0, c 523d9fef, marching_squares.py:15: blobs(x: ndarray[f32, 2], t: f32)
#include <math.h>

enum { N = 128 };  // captured

typedef struct { float x, y; } vec2;

static inline vec2 vec2_div_vs(vec2 a, float b) { return (vec2){a.x / b, a.y / b}; }
static inline float vec2_dot(vec2 a, vec2 b) { return a.x * b.x + a.y * b.y; }
static inline vec2 vec2_sub(vec2 a, vec2 b) { return (vec2){a.x - b.x, a.y - b.y}; }

struct Args {
    float *restrict x_data;  // x: ndarray[f32, 2]
    float t;                 // t: f32
    int x_n0;                // x.shape[0]
    int x_n1;                // x.shape[1]
};

#define x(i, j) args.x_data[(long long)(i) * args.x_n1 + (j)]

// marching_squares.py:16  for i, j in x:
static inline void task(const struct Args args, int i, int j) {
    // marching_squares.py:17  p, total = vec2(i, j) / N, 0.0
    vec2 p = vec2_div_vs((vec2){(float)i, (float)j}, (float)N);
    float total = 0.0f;
    for (int k = 0; k < 9; k++) {  // :18
        vec2 centre = {0.5f + 0.32f * cosf(1.7f * (float)k + args.t),  // :19
            0.5f + 0.32f * sinf(2.3f * (float)k + 0.7f * args.t)};
        // marching_squares.py:20  total += 0.0035 / ((p - centre).norm_sqr() + 0.0015)
        total += 0.0035f / (vec2_dot(vec2_sub(p, centre), vec2_sub(p, centre)) + 0.0015f);
    }
    x(i, j) = total;  // :21
}

void blobs_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    #pragma omp parallel for firstprivate(args) schedule(static) \
        if ((long long)args.x_n0 * args.x_n1 >= 64)
    for (int i = 0; i < args.x_n0; i++) {
        for (int j = 0; j < args.x_n1; j++) {
            task(args, i, j);
        }
    }
}
