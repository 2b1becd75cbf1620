// shadesmith 0.1.0, vulkan 07dd3a19, left_out.py:18: kernel(x: ndarray[f32, 1], dt: f32)
// no task for the loop in line 19: it does nothing (dead_code)
// `if debug:` in line 35 left out: always false (frontend)
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require

#define BLOCK 128
layout(local_size_x = BLOCK) in;

layout(buffer_reference, scalar, buffer_reference_align = 4) restrict buffer F32 { float v[]; };
layout(push_constant, scalar) uniform Args {
    F32 x_data;  // x: ndarray[f32, 1]
    float dt;    // dt: f32
    int x_n;     // x.shape[0]
} args;

#define x(i) args.x_data.v[i]

// left_out.py:10  def slope(x: ti.template(), i):
float slope(int i) {
    // `if order == 2:` is always true (frontend)
    float found = (x(i + 1) - x(i - 1)) / 2.0;  // :13
    return found;  // :14
}

// left_out.py:22  for i in range(1, x.shape[0] - 1):
void task(int i) {
    // `if debug:` left out: always false (frontend)
    x(i) -= args.dt * slope(i);  // :26, not atomic: no other iteration writes it (demote_atomics)
    // `if limit > 2:` left out: always false (simplify)
    // `elif order == 1:` left out: always false (frontend)
    x(i) *= 0.5;  // :32
}

void main() {
    for (uint index = gl_GlobalInvocationID.x; index < uint(max(args.x_n - 2, 0));
        index += gl_NumWorkGroups.x * BLOCK) {
        task(1 + int(index));
    }
}
