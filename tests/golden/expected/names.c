// shadesmith 0.1.0, c bf1ba33f, names.py:5:
// names(ψ: ndarray[f32[3], 1], float: ndarray[i32, 1], step: f32)
#include <math.h>

// The greater of two, a number if one is NaN. Compilers vectorize it, while `fmaxf` is a call.
static inline float max_f32(float a, float b) {
    float greatest = a > b ? a : b;  // `b` if one is NaN
    return b != b ? a : greatest;
}

typedef struct { float x, y, z; } vec3;

static inline vec3 vec3_add(vec3 a, vec3 b) { return (vec3){a.x + b.x, a.y + b.y, a.z + b.z}; }

static inline int atomic_add_i32(int *address, int value) {
    return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
}

static inline vec3 vec3_div_vs(vec3 a, float b) { return (vec3){a.x / b, a.y / b, a.z / b}; }
static inline float vec3_length(vec3 a) { return sqrtf(a.x * a.x + a.y * a.y + a.z * a.z); }

struct Args {
    vec3 *psi_data;   // ψ: ndarray[f32[3], 1]
    int *float_data;  // float: ndarray[i32, 1]
    float step;       // step: f32
    int psi_n;        // ψ.shape[0]
};

#define psi(i) args.psi_data[i]
#define float_(i) args.float_data[i]

// names.py:6  for i in ψ:
static inline void task(const struct Args args, int i) {
    // names.py:7  λ = ψ[i] * step
    vec3 lambda = {psi(i).x * args.step, psi(i).y * args.step, psi(i).z * args.step};
    // names.py:8  length = λ.norm()
    float length = vec3_length(lambda);
    float distance = args.step - length;  // :9
    if (distance > 0.0f) {  // :10
        // names.py:11  float[i] = ti.atomic_add(float[0], 1)
        float_(i) = atomic_add_i32(&float_(0), 1);
    }
    // names.py:12  ψ[i] += λ.zyx / max(distance, 1e-9)
    // not atomic: no other iteration writes it (demote_atomics)
    psi(i) = vec3_add(psi(i),
        vec3_div_vs((vec3){lambda.z, lambda.y, lambda.x}, max_f32(distance, 1e-9f)));
}

void names_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    #pragma omp parallel for firstprivate(args) schedule(static) if (args.psi_n >= 8192)
    for (int i = 0; i < args.psi_n; i++) {
        task(args, i);
    }
}
