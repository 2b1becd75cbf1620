// shadesmith 0.1.0, c fa41ffbd, orbit.py:37: orbit(dt: f32)
#include <math.h>

enum { bodies_n0 = 512 };  // bodies.shape[0]

// The greater of two, a number if one is NaN. Compilers vectorize it, while `fmaxf` is a call.
static inline float max_f32(float a, float b) {
    float greatest = a > b ? a : b;  // `b` if one is NaN
    return b != b ? a : greatest;
}

typedef struct { float x, y, z; } vec3;

static inline vec3 vec3_add(vec3 a, vec3 b) { return (vec3){a.x + b.x, a.y + b.y, a.z + b.z}; }
static inline float vec3_dot(vec3 a, vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static inline vec3 vec3_mul_vs(vec3 a, float b) { return (vec3){a.x * b, a.y * b, a.z * b}; }
static inline vec3 vec3_sub(vec3 a, vec3 b) { return (vec3){a.x - b.x, a.y - b.y, a.z - b.z}; }

typedef struct {
    vec3 pos, vel;
    float mass;
} Body;
_Static_assert(sizeof(Body) == 28, "must match the size on the host");

typedef struct {
    vec3 pos[512];
    vec3 vel[512];
    float mass[512];
} Bodies;
_Static_assert(sizeof(Bodies) == 14336, "must match the cell size on the host");

struct Temporaries {
    Body heaviest;  // Body
};

struct Args {
    Bodies *restrict bodies;          // bodies_pos, bodies_vel: field[f32[3], 512], bodies_mass:
                                      // field[f32, 512]
    float *restrict energy_data;      // energy: field[f32, 512]
    struct Temporaries *temporaries;  // values that cross tasks
    float dt;                         // dt: f32
};

#define bodies_pos(i) args.bodies->pos[i]
#define bodies_vel(i) args.bodies->vel[i]
#define bodies_mass(i) args.bodies->mass[i]
#define energy(i) args.energy_data[i]

#pragma omp declare reduction(max_f32 : float : omp_out = max_f32(omp_out, omp_in)) \
    initializer(omp_priv = NAN)

// task 0 of 3: range_for over bodies
// orbit.py:38  for i in bodies:
static inline void task_0(const struct Args args, int i) {
    // orbit.py:39  bodies[i].vel -= bodies[i].pos * dt
    // not atomic: no other iteration writes it (demote_atomics)
    bodies_vel(i) = vec3_sub(bodies_vel(i), vec3_mul_vs(bodies_pos(i), args.dt));
    // orbit.py:40  bodies.pos[i] += bodies[i].vel * dt
    // not atomic: no other iteration writes it (demote_atomics)
    bodies_pos(i) = vec3_add(bodies_pos(i), vec3_mul_vs(bodies_vel(i), args.dt));
    // orbit.py:41  energy[i] = bodies[i].energy()
    energy(i) = 0.5f * bodies_mass(i) * vec3_dot(bodies_vel(i), bodies_vel(i));
}

void orbit_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    for (int i = 0; i < bodies_n0; i++) {
        task_0(args, i);
    }
}

// task 1 of 3: serial
static inline void task_1(const struct Args args) {
    // orbit.py:42  heaviest = bodies[0]
    args.temporaries->heaviest = (Body){bodies_pos(0), bodies_vel(0), bodies_mass(0)};
}

void orbit_1(const struct Args *arguments) {
    const struct Args args = *arguments;
    task_1(args);
}

// task 2 of 3: range_for over i
// orbit.py:43  for i in range(512):
static inline void task_2(const struct Args args, int i, float *heaviest_mass) {
    // orbit.py:44  ti.atomic_max(heaviest.mass, bodies.mass[i])
    // not atomic: joined below (reduce_atomics)
    *heaviest_mass = max_f32(*heaviest_mass, bodies_mass(i));
}

void orbit_2(const struct Args *arguments) {
    const struct Args args = *arguments;
    float heaviest_mass = NAN;  // NaN loses against every number
    #pragma omp simd reduction(max_f32: heaviest_mass)
    for (int i = 0; i < 512; i++) {
        task_2(args, i, &heaviest_mass);
    }
    args.temporaries->heaviest.mass = max_f32(args.temporaries->heaviest.mass, heaviest_mass);
    // orbit.py:45  bodies[1] = heaviest
    Body heaviest = args.temporaries->heaviest;
    bodies_pos(1) = heaviest.pos;
    bodies_vel(1) = heaviest.vel;
    bodies_mass(1) = heaviest.mass;
}
