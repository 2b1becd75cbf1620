// shadesmith 0.1.0, c 7f1b5e08, julia.py:14: paint(image: ndarray[f32[3], 2])
#include <math.h>

enum { N = 320 };  // captured

// The lesser of two, a number if one is NaN. Compilers vectorize it, while `fminf` is a call.
static inline float min_f32(float a, float b) {
    float least = a < b ? a : b;  // `b` if one is NaN
    return b != b ? a : least;
}

// The greater of two, a number if one is NaN. Compilers vectorize it, while `fmaxf` is a call.
static inline float max_f32(float a, float b) {
    float greatest = a > b ? a : b;  // `b` if one is NaN
    return b != b ? a : greatest;
}

typedef struct { float x, y; } vec2;
typedef struct { float x, y, z; } vec3;

static inline vec2 vec2_add(vec2 a, vec2 b) { return (vec2){a.x + b.x, a.y + b.y}; }
static inline vec3 vec3_add(vec3 a, vec3 b) { return (vec3){a.x + b.x, a.y + b.y, a.z + b.z}; }
static inline float vec2_dot(vec2 a, vec2 b) { return a.x * b.x + a.y * b.y; }

static inline vec3 vec3_max_vs(vec3 a, float b) {
    return (vec3){max_f32(a.x, b), max_f32(a.y, b), max_f32(a.z, b)};
}

static inline vec3 vec3_min_vs(vec3 a, float b) {
    return (vec3){min_f32(a.x, b), min_f32(a.y, b), min_f32(a.z, b)};
}

static inline vec3 vec3_mul_sv(float a, vec3 b) { return (vec3){a * b.x, a * b.y, a * b.z}; }
static inline vec2 vec2_mul_vs(vec2 a, float b) { return (vec2){a.x * b, a.y * b}; }
static inline float vec2_length(vec2 a) { return sqrtf(a.x * a.x + a.y * a.y); }

struct Args {
    vec3 *restrict image_data;  // image: ndarray[f32[3], 2]
    int image_n0;               // image.shape[0]
    int image_n1;               // image.shape[1]
};

#define image(i, j) args.image_data[(long long)(i) * args.image_n1 + (j)]

// ti.math.cmul
static inline vec2 cmul(vec2 z1, vec2 z2) {
    return (vec2){z1.x * z2.x - z1.y * z2.y, z1.x * z2.y + z1.y * z2.x};
}

// julia.py:15  for i, j in image:
static inline void task(const struct Args args, int i, int j) {
    vec3 colour = {0.0f, 0.0f, 0.0f};  // :16
    // julia.py:17  for a, b in ti.static(ti.ndrange(2, 2)):  # four points for each pixel
    #pragma GCC unroll 2
    for (int a = 0; a < 2; a++) {
        #pragma GCC unroll 2
        for (int b = 0; b < 2; b++) {
            // julia.py:18  z = vec2((i + a / 2) / N - 0.75, (j + b / 2) / N - 0.5) * 2.2
            vec2 z = vec2_mul_vs((vec2){(i + a / 2.0f) / N - 0.75f, (j + b / 2.0f) / N - 0.5f},
                2.2f);
            int iterations = 0;  // :19
            // julia.py:20  while z.norm_sqr() < 400 and iterations < 200:
            while (vec2_dot(z, z) < 400.0f && iterations < 200) {
                // julia.py:21  z = ti.math.cmul(z, z) + vec2(-0.79, 0.156)
                z = vec2_add(cmul(z, z), (vec2){-0.79f, 0.156f});
                iterations += 1;  // :22
            }
            // julia.py:23  t = ti.log(iterations + 1.0 - ti.log(ti.log(ti.max(z.norm(), 1.1))) /
            //     ti.log(2.0)) / 5.3
            float t = logf(iterations + 1.0f
                - logf(logf(max_f32(vec2_length(z), 1.1f))) / 0.6931472f) / 5.3f;
            // julia.py:24  colour += 0.25 * ti.math.clamp(vec3(1.6 * t * t, 1.3 * t, 0.9 *
            //     ti.sqrt(t) * (1.5 - t)), 0.0, 1.0)
            colour = vec3_add(colour,
                vec3_mul_sv(0.25f, vec3_min_vs(vec3_max_vs((vec3){1.6f * t * t, 1.3f * t,
                0.9f * sqrtf(t) * (1.5f - t)}, 0.0f), 1.0f)));
        }
    }
    image(i, j) = colour;  // :25
}

void paint_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    #pragma omp parallel for firstprivate(args) schedule(dynamic) \
        if ((long long)args.image_n0 * args.image_n1 >= 64)
    for (int i = 0; i < args.image_n0; i++) {
        for (int j = 0; j < args.image_n1; j++) {
            task(args, i, j);
        }
    }
}
