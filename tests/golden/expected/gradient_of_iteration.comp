// shadesmith 0.1.0, vulkan 620193dd, gradient_of_iteration.py:8: iterate_grad(n: i32)
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require

#define BLOCK 128
layout(local_size_x = BLOCK) in;

const int x_n0 = 256;  // shape of x, x_grad, y_grad

struct vec64 { float e[64]; };

vec64 vec64_splat(float a) {
    vec64 r;
    for (int i = 0; i < 64; i++) {
        r.e[i] = a;
    }
    return r;
}

layout(buffer_reference, scalar, buffer_reference_align = 4)
    restrict readonly buffer ReadF32 { float v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) restrict buffer F32 { float v[]; };
layout(push_constant, scalar) uniform Args {
    ReadF32 x_data;   // x: field[f32, 256]
    F32 x_grad_data;  // x_grad: field[f32, 256]
    F32 y_grad_data;  // y_grad: field[f32, 256]
    int n;            // n: i32
} args;

#define x(i) args.x_data.v[i]
#define x_grad(i) args.x_grad_data.v[i]
#define y_grad(i) args.y_grad_data.v[i]

// gradient_of_iteration.py:9  for i in x:
void main() {
    int i = int(gl_GlobalInvocationID.x);
    if (i >= x_n0) return;
    // gradient_of_iteration.py:10  a = x[i]
    float x_i = x(i), a = x_i;
    // gradient_of_iteration.py:11  for _ in range(n):
    int stride = (max(args.n, 1) - 1) / 64 + 1;
    vec64 a_saved = vec64_splat(0.0);
    for (int j = 0; j < args.n; j++) {
        if (j % stride == 0) {
            a_saved.e[j / stride] = a;  // for the backward loop (reverse_mode)
        }
        // gradient_of_iteration.py:12  a = ti.sin(a) + 0.1 * x[i] * a
        a = sin(a) + 0.1 * x_i * a;
    }
    // adjoint of gradient_of_iteration.py:13  y[i] = a
    float a_adj = y_grad(i);
    // adjoint of :11
    float x_grad_i = x_grad(i);
    for (int j = max(args.n, 0) - 1; j >= 0; j--) {
        int slot = j / stride;
        float a_1 = a_saved.e[slot];
        for (int again = slot * stride; again < j; again++) {
            a_1 = sin(a_1) + 0.1 * x_i * a_1;
        }
        // adjoint of :12
        float old_a_adj = a_adj;
        a_adj *= 0.1 * x_i;
        x_grad_i += old_a_adj * a_1 * 0.1;
        a_adj += old_a_adj * cos(a_1);
    }
    // adjoint of :10
    x_grad(i) = x_grad_i + a_adj;  // stored once: no other iteration writes it (keep_elements)
    y_grad(i) = 0.0;
}
