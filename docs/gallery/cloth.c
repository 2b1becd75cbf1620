// shadesmith 0.1.0, c 385575f6, cloth.py:28: push(x: ndarray[f32[3], 2], v: ndarray[f32[3], 2])
#include <math.h>
#include <stdbool.h>

// captured
static const float GRAVITY = 9.8f, SPACING = 0.020833334f, STIFFNESS = 30000.0f, DAMPING = 1000.0f;
static const float STEP = 0.0005f;
enum { N = 96 };  // captured
static const float exp_STEP_scaled = 0.9996001f;  // exp(-0.8 * STEP)

typedef struct { float x, y, z; } vec3;

static inline vec3 vec3_add(vec3 a, vec3 b) { return (vec3){a.x + b.x, a.y + b.y, a.z + b.z}; }
static inline float vec3_dot(vec3 a, vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static inline vec3 vec3_mul_sv(float a, vec3 b) { return (vec3){a * b.x, a * b.y, a * b.z}; }
static inline float vec3_length(vec3 a) { return sqrtf(a.x * a.x + a.y * a.y + a.z * a.z); }
static inline vec3 vec3_div_vs(vec3 a, float b) { return (vec3){a.x / b, a.y / b, a.z / b}; }
static inline vec3 vec3_normalize(vec3 a) { return vec3_div_vs(a, vec3_length(a)); }
static inline vec3 vec3_sub(vec3 a, vec3 b) { return (vec3){a.x - b.x, a.y - b.y, a.z - b.z}; }

struct Args {
    const vec3 *x_data;  // x: ndarray[f32[3], 2]
    vec3 *v_data;        // v: ndarray[f32[3], 2]
    int x_n0;            // x.shape[0]
    int x_n1;            // x.shape[1]
    int v_n1;            // v.shape[1]
};

#define x(i, j) args.x_data[(long long)(i) * args.x_n1 + (j)]
#define v(i, j) args.v_data[(long long)(i) * args.v_n1 + (j)]

// cloth.py:29  for i, j in x:
static inline void task(const struct Args args, int i, int j) {
    vec3 force = {0.0f, -GRAVITY, 0.0f};  // :30
    // cloth.py:33  k, l = i + di, j + dj
    int k = i - 2;
    // cloth.py:34  if 0 <= k < N and 0 <= l < N:
    if (0 <= k && k < N && j < N) {
        // cloth.py:35  to = x[k, l] - x[i, j]
        vec3 to = vec3_sub(x(k, j), x(i, j));
        // cloth.py:36  rest, along = SPACING * (di * di + dj * dj) ** 0.5, normalize(to)
        vec3 along = vec3_normalize(to);
        // cloth.py:37  force += STIFFNESS * (to.norm() / rest - 1) * SPACING * along
        force = vec3_add(force, vec3_mul_sv(STIFFNESS * (vec3_length(to) / (SPACING * 2.0f) - 1.0f)
            * SPACING, along));
        // cloth.py:38  force += DAMPING * SPACING * dot(v[k, l] - v[i, j], along) * along
        force = vec3_add(force, vec3_mul_sv(DAMPING * SPACING
            * vec3_dot(vec3_sub(v(k, j), v(i, j)), along), along));
    }
    int k_1 = i - 1, l = j - 1;
    bool k_inside = 0 <= k_1 && k_1 < N, l_inside = 0 <= l && l < N;
    if (k_inside && l_inside) {
        vec3 to = vec3_sub(x(k_1, l), x(i, j));
        vec3 along = vec3_normalize(to);
        force = vec3_add(force, vec3_mul_sv(STIFFNESS
            * (vec3_length(to) / (SPACING * 1.4142135f) - 1.0f) * SPACING, along));
        force = vec3_add(force, vec3_mul_sv(DAMPING * SPACING
            * vec3_dot(vec3_sub(v(k_1, l), v(i, j)), along), along));
    }
    if (k_inside && j < N) {
        vec3 to = vec3_sub(x(k_1, j), x(i, j));
        vec3 along = vec3_normalize(to);
        force = vec3_add(force, vec3_mul_sv(STIFFNESS * (vec3_length(to) / SPACING - 1.0f)
            * SPACING, along));
        force = vec3_add(force, vec3_mul_sv(DAMPING * SPACING
            * vec3_dot(vec3_sub(v(k_1, j), v(i, j)), along), along));
    }
    int l_1 = j + 1;
    if (k_inside && l_1 < N) {
        vec3 to = vec3_sub(x(k_1, l_1), x(i, j));
        vec3 along = vec3_normalize(to);
        force = vec3_add(force, vec3_mul_sv(STIFFNESS
            * (vec3_length(to) / (SPACING * 1.4142135f) - 1.0f) * SPACING, along));
        force = vec3_add(force, vec3_mul_sv(DAMPING * SPACING
            * vec3_dot(vec3_sub(v(k_1, l_1), v(i, j)), along), along));
    }
    int l_2 = j - 2;
    if (i < N && 0 <= l_2 && l_2 < N) {
        vec3 to = vec3_sub(x(i, l_2), x(i, j));
        vec3 along = vec3_normalize(to);
        force = vec3_add(force, vec3_mul_sv(STIFFNESS * (vec3_length(to) / (SPACING * 2.0f) - 1.0f)
            * SPACING, along));
        force = vec3_add(force, vec3_mul_sv(DAMPING * SPACING
            * vec3_dot(vec3_sub(v(i, l_2), v(i, j)), along), along));
    }
    if (i < N && l_inside) {
        vec3 to = vec3_sub(x(i, l), x(i, j));
        vec3 along = vec3_normalize(to);
        force = vec3_add(force, vec3_mul_sv(STIFFNESS * (vec3_length(to) / SPACING - 1.0f)
            * SPACING, along));
        force = vec3_add(force, vec3_mul_sv(DAMPING * SPACING
            * vec3_dot(vec3_sub(v(i, l), v(i, j)), along), along));
    }
    if (i < N && l_1 < N) {
        vec3 to = vec3_sub(x(i, l_1), x(i, j));
        vec3 along = vec3_normalize(to);
        force = vec3_add(force, vec3_mul_sv(STIFFNESS * (vec3_length(to) / SPACING - 1.0f)
            * SPACING, along));
        force = vec3_add(force, vec3_mul_sv(DAMPING * SPACING
            * vec3_dot(vec3_sub(v(i, l_1), v(i, j)), along), along));
    }
    int l_3 = j + 2;
    if (i < N && 0 <= l_3 && l_3 < N) {
        vec3 to = vec3_sub(x(i, l_3), x(i, j));
        vec3 along = vec3_normalize(to);
        force = vec3_add(force, vec3_mul_sv(STIFFNESS * (vec3_length(to) / (SPACING * 2.0f) - 1.0f)
            * SPACING, along));
        force = vec3_add(force, vec3_mul_sv(DAMPING * SPACING
            * vec3_dot(vec3_sub(v(i, l_3), v(i, j)), along), along));
    }
    int k_2 = i + 1;
    if (k_2 < N && l_inside) {
        vec3 to = vec3_sub(x(k_2, l), x(i, j));
        vec3 along = vec3_normalize(to);
        force = vec3_add(force, vec3_mul_sv(STIFFNESS
            * (vec3_length(to) / (SPACING * 1.4142135f) - 1.0f) * SPACING, along));
        force = vec3_add(force, vec3_mul_sv(DAMPING * SPACING
            * vec3_dot(vec3_sub(v(k_2, l), v(i, j)), along), along));
    }
    if (k_2 < N && j < N) {
        vec3 to = vec3_sub(x(k_2, j), x(i, j));
        vec3 along = vec3_normalize(to);
        force = vec3_add(force, vec3_mul_sv(STIFFNESS * (vec3_length(to) / SPACING - 1.0f)
            * SPACING, along));
        force = vec3_add(force, vec3_mul_sv(DAMPING * SPACING
            * vec3_dot(vec3_sub(v(k_2, j), v(i, j)), along), along));
    }
    if (k_2 < N && l_1 < N) {
        vec3 to = vec3_sub(x(k_2, l_1), x(i, j));
        vec3 along = vec3_normalize(to);
        force = vec3_add(force, vec3_mul_sv(STIFFNESS
            * (vec3_length(to) / (SPACING * 1.4142135f) - 1.0f) * SPACING, along));
        force = vec3_add(force, vec3_mul_sv(DAMPING * SPACING
            * vec3_dot(vec3_sub(v(k_2, l_1), v(i, j)), along), along));
    }
    int k_3 = i + 2;
    if (0 <= k_3 && k_3 < N && j < N) {
        vec3 to = vec3_sub(x(k_3, j), x(i, j));
        vec3 along = vec3_normalize(to);
        force = vec3_add(force, vec3_mul_sv(STIFFNESS * (vec3_length(to) / (SPACING * 2.0f) - 1.0f)
            * SPACING, along));
        force = vec3_add(force, vec3_mul_sv(DAMPING * SPACING
            * vec3_dot(vec3_sub(v(k_3, j), v(i, j)), along), along));
    }
    // cloth.py:39  v[i, j] = (v[i, j] + STEP * force) * ti.exp(-0.8 * STEP)
    v(i, j) = vec3_mul_sv(exp_STEP_scaled, vec3_add(v(i, j), vec3_mul_sv(STEP, force)));
}

void push_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    #pragma omp parallel for firstprivate(args) schedule(static) \
        if ((long long)args.x_n0 * args.x_n1 >= 8192)
    for (int i = 0; i < args.x_n0; i++) {
        #pragma omp simd
        for (int j = 0; j < args.x_n1; j++) {
            task(args, i, j);
        }
    }
}
