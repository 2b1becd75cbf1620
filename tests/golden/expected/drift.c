// shadesmith 0.1.0, c 3dad2100, drift.py:28: drift(dt: f32, axis: i32)
#include <math.h>

enum { position_n0 = 100000 };  // position.shape[0]

// x, or 0 if it is subnormal: processors multiply such numbers up to 100 times as slowly.
static inline float flushed_f32(float x) { return x * !(fabsf(x) < 0x1p-126f); }

typedef struct { float x, y, z; } vec3;

static inline float vec3_length(vec3 a) { return sqrtf(a.x * a.x + a.y * a.y + a.z * a.z); }

typedef struct {
    float x[100000];
    float y[100000];
    float z[100000];
} Position;
_Static_assert(sizeof(Position) == 1200000, "must match the cell size on the host");

typedef struct {
    float x[100000];
    float y[100000];
    float z[100000];
} Velocity;
_Static_assert(sizeof(Velocity) == 1200000, "must match the cell size on the host");

struct Args {
    Position *restrict position;  // position_x, position_y, position_z: field[f32, 100000]
    Velocity *restrict velocity;  // velocity_x, velocity_y, velocity_z: field[f32, 100000]
    float dt;                     // dt: f32
    int axis;                     // axis: i32
};

#define position_x(i) args.position->x[i]
#define position_y(i) args.position->y[i]
#define position_z(i) args.position->z[i]
#define velocity_x(i) args.velocity->x[i]
#define velocity_y(i) args.velocity->y[i]
#define velocity_z(i) args.velocity->z[i]

// drift.py:29  for i in position:
static inline void task(const struct Args args, int i) {
    // flushed: a subnormal number would never decay to 0 (flush_subnormals)
    // drift.py:30  velocity[i] -= 0.1 * velocity[i] * dt
    // not atomic: no other iteration writes it (demote_atomics)
    velocity_x(i) = flushed_f32(velocity_x(i) - 0.1f * velocity_x(i) * args.dt);
    velocity_y(i) = flushed_f32(velocity_y(i) - 0.1f * velocity_y(i) * args.dt);
    velocity_z(i) = flushed_f32(velocity_z(i) - 0.1f * velocity_z(i) * args.dt);
    // drift.py:31  velocity[i].y -= 9.8 * dt
    velocity_y(i) -= 9.8f * args.dt;  // not atomic: no other iteration writes it (demote_atomics)
    // drift.py:32  position[i] += velocity[i] * dt
    // not atomic: no other iteration writes it (demote_atomics)
    position_x(i) += velocity_x(i) * args.dt;
    position_y(i) += velocity_y(i) * args.dt;
    position_z(i) += velocity_z(i) * args.dt;
    // drift.py:33  if position[i][axis] < 0:
    if ((args.axis == 0 ? position_x(i) : args.axis == 1 ? position_y(i) : position_z(i)) < 0.0f) {
        // drift.py:34  position[i][axis] = 0
        if (args.axis == 0) {
            position_x(i) = 0.0f;
        } else if (args.axis == 1) {
            position_y(i) = 0.0f;
        } else {
            position_z(i) = 0.0f;
        }
        // drift.py:35  velocity[i] *= -0.5 * velocity[i].norm()
        float product = -0.5f * vec3_length((vec3){velocity_x(i), velocity_y(i), velocity_z(i)});
        velocity_x(i) = flushed_f32(velocity_x(i) * product);
        velocity_y(i) = flushed_f32(velocity_y(i) * product);
        velocity_z(i) = flushed_f32(velocity_z(i) * product);
    }
}

void drift_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    #pragma omp parallel for firstprivate(args) schedule(static)
    for (int i = 0; i < position_n0; i++) {
        task(args, i);
    }
}
