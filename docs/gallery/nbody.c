// shadesmith 0.1.0, c 2bda7a4a, nbody.py:15:
// kick(x: ndarray[f32[3], 1], v: ndarray[f32[3], 1], m: ndarray[f32, 1])
#include <math.h>

enum { N = 2400 };  // captured
static const float SOFTENING = 0.02f, STEP = 0.012f;  // captured

static inline float rsqrt_f32(float x) { return 1.0f / sqrtf(x); }

typedef struct { float x, y, z; } vec3;

static inline vec3 vec3_add(vec3 a, vec3 b) { return (vec3){a.x + b.x, a.y + b.y, a.z + b.z}; }
static inline float vec3_dot(vec3 a, vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static inline vec3 vec3_mul_sv(float a, vec3 b) { return (vec3){a * b.x, a * b.y, a * b.z}; }

struct Args {
    const vec3 *x_data;   // x: ndarray[f32[3], 1]
    vec3 *v_data;         // v: ndarray[f32[3], 1]
    const float *m_data;  // m: ndarray[f32, 1]
    int x_n;              // x.shape[0]
};

#define x(i) args.x_data[i]
#define v(i) args.v_data[i]
#define m(i) args.m_data[i]

// nbody.py:16  for i in x:
static inline void task(const struct Args args, int i) {
    vec3 force = {0.0f, 0.0f, 0.0f};  // :17
    for (int j = 0; j < N; j++) {  // :18
        // nbody.py:19  to = x[j] - x[i]
        vec3 to = {x(j).x - x(i).x, x(j).y - x(i).y, x(j).z - x(i).z};
        // nbody.py:20  inverse = ti.rsqrt(to.dot(to) + SOFTENING)
        float inverse = rsqrt_f32(vec3_dot(to, to) + SOFTENING);
        // nbody.py:21  force += m[j] * inverse**3 * to
        force = vec3_add(force, vec3_mul_sv(m(j) * (inverse * inverse * inverse), to));
    }
    // nbody.py:22  v[i] += STEP * force
    // not atomic: no other iteration writes it (demote_atomics)
    v(i) = vec3_add(v(i), vec3_mul_sv(STEP, force));
}

void kick_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    #pragma omp parallel for firstprivate(args) schedule(static) if (args.x_n >= 64)
    for (int i = 0; i < args.x_n; i++) {
        task(args, i);
    }
}
