// drift(dt: f32, axis: i32), range_for over position
// from drift.py:15, interface d0c48d31
#include <math.h>

typedef struct {
    float x, y, z;
} vec3;

static inline float vec3_length(vec3 a) {
    return sqrtf(a.x * a.x + a.y * a.y + a.z * a.z);
}

struct Args {
    float *position_x_data;  // position_x: field[f32, 100000]
    float *position_y_data;  // position_y: field[f32, 100000]
    float *position_z_data;  // position_z: field[f32, 100000]
    float *velocity_x_data;  // velocity_x: field[f32, 100000]
    float *velocity_y_data;  // velocity_y: field[f32, 100000]
    float *velocity_z_data;  // velocity_z: field[f32, 100000]
    float dt;                // dt: f32
    int axis;                // axis: i32
};

#define position_x(i) args.position_x_data[i]
#define position_y(i) args.position_y_data[i]
#define position_z(i) args.position_z_data[i]
#define velocity_x(i) args.velocity_x_data[i]
#define velocity_y(i) args.velocity_y_data[i]
#define velocity_z(i) args.velocity_z_data[i]

// drift.py:16  for i in position:
static inline void task(const struct Args args, int i) {
    // drift.py:17  velocity[i] -= 0.1 * velocity[i] * dt
    velocity_x(i) -= 0.1f * velocity_x(i) * args.dt;
    velocity_y(i) -= 0.1f * velocity_y(i) * args.dt;
    velocity_z(i) -= 0.1f * velocity_z(i) * args.dt;
    // drift.py:18  velocity[i].y -= 9.8 * dt
    velocity_y(i) -= 9.8f * args.dt;
    // drift.py:19  position[i] += velocity[i] * dt
    position_x(i) += velocity_x(i) * args.dt;
    position_y(i) += velocity_y(i) * args.dt;
    position_z(i) += velocity_z(i) * args.dt;
    // drift.py:20  if position[i][axis] < 0:
    if ((args.axis == 0 ? position_x(i) : args.axis == 1 ? position_y(i) : position_z(i)) < 0.0f) {
        // drift.py:21  position[i][axis] = 0
        if (args.axis == 0) {
            position_x(i) = 0.0f;
        } else if (args.axis == 1) {
            position_y(i) = 0.0f;
        } else {
            position_z(i) = 0.0f;
        }
        // drift.py:22  velocity[i] *= -0.5 * velocity[i].norm()
        float t0 = -0.5f * vec3_length((vec3){velocity_x(i), velocity_y(i), velocity_z(i)});
        velocity_x(i) *= t0;
        velocity_y(i) *= t0;
        velocity_z(i) *= t0;
    }
}

void drift_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    #pragma omp parallel for simd firstprivate(args) schedule(static)
    for (int i = 0; i < 100000; i++) {
        task(args, i);
    }
}
