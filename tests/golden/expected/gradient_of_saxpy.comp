// shadesmith 0.1.0, vulkan 1464aaef, gradient_of_saxpy.py:5:
// saxpy_grad(a: f32, x: ndarray[f32, 1], y: ndarray[f32, 1])
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require

#define BLOCK 128
layout(local_size_x = BLOCK) in;

layout(buffer_reference, scalar, buffer_reference_align = 4) buffer F32 { float v[]; };
layout(push_constant, scalar) uniform Args {
    F32 x_data;       // x: ndarray[f32, 1]
    F32 x_grad_data;  // x_grad: ndarray[f32, 1]
    F32 y_grad_data;  // y_grad: ndarray[f32, 1]
    float a;          // a: f32
    int x_n;          // x.shape[0]
} args;

#define x(i) args.x_data.v[i]
#define x_grad(i) args.x_grad_data.v[i]
#define y_grad(i) args.y_grad_data.v[i]

// gradient_of_saxpy.py:6  for i in x:
void task(int i) {
    // adjoint of gradient_of_saxpy.py:7  y[i] += a * x[i] * x[i]
    x_grad(i) += y_grad(i) * (args.a * x(i)) + y_grad(i) * x(i) * args.a;
}

void main() {
    uint count = uint(args.x_n);
    uint stride = gl_NumWorkGroups.x * BLOCK;
    for (uint index = gl_GlobalInvocationID.x; index < count; index += stride) {
        task(int(index));
    }
}
