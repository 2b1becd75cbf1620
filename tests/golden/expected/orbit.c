// orbit(dt: f32), 4 tasks
// from orbit.py:28, interface 95c811f0
#include <math.h>
#include <stdbool.h>

typedef struct {
    float x, y, z;
} vec3;

static inline vec3 vec3_add(vec3 a, vec3 b) {
    return (vec3){a.x + b.x, a.y + b.y, a.z + b.z};
}

static inline float atomic_max_f32(float *place, float value) {
    float old, new;
    __atomic_load(place, &old, __ATOMIC_RELAXED);
    do {
        new = fmaxf(old, value);
    } while (!__atomic_compare_exchange(place, &old, &new, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return old;
}

static inline float vec3_dot(vec3 a, vec3 b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static inline vec3 vec3_mul_vs(vec3 a, float b) {
    return (vec3){a.x * b, a.y * b, a.z * b};
}

static inline vec3 vec3_sub(vec3 a, vec3 b) {
    return (vec3){a.x - b.x, a.y - b.y, a.z - b.z};
}

typedef struct {
    vec3 pos;
    vec3 vel;
    float mass;
} Body;
_Static_assert(sizeof(Body) == 28, "the host packs it so");

struct Temporaries {
    Body heaviest;  // Body
};

struct Args {
    vec3 *bodies_pos_data;            // bodies_pos: field[f32[3], 512]
    vec3 *bodies_vel_data;            // bodies_vel: field[f32[3], 512]
    float *bodies_mass_data;          // bodies_mass: field[f32, 512]
    float *energy_data;               // energy: field[f32, 512]
    struct Temporaries *temporaries;  // values that cross tasks
    float dt;                         // dt: f32
};

#define bodies_pos(i) args.bodies_pos_data[i]
#define bodies_vel(i) args.bodies_vel_data[i]
#define bodies_mass(i) args.bodies_mass_data[i]
#define energy(i) args.energy_data[i]

// task 0 of 4: range_for over bodies
// orbit.py:29  for i in bodies:
static inline void task_0(const struct Args args, int i) {
    // orbit.py:30  bodies[i].vel -= bodies[i].pos * dt
    vec3 bodies_pos_0 = bodies_pos(i);
    bodies_vel(i) = vec3_sub(bodies_vel(i), vec3_mul_vs(bodies_pos_0, args.dt));
    // orbit.py:31  bodies.pos[i] += bodies[i].vel * dt
    bodies_pos(i) = vec3_add(bodies_pos_0, vec3_mul_vs(bodies_vel(i), args.dt));
    // orbit.py:32  energy[i] = bodies[i].energy()
    energy(i) = 0.5f * bodies_mass(i) * vec3_dot(bodies_vel(i), bodies_vel(i));
}

void orbit_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    for (int i = 0; i < 512; i++) {
        task_0(args, i);
    }
}

// task 1 of 4: serial
static inline void task_1(const struct Args args) {
    // orbit.py:33  heaviest = bodies[0]
    args.temporaries->heaviest = (Body){bodies_pos(0), bodies_vel(0), bodies_mass(0)};
}

void orbit_1(const struct Args *arguments) {
    const struct Args args = *arguments;
    task_1(args);
}

// task 2 of 4: range_for over i
// orbit.py:34  for i in range(512):
static inline void task_2(const struct Args args, int i) {
    // orbit.py:35  ti.atomic_max(heaviest.mass, bodies.mass[i])
    atomic_max_f32(&args.temporaries->heaviest.mass, bodies_mass(i));
}

void orbit_2(const struct Args *arguments) {
    const struct Args args = *arguments;
    for (int i = 0; i < 512; i++) {
        task_2(args, i);
    }
}

// task 3 of 4: serial
static inline void task_3(const struct Args args) {
    // orbit.py:36  bodies[1] = heaviest
    Body t0 = args.temporaries->heaviest;
    bodies_pos(1) = t0.pos;
    bodies_vel(1) = t0.vel;
    bodies_mass(1) = t0.mass;
}

void orbit_3(const struct Args *arguments) {
    const struct Args args = *arguments;
    task_3(args);
}
