// shadesmith 0.1.0, vulkan 8f443836, gravity.py:11: gravity(dt: f32)
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require

#define BLOCK 128
layout(local_size_x = BLOCK) in;

const int position_n0 = 1000;  // shape of position, velocity
const int n = 1000;  // captured

layout(buffer_reference, scalar, buffer_reference_align = 4)
    restrict readonly buffer ReadF32x3 { vec3 v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) restrict buffer F32x3 { vec3 v[]; };
layout(push_constant, scalar) uniform Args {
    ReadF32x3 position_data;  // position: field[f32[3], 1000]
    F32x3 velocity_data;      // velocity: field[f32[3], 1000]
    float dt;                 // dt: f32
} args;

#define position(i) args.position_data.v[i]
#define velocity(i) args.velocity_data.v[i]

shared vec4 position_tile[BLOCK];

// gravity.py:12  for i in position:
void task(int i, bool has_iteration) {
    // gravity.py:13  force = ti.Vector([0.0, 0.0, 0.0])
    vec3 force = vec3(0.0);
    vec3 position_i;
    if (has_iteration) {
        position_i = position(i);
    }
    // gravity.py:14  for j in range(n):
    for (int j_tile = 0; j_tile < n; j_tile += BLOCK) {
        int thread = int(gl_LocalInvocationID.x);
        // all threads read position in this order: each loads one element (block_tiles)
        if (j_tile + thread < n) {
            position_tile[thread] = vec4(position(j_tile + thread), 0.0);
        }
        barrier();
        if (has_iteration) {
            int end_j = min(BLOCK, n - j_tile);
            for (int j = 0; j < end_j; j++) {
                // gravity.py:15  d = position[j] - position[i]
                vec3 d = position_tile[j].xyz - position_i;
                // gravity.py:16  force += d * ti.rsqrt(d.dot(d) + 1e-4) ** 3
                float rsqrt = inversesqrt(dot(d, d) + 1e-4);
                force += rsqrt * rsqrt * rsqrt * d;
            }
        }
        barrier();
    }
    if (has_iteration) {
        // not atomic: no other iteration writes it (demote_atomics)
        velocity(i) += args.dt * force;  // :17
    }
}

void main() {
    uint index = gl_GlobalInvocationID.x;
    task(int(index), index < position_n0);
}
