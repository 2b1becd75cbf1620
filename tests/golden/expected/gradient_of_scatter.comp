// shadesmith 0.1.0, vulkan 36f936ec, gradient_of_scatter.py:10: scatter_grad()
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_control_flow_attributes : require

#define BLOCK 128
layout(local_size_x = BLOCK) in;

const int x_n0 = 256;  // shape of x, v, x_grad, v_grad
const int momentum_grad_n1 = 64;  // shape of momentum_grad
const int N = 64;  // captured

layout(buffer_reference, scalar, buffer_reference_align = 8)
    restrict readonly buffer ReadF32x2 { vec2 v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) restrict buffer F32x2 { vec2 v[]; };
layout(push_constant, scalar) uniform Args {
    ReadF32x2 x_data;              // x: field[f32[2], 256]
    ReadF32x2 v_data;              // v: field[f32[2], 256]
    F32x2 x_grad_data;             // x_grad: field[f32[2], 256]
    F32x2 v_grad_data;             // v_grad: field[f32[2], 256]
    ReadF32x2 momentum_grad_data;  // momentum_grad: field[f32[2], 64x64]
} args;

#define x(i) args.x_data.v[i]
#define v(i) args.v_data.v[i]
#define x_grad(i) args.x_grad_data.v[i]
#define v_grad(i) args.v_grad_data.v[i]
#define momentum_grad(i, j) args.momentum_grad_data.v[(i) * momentum_grad_n1 + (j)]

// gradient_of_scatter.py:11  for p in x:
void main() {
    int p = int(gl_GlobalInvocationID.x);
    if (p >= x_n0) return;
    // gradient_of_scatter.py:12  base = (x[p] * N - 0.5).cast(int)
    ivec2 base = ivec2(float(N) * x(p) - 0.5);
    vec2 fx = float(N) * x(p) - vec2(base);  // :13
    // gradient_of_scatter.py:14  w =
    //     [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2]
    vec2 fx_difference = 1.5 - fx, fx_difference_1 = fx - 1.0, fx_difference_2 = fx - 0.5;
    vec2 w[3] = vec2[3](0.5 * (fx_difference * fx_difference),
        0.75 - fx_difference_1 * fx_difference_1, 0.5 * (fx_difference_2 * fx_difference_2));
    mat2x3 w_adj = mat2x3(0.0);
    // gradient_of_scatter.py:15  for i, j in ti.static(ti.ndrange(3, 3)):
    vec2 v_p = v(p);  // the same in all iterations (hoist_loads)
    vec2 v_grad_p = v_grad(p);
    [[unroll]] for (int i = 0; i < 3; i++) {
        [[unroll]] for (int j = 0; j < 3; j++) {
            // adjoint of gradient_of_scatter.py:16  momentum[base + ti.Vector([i, j])] += w[i][0] *
            //     w[j][1] * v[p]
            float momentum_adj_dot_v = dot(momentum_grad(base.x + i, base.y + j), v_p);
            v_grad_p += w[i].x * w[j].y * momentum_grad(base.x + i, base.y + j);
            w_adj[1][j] += momentum_adj_dot_v * w[i].x;
            w_adj[0][i] += momentum_adj_dot_v * w[j].y;
        }
    }
    v_grad(p) = v_grad_p;  // stored once: no other iteration writes it (keep_elements)
    vec2 fx_adj = fx_difference_2 * vec2(w_adj[0][2], w_adj[1][2])  // adjoint of :14
        - 2.0 * fx_difference_1 * vec2(w_adj[0][1], w_adj[1][1])
        - fx_difference * vec2(w_adj[0][0], w_adj[1][0]);
    x_grad(p) += float(N) * fx_adj;  // adjoint of :12
}
