// shadesmith 0.1.0, c 1931c07a, fall.py:11: fall(dt: f32, gravity: f32[3])
#include <math.h>

// x, or 0 if it is subnormal: processors multiply such numbers up to 100 times as slowly.
static inline float flushed_f32(float x) { return x * !(fabsf(x) < 0x1p-126f); }

typedef struct { float x, y, z; } vec3;

static inline vec3 vec3_add(vec3 a, vec3 b) { return (vec3){a.x + b.x, a.y + b.y, a.z + b.z}; }
static inline vec3 vec3_mul_sv(float a, vec3 b) { return (vec3){a * b.x, a * b.y, a * b.z}; }

struct Args {
    vec3 *restrict v_data;  // v: field[f32[3], 1024]
    vec3 *restrict x_data;  // x: field[f32[3], 1024]
    float dt;               // dt: f32
    vec3 gravity;           // gravity: f32[3]
};

#define v(i) args.v_data[i]
#define x(i) args.x_data[i]

// fall.py:12  for i in range(1024):
static inline void task(const struct Args args, int i) {
    // fall.py:13  v[i] += dt * gravity
    // not atomic: no other iteration writes it (demote_atomics)
    v(i) = vec3_add(v(i), vec3_mul_sv(args.dt, args.gravity));
    // fall.py:14  x[i] += dt * v[i]
    // not atomic: no other iteration writes it (demote_atomics)
    x(i) = vec3_add(x(i), vec3_mul_sv(args.dt, v(i)));
    if (x(i).y < 0.0f) {  // :15
        x(i).y = 0.0f;  // :16
        // flushed: a subnormal number would never decay to 0 (flush_subnormals)
        v(i).y = flushed_f32(v(i).y * -0.5f);  // :17
    }
}

void fall_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    for (int i = 0; i < 1024; i++) {
        task(args, i);
    }
}
