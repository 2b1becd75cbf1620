// shadesmith 0.1.0, c 74e6e67e, gravity.py:11: gravity(dt: f32)
#include <math.h>

enum { position_n0 = 1000 };  // shape of position, velocity
enum { n = 1000 };  // captured

static inline float rsqrt_f32(float x) { return 1.0f / sqrtf(x); }

typedef struct { float x, y, z; } vec3;

static inline vec3 vec3_add(vec3 a, vec3 b) { return (vec3){a.x + b.x, a.y + b.y, a.z + b.z}; }
static inline float vec3_dot(vec3 a, vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static inline vec3 vec3_mul_sv(float a, vec3 b) { return (vec3){a * b.x, a * b.y, a * b.z}; }
static inline vec3 vec3_sub(vec3 a, vec3 b) { return (vec3){a.x - b.x, a.y - b.y, a.z - b.z}; }

struct Args {
    const vec3 *restrict position_data;  // position: field[f32[3], 1000]
    vec3 *restrict velocity_data;        // velocity: field[f32[3], 1000]
    float dt;                            // dt: f32
};

#define position(i) args.position_data[i]
#define velocity(i) args.velocity_data[i]

// gravity.py:12  for i in position:
static inline __attribute__((always_inline)) void task(const struct Args args, int i) {
    // gravity.py:13  force = ti.Vector([0.0, 0.0, 0.0])
    vec3 force = {0.0f, 0.0f, 0.0f};
    for (int j = 0; j < n; j++) {  // :14
        // gravity.py:15  d = position[j] - position[i]
        vec3 d = vec3_sub(position(j), position(i));
        // gravity.py:16  force += d * ti.rsqrt(d.dot(d) + 1e-4) ** 3
        float rsqrt = rsqrt_f32(vec3_dot(d, d) + 1e-4f);
        force = vec3_add(force, vec3_mul_sv(rsqrt * rsqrt * rsqrt, d));
    }
    // gravity.py:17  velocity[i] += dt * force
    // not atomic: no other iteration writes it (demote_atomics)
    velocity(i) = vec3_add(velocity(i), vec3_mul_sv(args.dt, force));
}

void gravity_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    // several iterations of the innermost loop are lanes of vectors (vector_lanes)
    #pragma omp parallel for simd firstprivate(args) schedule(static)
    for (int i = 0; i < position_n0; i++) {
        task(args, i);
    }
}
