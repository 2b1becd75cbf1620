// shadesmith 0.1.0, vulkan 6e9201ee, jacobi.py:4:
// jacobi(a: ndarray[f32, 2], b: ndarray[f32, 2], w: f32)
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_buffer_reference_uvec2 : require

#define BLOCK 128
layout(local_size_x = BLOCK) in;

// How to divide by a number of the launch without a division.
struct Divisor { uint multiplier, shift; };

// n / d for n, d up to 2^31; a launch packs `by` for d.
uint divide(uint n, Divisor by) {
    uint high, low;
    umulExtended(n, by.multiplier, high, low);
    return (high + n) >> by.shift;
}

layout(buffer_reference, scalar, buffer_reference_align = 4) buffer F32 { float v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 16) buffer F32x4 { vec4 v[]; };
layout(push_constant, scalar) uniform Args {
    F32 a_data;           // a: ndarray[f32, 2]
    F32 b_data;           // b: ndarray[f32, 2]
    float w;              // w: f32
    int n;                // a.shape[0]
    int m;                // a.shape[1]
    int b_n1;             // b.shape[1]
    Divisor by_extent_j;  // to divide by the extent along j (launch_divisors)
} args;

#define a(i, j) args.a_data.v[(i) * args.m + (j)]
#define a4(i, j) F32x4(args.a_data).v[((i) * args.m + (j)) / 4]
#define b(i, j) args.b_data.v[(i) * args.b_n1 + (j)]
#define b4(i, j) F32x4(args.b_data).v[((i) * args.b_n1 + (j)) / 4]

// jacobi.py:6  for i, j in a:
void iteration(int i, int j, float w) {
    if (0 < i && i < args.n - 1 && 0 < j && j < args.m - 1) {  // :7
        float s = a(i - 1, j) + a(i + 1, j) + a(i, j - 1) + a(i, j + 1);  // :8
        b(i, j) = a(i, j) + w * (0.25 * s - a(i, j));  // :9
    }
}

// jacobi.py:6  for i, j in a:
void main() {
    int extent_j = int((uint(args.m) + 3u) / 4u);
    // an axis of the grid has at most 65,535 groups; the others are in further rows
    uint index = gl_WorkGroupID.y * gl_NumWorkGroups.x * BLOCK + gl_GlobalInvocationID.x;
    if (index >= uint(args.n) * uint(extent_j)) return;
    int i = int(divide(index, args.by_extent_j)), j = int(index - i * extent_j) * 4;
    // four iterations at a time, by accesses of 16 bytes (wide_accesses)
    bool aligned = uvec2(args.a_data).x % 16u == 0u && uvec2(args.b_data).x % 16u == 0u
        && args.m % 4 == 0 && args.b_n1 % 4 == 0;
    if (aligned && 0 < i && i < args.n - 1 && 0 < j && j < args.m - 4) {
        // jacobi.py:8  s = a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]
        vec4 a_ij = a4(i, j);
        vec4 s = a4(i - 1, j) + a4(i + 1, j) + vec4(a(i, j - 1), a_ij.x, a_ij.y, a_ij.z)
            + vec4(a_ij.y, a_ij.z, a_ij.w, a(i, j + 4));
        // jacobi.py:9  b[i, j] = a[i, j] + w * (0.25 * s - a[i, j])
        b4(i, j) = a_ij + args.w * (0.25 * s - a_ij);
    } else {
        // one by one; if rows are not aligned, neighbouring threads take neighbours
        int quarter = (args.m - 1) / 4 + 1;
        for (int part = 0; part < 4; part++) {
            int jj = aligned ? j + part : j / 4 + part * quarter;
            if (jj < args.m) {
                iteration(i, jj, args.w);
            }
        }
    }
}
