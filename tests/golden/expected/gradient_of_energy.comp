// shadesmith 0.1.0, vulkan 8f292926, gradient_of_energy.py:10: energy_grad()
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require

#define BLOCK 128
layout(local_size_x = BLOCK) in;

const int x_n0 = 64;  // shape of x, x_grad
const int N = 64;  // captured

layout(buffer_reference, scalar, buffer_reference_align = 8)
    restrict readonly buffer ReadF32x2 { vec2 v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) restrict buffer F32x2 { vec2 v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4)
    restrict readonly buffer ReadF32 { float v[]; };
layout(push_constant, scalar) uniform Args {
    ReadF32x2 x_data;        // x: field[f32[2], 64]
    F32x2 x_grad_data;       // x_grad: field[f32[2], 64]
    ReadF32 loss_grad_data;  // loss_grad: field[f32, 0-D]
} args;

#define x(i) args.x_data.v[i]
#define x_grad(i) args.x_grad_data.v[i]
#define loss_grad() args.loss_grad_data.v[0]

// gradient_of_energy.py:11  for i in x:
void main() {
    int j = int(gl_GlobalInvocationID.x);
    if (j >= x_n0) return;
    vec2 x_adj = vec2(0.0);
    // adjoint of :11
    vec2 x_j = x(j);
    for (int i = 0; i < x_n0; i++) {
        if (i != j) {  // :14
            // gradient_of_energy.py:15  r = x[i] - x[j]
            vec2 r = x(i) - x_j;
            // gradient_of_energy.py:16  e += 1 / ti.sqrt(r.norm_sqr() + 1e-3)
            float inverse_root = inversesqrt(dot(r, r) + 0.001);
            // adjoint of :15
            x_adj += loss_grad() * inverse_root * inverse_root * inverse_root * r;
        }
    }
    // adjoint of gradient_of_energy.py:17  loss[None] += e
    float loss_grad_value = loss_grad();
    // gradient_of_energy.py:13  for j in range(N):
    for (int j_1 = 0; j_1 < N; j_1++) {
        if (j != j_1) {
            vec2 r = x_j - x(j_1);
            float inverse_root = inversesqrt(dot(r, r) + 0.001);
            x_adj -= loss_grad_value * inverse_root * inverse_root * inverse_root * r;
        }
    }
    x_grad(j) += x_adj;
}
