// shadesmith 0.1.0, vulkan d43a7915, fall.py:11: fall(dt: f32, gravity: f32[3])
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require

#define BLOCK 128
layout(local_size_x = BLOCK) in;

layout(buffer_reference, scalar, buffer_reference_align = 4) restrict buffer F32x3 { vec3 v[]; };
layout(push_constant, scalar) uniform Args {
    F32x3 v_data;  // v: field[f32[3], 1024]
    F32x3 x_data;  // x: field[f32[3], 1024]
    float dt;      // dt: f32
    vec3 gravity;  // gravity: f32[3]
} args;

#define v(i) args.v_data.v[i]
#define x(i) args.x_data.v[i]

// fall.py:12  for i in range(1024):
void main() {
    int i = int(gl_GlobalInvocationID.x);
    if (i >= 1024) return;
    // fall.py:13  v[i] += dt * gravity
    v(i) += args.dt * args.gravity;  // not atomic: no other iteration writes it (demote_atomics)
    x(i) += args.dt * v(i);  // :14, not atomic: no other iteration writes it (demote_atomics)
    if (x(i).y < 0.0) {  // :15
        x(i).y = 0.0;  // :16
        v(i).y *= -0.5;  // :17
    }
}
