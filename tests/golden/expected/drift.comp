// drift(dt: f32, axis: i32), range_for over position
// from drift.py:15, interface d0c48d31
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require

#define BLOCK 128
layout(local_size_x = BLOCK) in;

layout(buffer_reference, scalar, buffer_reference_align = 4) buffer F32 { float v[]; };
layout(push_constant, scalar) uniform Args {
    F32 position_x_data;  // position_x: field[f32, 100000]
    F32 position_y_data;  // position_y: field[f32, 100000]
    F32 position_z_data;  // position_z: field[f32, 100000]
    F32 velocity_x_data;  // velocity_x: field[f32, 100000]
    F32 velocity_y_data;  // velocity_y: field[f32, 100000]
    F32 velocity_z_data;  // velocity_z: field[f32, 100000]
    float dt;             // dt: f32
    int axis;             // axis: i32
} args;

#define position_x(i) args.position_x_data.v[i]
#define position_y(i) args.position_y_data.v[i]
#define position_z(i) args.position_z_data.v[i]
#define velocity_x(i) args.velocity_x_data.v[i]
#define velocity_y(i) args.velocity_y_data.v[i]
#define velocity_z(i) args.velocity_z_data.v[i]

// drift.py:16  for i in position:
void task(int i) {
    // drift.py:17  velocity[i] -= 0.1 * velocity[i] * dt
    velocity_x(i) -= 0.1 * velocity_x(i) * args.dt;
    velocity_y(i) -= 0.1 * velocity_y(i) * args.dt;
    velocity_z(i) -= 0.1 * velocity_z(i) * args.dt;
    // drift.py:18  velocity[i].y -= 9.8 * dt
    velocity_y(i) -= 9.8 * args.dt;
    // drift.py:19  position[i] += velocity[i] * dt
    position_x(i) += velocity_x(i) * args.dt;
    position_y(i) += velocity_y(i) * args.dt;
    position_z(i) += velocity_z(i) * args.dt;
    // drift.py:20  if position[i][axis] < 0:
    if ((args.axis == 0 ? position_x(i) : args.axis == 1 ? position_y(i) : position_z(i)) < 0.0) {
        // drift.py:21  position[i][axis] = 0
        if (args.axis == 0) {
            position_x(i) = 0.0;
        } else if (args.axis == 1) {
            position_y(i) = 0.0;
        } else {
            position_z(i) = 0.0;
        }
        // drift.py:22  velocity[i] *= -0.5 * velocity[i].norm()
        float t0 = -0.5 * length(vec3(velocity_x(i), velocity_y(i), velocity_z(i)));
        velocity_x(i) *= t0;
        velocity_y(i) *= t0;
        velocity_z(i) *= t0;
    }
}

void main() {
    uint index = gl_GlobalInvocationID.x;
    if (index < 100000u) {
        task(int(index));
    }
}
