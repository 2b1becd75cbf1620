// shadesmith 0.1.0, vulkan 0387ed3c, diffused.py:10: diffused(rate: f32)
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require

#define BLOCK 128
layout(local_size_x = BLOCK) in;

const int u_n0 = 512, u_n1 = 256;  // shape of u, w
const int n = 512, m = 256;  // captured

layout(buffer_reference, scalar, buffer_reference_align = 4)
    restrict readonly buffer ReadF32 { float v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 16)
    restrict readonly buffer ReadF32x4 { vec4 v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4)
    restrict writeonly buffer WriteF32 { float v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 16)
    restrict writeonly buffer WriteF32x4 { vec4 v[]; };
layout(push_constant, scalar) uniform Args {
    ReadF32 u_data;   // u: field[f32, 512x256]
    WriteF32 w_data;  // w: field[f32, 512x256]
    float rate;       // rate: f32
} args;

#define u(i, j) args.u_data.v[(i) * u_n1 + (j)]
#define u4(i, j) ReadF32x4(args.u_data).v[((i) * u_n1 + (j)) / 4]
#define w(i, j) args.w_data.v[(i) * u_n1 + (j)]
#define w4(i, j) WriteF32x4(args.w_data).v[((i) * u_n1 + (j)) / 4]

// diffused.py:11  for i, j in u:
void iteration(int i, int j, float rate) {
    if (0 < i && i < n - 1 && 0 < j && j < m - 1) {  // :12
        float total = u(i - 1, j) + u(i + 1, j) + u(i, j - 1) + u(i, j + 1);  // :13
        w(i, j) = u(i, j) + rate * (total - 4.0 * u(i, j));  // :14
    }
}

// diffused.py:11  for i, j in u:
void main() {
    uint index = gl_GlobalInvocationID.x;
    if (index >= u_n0 * (u_n1 / 4)) return;
    int i = int(index / (u_n1 / 4)), j = int(index % (u_n1 / 4)) * 4;
    // four iterations at a time, by accesses of 16 bytes (wide_accesses)
    if (0 < i && i < n - 1 && 0 < j && j + 3 < m - 1) {
        // diffused.py:13  total = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
        vec4 u_ij = u4(i, j);
        vec4 total = u4(i - 1, j) + u4(i + 1, j) + vec4(u(i, j - 1), u_ij.x, u_ij.y, u_ij.z)
            + vec4(u_ij.y, u_ij.z, u_ij.w, u(i, j + 4));
        // diffused.py:14  w[i, j] = u[i, j] + rate * (total - 4.0 * u[i, j])
        w4(i, j) = u_ij + args.rate * (total - 4.0 * u_ij);
    } else {
        for (int jj = j; jj < j + 4; jj++) {
            iteration(i, jj, args.rate);
        }
    }
}
