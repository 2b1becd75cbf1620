// shadesmith 0.1.0, vulkan a96fc29f, hand_tuning.py:28:
// multiply(a: ndarray[f32, 2], b: ndarray[f32, 2], c: ndarray[f32, 2])
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require

#define BLOCK 128
layout(local_size_x = BLOCK) in;

layout(buffer_reference, scalar, buffer_reference_align = 4) buffer F32 { float v[]; };
layout(push_constant, scalar) uniform Args {
    F32 a_data;  // a: ndarray[f32, 2]
    F32 b_data;  // b: ndarray[f32, 2]
    F32 c_data;  // c: ndarray[f32, 2]
    int a_n1;    // a.shape[1]
    int b_n1;    // b.shape[1]
    int c_n0;    // c.shape[0]
    int c_n1;    // c.shape[1]
} args;

#define a(i, j) args.a_data.v[(i) * args.a_n1 + (j)]
#define b(i, j) args.b_data.v[(i) * args.b_n1 + (j)]
#define c(i, j) args.c_data.v[(i) * args.c_n1 + (j)]

// hand_tuning.py:29  for i, j in c:
void main() {
    int rows = uint(args.c_n0) * uint(args.c_n1) >= 1048576u ? 4 : 1;
    // an axis of the grid has at most 65,535 groups; the others are in further rows
    uint index = gl_WorkGroupID.y * gl_NumWorkGroups.x * BLOCK + gl_GlobalInvocationID.x;
    if (index >= uint((args.c_n0 - 1) / rows + 1) * uint(args.c_n1)) return;
    int i = int(index / args.c_n1) * rows, j = int(index % args.c_n1);
    if (rows == 4 && i <= args.c_n0 - 4) {
        // four rows share what they load, if there are many (row_lanes)
        vec4 total = vec4(0.0);  // :30
        // hand_tuning.py:31  for k in range(a.shape[1]):
        for (int k = 0; k < args.a_n1; k++) {
            // hand_tuning.py:32  total += a[i, k] * b[k, j]
            total += vec4(a(i, k), a(i + 1, k), a(i + 2, k), a(i + 3, k)) * b(k, j);
        }
        // hand_tuning.py:33  c[i, j] = total
        c(i, j) = total.x;
        c(i + 1, j) = total.y;
        c(i + 2, j) = total.z;
        c(i + 3, j) = total.w;
    } else {
        for (int ii = i; ii < (rows == 4 ? args.c_n0 : i + 1); ii++) {
            float total = 0.0;
            for (int k = 0; k < args.a_n1; k++) {
                total += a(ii, k) * b(k, j);
            }
            c(ii, j) = total;
        }
    }
}
