// shadesmith 0.1.0, vulkan a68394ce, gradient_of_springs.py:11: springs_grad()
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_atomic_float : require

#define BLOCK 128
layout(local_size_x = BLOCK) in;

const int ends_n0 = 256;  // shape of ends, length, stiffness, length_grad, stiffness_grad

layout(buffer_reference, scalar, buffer_reference_align = 8)
    restrict readonly buffer ReadI32x2 { ivec2 v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8)
    restrict readonly buffer ReadF32x2 { vec2 v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4)
    restrict readonly buffer ReadF32 { float v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) restrict buffer F32x2 { vec2 v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) restrict buffer F32 { float v[]; };
layout(push_constant, scalar) uniform Args {
    ReadI32x2 ends_data;       // ends: field[i32[2], 256]
    ReadF32x2 x_data;          // x: field[f32[2], 128]
    ReadF32 length_data;       // length: field[f32, 256]
    ReadF32 stiffness_data;    // stiffness: field[f32, 256]
    F32x2 x_grad_data;         // x_grad: field[f32[2], 128]
    F32 length_grad_data;      // length_grad: field[f32, 256]
    F32 stiffness_grad_data;   // stiffness_grad: field[f32, 256]
    ReadF32 energy_grad_data;  // energy_grad: field[f32, 0-D]
} args;

#define ends(i) args.ends_data.v[i]
#define x(i) args.x_data.v[i]
#define length_(i) args.length_data.v[i]
#define stiffness(i) args.stiffness_data.v[i]
#define x_grad(i) args.x_grad_data.v[i]
#define length_grad(i) args.length_grad_data.v[i]
#define stiffness_grad(i) args.stiffness_grad_data.v[i]
#define energy_grad() args.energy_grad_data.v[0]

// gradient_of_springs.py:12  for s in ends:
void main() {
    int s = int(gl_GlobalInvocationID.x);
    if (s >= ends_n0) return;
    // gradient_of_springs.py:13  d = x[ends[s][0]] - x[ends[s][1]]
    int ends_s_x = ends(s).x, ends_s_y = ends(s).y;
    vec2 d = x(ends_s_x) - x(ends_s_y);
    // gradient_of_springs.py:14  strain = d.norm() / length[s] - 1
    float norm_d = length(d), length_s = length_(s), length_ratio = norm_d / length_s;
    float strain = length_ratio - 1.0;
    // adjoint of gradient_of_springs.py:15  energy[None] += 0.5 * stiffness[s] * strain**2
    float strain_adj = strain * (energy_grad() * stiffness(s));
    stiffness_grad(s) += 0.5 * energy_grad() * (strain * strain);
    // adjoint of :14
    length_grad(s) -= strain_adj * length_ratio / length_s;
    vec2 d_adj = strain_adj / length_s / norm_d * d;
    // adjoint of :13
    atomicAdd(x_grad(ends_s_y).x, -d_adj.x);
    atomicAdd(x_grad(ends_s_y).y, -d_adj.y);
    atomicAdd(x_grad(ends_s_x).x, d_adj.x);
    atomicAdd(x_grad(ends_s_x).y, d_adj.y);
}
