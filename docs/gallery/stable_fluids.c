// shadesmith 0.1.0, c 018454de, stable_fluids.py:27:
// advect(v: ndarray[f32[2], 2], dye: ndarray[f32, 2], new_v: ndarray[f32[2], 2], new_dye:
//     ndarray[f32, 2], t: f32)
#include <math.h>

static const float DT = 0.6f;  // captured
static const float N_shifted = 43.52f;  // N / 2 + -1 * N * 0.33
enum { N = 256 };  // captured
static const float N_shifted_1 = 212.48f;  // N / 2 + N * 0.33

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

static inline vec2 vec2_add(vec2 a, vec2 b) { return (vec2){a.x + b.x, a.y + b.y}; }
static inline float vec2_dot(vec2 a, vec2 b) { return a.x * b.x + a.y * b.y; }
static inline vec2 vec2_mul_sv(float a, vec2 b) { return (vec2){a * b.x, a * b.y}; }
static inline vec2 vec2_mul_vs(vec2 a, float b) { return (vec2){a.x * b, a.y * b}; }
static inline vec2 vec2_sub(vec2 a, vec2 b) { return (vec2){a.x - b.x, a.y - b.y}; }

struct Args {
    const vec2 *v_data;     // v: ndarray[f32[2], 2]
    const float *dye_data;  // dye: ndarray[f32, 2]
    vec2 *new_v_data;       // new_v: ndarray[f32[2], 2]
    float *new_dye_data;    // new_dye: ndarray[f32, 2]
    float t;                // t: f32
    int v_n0;               // v.shape[0]
    int v_n1;               // v.shape[1]
    int dye_n1;             // dye.shape[1]
    int new_v_n1;           // new_v.shape[1]
    int new_dye_n1;         // new_dye.shape[1]
};

#define v(i, j) args.v_data[(long long)(i) * args.v_n1 + (j)]
#define dye(i, j) args.dye_data[(long long)(i) * args.dye_n1 + (j)]
#define new_v(i, j) args.new_v_data[(long long)(i) * args.new_v_n1 + (j)]
#define new_dye(i, j) args.new_dye_data[(long long)(i) * args.new_dye_n1 + (j)]

// ti.math.mix
static inline vec2 mix(vec2 x, vec2 y, float a) {
    return vec2_add(vec2_mul_vs(x, 1.0f - a), vec2_mul_vs(y, a));
}

// stable_fluids.py:18  def sample(x: ti.template(), p):
// with x = v
static inline vec2 sample(const struct Args args, vec2 p) {
    // stable_fluids.py:20  p = ti.math.clamp(p, 0.5, N - 1.5)
    p = (vec2){min_f32(max_f32(p.x, 0.5f), N - 1.5f), min_f32(max_f32(p.y, 0.5f), N - 1.5f)};
    int i = (int)p.x, j = (int)p.y;  // :21
    // stable_fluids.py:22  f = p - ti.math.vec2(i, j)
    vec2 f = vec2_sub(p, (vec2){(float)i, (float)j});
    // stable_fluids.py:23  return ti.math.mix(ti.math.mix(x[i, j], x[i + 1, j], f.x),
    //     ti.math.mix(x[i, j + 1], x[i + 1, j + 1], f.x), f.y)
    return mix(mix(v(i, j), v(i + 1, j), f.x), mix(v(i, j + 1), v(i + 1, j + 1), f.x), f.y);
}

// ti.math.mix
static inline float mix_f32(float x, float y, float a) { return x * (1.0f - a) + y * a; }

// stable_fluids.py:18  def sample(x: ti.template(), p):
// with x = dye
static inline float sample_dye(const struct Args args, vec2 p) {
    // stable_fluids.py:20  p = ti.math.clamp(p, 0.5, N - 1.5)
    p = (vec2){min_f32(max_f32(p.x, 0.5f), N - 1.5f), min_f32(max_f32(p.y, 0.5f), N - 1.5f)};
    int i = (int)p.x, j = (int)p.y;  // :21
    // stable_fluids.py:22  f = p - ti.math.vec2(i, j)
    vec2 f = vec2_sub(p, (vec2){(float)i, (float)j});
    // stable_fluids.py:23  return ti.math.mix(ti.math.mix(x[i, j], x[i + 1, j], f.x),
    //     ti.math.mix(x[i, j + 1], x[i + 1, j + 1], f.x), f.y)
    return mix_f32(mix_f32(dye(i, j), dye(i + 1, j), f.x),
        mix_f32(dye(i, j + 1), dye(i + 1, j + 1), f.x), f.y);
}

// stable_fluids.py:28  for i, j in v:
static inline void task(const struct Args args, int i, int j) {
    // stable_fluids.py:29  from_where = ti.math.vec2(i, j) - DT * v[i, j]
    vec2 from_where = vec2_sub((vec2){(float)i, (float)j}, vec2_mul_sv(DT, v(i, j)));
    // stable_fluids.py:30  new_v[i, j] = sample(v, from_where)
    new_v(i, j) = sample(args, from_where);
    // stable_fluids.py:31  new_dye[i, j] = sample(dye, from_where) * 0.999
    new_dye(i, j) = sample_dye(args, from_where) * 0.999f;
    // stable_fluids.py:33  jet = ti.math.vec2(N / 2 + side * N * 0.33, N / 2 - side * 14)
    vec2 jet = {N_shifted, N / 2.0f + 14.0f};
    // stable_fluids.py:34  near = ti.exp(-(ti.math.vec2(i, j) - jet).norm_sqr() / 40)
    vec2 jet_difference = vec2_sub((vec2){(float)i, (float)j}, jet);
    float near = expf(-vec2_dot(jet_difference, jet_difference) / 40.0f);
    // stable_fluids.py:35  new_v[i, j] += near * ti.math.vec2(-side * 1.6, 0.5 * ti.sin(0.11 * t))
    float product = 0.5f * sinf(0.11f * args.t);
    // not atomic: no other iteration writes it (demote_atomics)
    new_v(i, j) = vec2_add(new_v(i, j), vec2_mul_sv(near, (vec2){1.6f, product}));
    // stable_fluids.py:36  new_dye[i, j] += near * 0.35
    new_dye(i, j) += near * 0.35f;  // not atomic: no other iteration writes it (demote_atomics)
    vec2 jet_1 = {N_shifted_1, N / 2.0f - 14.0f};
    vec2 jet_difference_1 = vec2_sub((vec2){(float)i, (float)j}, jet_1);
    float near_1 = expf(-vec2_dot(jet_difference_1, jet_difference_1) / 40.0f);
    new_v(i, j) = vec2_add(new_v(i, j), vec2_mul_sv(near_1, (vec2){-1.6f, product}));
    new_dye(i, j) += near_1 * 0.35f;
}

void advect_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    #pragma omp parallel for firstprivate(args) schedule(static) \
        if ((long long)args.v_n0 * args.v_n1 >= 8192)
    for (int i = 0; i < args.v_n0; i++) {
        #pragma omp simd
        for (int j = 0; j < args.v_n1; j++) {
            task(args, i, j);
        }
    }
}
