// shadesmith 0.1.0, c 3f999031, escape.py:4: escape(pixels: ndarray[f32, 2], n: i32, t: f32)
#include <math.h>
#include <stdint.h>

#define LANES 32  // neighbouring iterations whose loops run together

// The first iteration after a run of `lanes` that starts at `first`, of a loop that ends at `end`.
static inline int lanes_end(int first, int end, int lanes) {
    return (int64_t)end - first < lanes ? end : first + lanes;
}

typedef struct { float x, y; } vec2;

static inline vec2 vec2_add(vec2 a, vec2 b) { return (vec2){a.x + b.x, a.y + b.y}; }
static inline vec2 vec2_mul_vs(vec2 a, float b) { return (vec2){a.x * b, a.y * b}; }
static inline float vec2_length(vec2 a) { return sqrtf(a.x * a.x + a.y * a.y); }

struct Args {
    float *restrict pixels_data;  // pixels: ndarray[f32, 2]
    int n;                        // n: i32
    float t;                      // t: f32
    int pixels_n0;                // pixels.shape[0]
    int pixels_n1;                // pixels.shape[1]
};

#define pixels(i, j) args.pixels_data[(long long)(i) * args.pixels_n1 + (j)]

// escape.py:5  for i, j in pixels:
static inline void task(const struct Args args, int i, int first_j) {
    // escape.py:6  c = ti.Vector([-0.8, ti.cos(t) * 0.2])
    vec2 c = {-0.8f, cosf(args.t) * 0.2f};
    float z_x[LANES];
    float z_y[LANES];
    int iterations[LANES];
    #pragma omp simd
    for (int j = first_j; j < lanes_end(first_j, args.pixels_n1, LANES); j++) {
        // escape.py:7  z = ti.Vector([i / n - 1, j / n - 0.5]) * 2
        float inverse = 1.0f / args.n;
        vec2 z = vec2_mul_vs((vec2){i * inverse - 1.0f, j * inverse - 0.5f}, 2.0f);
        z_x[j - first_j] = z.x;
        z_y[j - first_j] = z.y;
        // escape.py:8  iterations = 0
        iterations[j - first_j] = 0;
    }
    // escape.py:9  while z.norm() < 20 and iterations < 50:
    int any = 1;
    while (any != 0) {
        any = 0;
        #pragma omp simd reduction(|: any)
        for (int j = first_j; j < lanes_end(first_j, args.pixels_n1, LANES); j++) {
            if (vec2_length((vec2){z_x[j - first_j], z_y[j - first_j]}) < 20.0f
                && iterations[j - first_j] < 50) {
                any |= 1;
                // escape.py:10  z = ti.Vector([z[0] ** 2 - z[1] ** 2, z[1] * z[0] * 2]) + c
                vec2 z = vec2_add((vec2){z_x[j - first_j] * z_x[j - first_j]
                    - z_y[j - first_j] * z_y[j - first_j],
                    z_y[j - first_j] * z_x[j - first_j] * 2.0f}, c);
                z_x[j - first_j] = z.x;
                z_y[j - first_j] = z.y;
                // escape.py:11  iterations += 1
                iterations[j - first_j] += 1;
            }
        }
    }
    #pragma omp simd
    for (int j = first_j; j < lanes_end(first_j, args.pixels_n1, LANES); j++) {
        // escape.py:12  pixels[i, j] = 1 - iterations * 0.02
        pixels(i, j) = 1.0f - iterations[j - first_j] * 0.02f;
    }
}

void escape_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    #pragma omp parallel for firstprivate(args) schedule(dynamic) \
        if ((long long)args.pixels_n0 * args.pixels_n1 >= 64)
    for (int i = 0; i < args.pixels_n0; i++) {
        for (long long first_j = 0; first_j < args.pixels_n1; first_j += LANES) {
            task(args, i, first_j);
        }
    }
}
