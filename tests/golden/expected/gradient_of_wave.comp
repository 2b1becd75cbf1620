// shadesmith 0.1.0, vulkan 4f8afcf1, gradient_of_wave.py:9: wave_grad(t: i32)
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_atomic_float : require

#define BLOCK 128
layout(local_size_x = BLOCK) in;

const int u_grad_n1 = 64, u_grad_n2 = 64;  // shape of u_grad

layout(buffer_reference, scalar, buffer_reference_align = 4) restrict buffer F32 { float v[]; };
layout(push_constant, scalar) uniform Args {
    F32 u_grad_data;  // u_grad: field[f32, 4x64x64]
    int t;            // t: i32
} args;

#define u_grad(i, j, k) args.u_grad_data.v[((i) * u_grad_n1 + (j)) * u_grad_n2 + (k)]

// gradient_of_wave.py:10  for i, j in ti.ndrange((1, N - 1), (1, N - 1)):
void task(int i, int j) {
    // adjoint of gradient_of_wave.py:12  u[t + 1, i, j] = 2 * u[t, i, j] - u[t - 1, i, j] + 0.1 *
    //     laplacian
    float u_grad_tij = u_grad(args.t + 1, i, j);
    u_grad(args.t + 1, i, j) = 0.0;
    float laplacian_adj = u_grad_tij * 0.1;
    u_grad(args.t - 1, i, j) += -u_grad_tij;
    // adjoint of gradient_of_wave.py:11  laplacian = u[t, i - 1, j] + u[t, i + 1, j] +
    //     u[t, i, j - 1] + u[t, i, j + 1] - 4 * u[t, i, j]
    atomicAdd(u_grad(args.t, i, j), u_grad_tij * 2.0 + -laplacian_adj * 4.0);
    atomicAdd(u_grad(args.t, i, j + 1), laplacian_adj);
    atomicAdd(u_grad(args.t, i, j - 1), laplacian_adj);
    atomicAdd(u_grad(args.t, i + 1, j), laplacian_adj);
    atomicAdd(u_grad(args.t, i - 1, j), laplacian_adj);
}

void main() {
    uint index = gl_GlobalInvocationID.x;
    if (index < 3844u) task(1 + int(index / 62), 1 + int(index % 62));
}
