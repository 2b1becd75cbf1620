// shadesmith 0.1.0, vulkan 09d640a2, drift.py:28: drift(dt: f32, axis: i32)
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require

#define BLOCK 128
layout(local_size_x = BLOCK) in;

const int position_n0 = 100000;  // position.shape[0]

struct Position {
    float x[100000];
    float y[100000];
    float z[100000];
};

struct Velocity {
    float x[100000];
    float y[100000];
    float z[100000];
};

layout(buffer_reference, scalar, buffer_reference_align = 4)
    restrict buffer PositionBuffer { Position v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4)
    restrict buffer VelocityBuffer { Velocity v[]; };
layout(push_constant, scalar) uniform Args {
    PositionBuffer position;  // position_x, position_y, position_z: field[f32, 100000]
    VelocityBuffer velocity;  // velocity_x, velocity_y, velocity_z: field[f32, 100000]
    float dt;                 // dt: f32
    int axis;                 // axis: i32
} args;

#define position_x(i) args.position.v[0].x[i]
#define position_y(i) args.position.v[0].y[i]
#define position_z(i) args.position.v[0].z[i]
#define velocity_x(i) args.velocity.v[0].x[i]
#define velocity_y(i) args.velocity.v[0].y[i]
#define velocity_z(i) args.velocity.v[0].z[i]

// drift.py:29  for i in position:
void main() {
    int i = int(gl_GlobalInvocationID.x);
    if (i >= position_n0) return;
    // drift.py:30  velocity[i] -= 0.1 * velocity[i] * dt
    // not atomic: no other iteration writes it (demote_atomics)
    velocity_x(i) -= 0.1 * velocity_x(i) * args.dt;
    velocity_y(i) -= 0.1 * velocity_y(i) * args.dt;
    velocity_z(i) -= 0.1 * velocity_z(i) * args.dt;
    // drift.py:31  velocity[i].y -= 9.8 * dt
    velocity_y(i) -= 9.8 * args.dt;  // not atomic: no other iteration writes it (demote_atomics)
    // drift.py:32  position[i] += velocity[i] * dt
    // not atomic: no other iteration writes it (demote_atomics)
    position_x(i) += velocity_x(i) * args.dt;
    position_y(i) += velocity_y(i) * args.dt;
    position_z(i) += velocity_z(i) * args.dt;
    // drift.py:33  if position[i][axis] < 0:
    if ((args.axis == 0 ? position_x(i) : args.axis == 1 ? position_y(i) : position_z(i)) < 0.0) {
        // drift.py:34  position[i][axis] = 0
        if (args.axis == 0) {
            position_x(i) = 0.0;
        } else if (args.axis == 1) {
            position_y(i) = 0.0;
        } else {
            position_z(i) = 0.0;
        }
        // drift.py:35  velocity[i] *= -0.5 * velocity[i].norm()
        float product = -0.5 * length(vec3(velocity_x(i), velocity_y(i), velocity_z(i)));
        velocity_x(i) *= product;
        velocity_y(i) *= product;
        velocity_z(i) *= product;
    }
}
