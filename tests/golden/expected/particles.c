// shadesmith 0.1.0, c a4039276, particles.py:18:
// particles(x: ndarray[Particle, 1], floor.normal: f32[3], floor.offset: f32, dt: f32)
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

// The greater of two, a number if one is NaN. Compilers vectorize it, while `fmaxf` is a call.
static inline float max_f32(float a, float b) {
    float greatest = a > b ? a : b;  // `b` if one is NaN
    return b != b ? a : greatest;
}

// A loop that computes a sum is cut into at most so many parts.
#define PARTS 128

// The number of parts of a loop with short iterations: a part has at least some hundred.
static inline int part_count(int count) { return count < 512 * PARTS ? count / 512 + 1 : PARTS; }

// The first iteration of one of these parts, a multiple of 64: vectors are whole and aligned.
static inline int aligned_begin(int count, int part) {
    return (int)((int64_t)count * part / part_count(count)) / 64 * 64;
}

// The first iteration after it.
static inline int aligned_end(int count, int part) {
    return part + 1 < part_count(count) ? aligned_begin(count, part + 1) : count;
}

typedef struct { float x, y, z; } vec3;

static inline vec3 vec3_add(vec3 a, vec3 b) { return (vec3){a.x + b.x, a.y + b.y, a.z + b.z}; }
static inline float vec3_dot(vec3 a, vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static inline vec3 vec3_mul_vs(vec3 a, float b) { return (vec3){a.x * b, a.y * b, a.z * b}; }

typedef struct {
    vec3 pos, vel;
    bool alive;
} Particle;
_Static_assert(sizeof(Particle) == 28, "must match the size on the host");

typedef struct {
    vec3 normal;
    float offset;
} Plane;
_Static_assert(sizeof(Plane) == 16, "must match the size on the host");

struct Temporaries {
    Plane highest;  // Plane
};

struct Result {
    Plane value;  // Plane
};

struct Args {
    Particle *restrict x_data;        // x: ndarray[Particle, 1]
    struct Temporaries *temporaries;  // values that cross tasks
    struct Result *result;            // what the kernel returns
    vec3 floor_normal;                // floor.normal: f32[3]
    float floor_offset;               // floor.offset: f32
    float dt;                         // dt: f32
    int x_n;                          // x.shape[0]
};

#define x(i) args.x_data[i]

#pragma omp declare reduction(max_f32 : float : omp_out = max_f32(omp_out, omp_in)) \
    initializer(omp_priv = NAN)

// task 0 of 2: serial
static inline void task_0(const struct Args args) {
    // particles.py:19  highest = Plane(offset=-1e9)
    args.temporaries->highest = (Plane){(vec3){0.0f, 0.0f, 0.0f}, -1e9f};
}

void particles_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    task_0(args);
}

// task 1 of 2: range_for over x
// particles.py:20  for i in x:
static inline void task_1(const struct Args args, int i, float *highest_offset) {
    Particle p = x(i);  // :21
    // particles.py:15  self.pos += self.vel * dt
    p.pos = vec3_add(p.pos, vec3_mul_vs(p.vel, args.dt));
    // particles.py:23  height = floor.normal.dot(p.pos) - floor.offset
    float height = vec3_dot(args.floor_normal, p.pos) - args.floor_offset;
    p.alive = p.alive && height > 0.0f;  // :24
    x(i) = p;  // :25
    x(i).vel.y -= 9.8f * args.dt;  // :26, not atomic: no other iteration writes it (demote_atomics)
    // particles.py:27  ti.atomic_max(highest.offset, height)
    // not atomic: joined below (reduce_atomics)
    *highest_offset = max_f32(*highest_offset, height);
}

void particles_1(const struct Args *arguments) {
    const struct Args args = *arguments;
    // Parts of the loop, joined in order: the result does not depend on the number of threads.
    float highest_offset_of[PARTS];
    #pragma omp parallel for firstprivate(args) schedule(static) if (args.x_n >= 8192)
    for (int part = 0; part < part_count(args.x_n); part++) {
        float highest_offset = NAN;  // NaN loses against every number
        #pragma omp simd reduction(max_f32: highest_offset)
        for (int64_t i = aligned_begin(args.x_n, part); i < aligned_end(args.x_n, part); i++) {
            task_1(args, i, &highest_offset);
        }
        highest_offset_of[part] = highest_offset;
    }
    float highest_offset = NAN;  // NaN loses against every number
    for (int i = 0; i < part_count(args.x_n); i++) {
        highest_offset = max_f32(highest_offset, highest_offset_of[i]);
    }
    args.temporaries->highest.offset = max_f32(args.temporaries->highest.offset, highest_offset);
    // particles.py:28  return highest
    args.result->value = args.temporaries->highest;
}
