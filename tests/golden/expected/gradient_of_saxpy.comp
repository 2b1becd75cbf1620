// shadesmith 0.1.0, vulkan 2a13b715, gradient_of_saxpy.py:5:
// saxpy_grad(a: f32, x: ndarray[f32, 1], y: ndarray[f32, 1])
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_buffer_reference_uvec2 : require

#define BLOCK 128
layout(local_size_x = BLOCK) in;

layout(buffer_reference, scalar, buffer_reference_align = 4) buffer F32 { float v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 16) buffer F32x4 { vec4 v[]; };
layout(push_constant, scalar) uniform Args {
    F32 x_data;       // x: ndarray[f32, 1]
    F32 x_grad_data;  // x_grad: ndarray[f32, 1]
    F32 y_grad_data;  // y_grad: ndarray[f32, 1]
    float a;          // a: f32
    int x_n;          // x.shape[0]
} args;

#define x(i) args.x_data.v[i]
#define x4(i) F32x4(args.x_data).v[(i) / 4]
#define x_grad(i) args.x_grad_data.v[i]
#define x_grad4(i) F32x4(args.x_grad_data).v[(i) / 4]
#define y_grad(i) args.y_grad_data.v[i]
#define y_grad4(i) F32x4(args.y_grad_data).v[(i) / 4]

// gradient_of_saxpy.py:6  for i in x:
void main() {
    // an axis of the grid has at most 65,535 groups; the others are in further rows
    uint index = gl_WorkGroupID.y * gl_NumWorkGroups.x * BLOCK + gl_GlobalInvocationID.x;
    if (index >= (uint(args.x_n) + 3u) / 4u) return;
    int i = int(index) * 4;
    // four iterations at a time, by accesses of 16 bytes (wide_accesses)
    if (uvec2(args.x_data).x % 16u == 0u && uvec2(args.y_grad_data).x % 16u == 0u
        && uvec2(args.x_grad_data).x % 16u == 0u && i <= args.x_n - 4) {
        // adjoint of gradient_of_saxpy.py:7  y[i] += a * x[i] * x[i]
        x_grad4(i) += 2.0 * y_grad4(i) * (args.a * x4(i));
    } else {
        // one by one; i + 4 might overflow
        int end = i + min(args.x_n - i, 4);
        for (int ii = i; ii < end; ii++) {
            x_grad(ii) += 2.0 * y_grad(ii) * (args.a * x(ii));
        }
    }
}
