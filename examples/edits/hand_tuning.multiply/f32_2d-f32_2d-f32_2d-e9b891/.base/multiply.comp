// multiply(a: ndarray[f32, 2], b: ndarray[f32, 2], c: ndarray[f32, 2]), range_for over c
// from hand_tuning.py:29, interface 6beffc3d
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

// hand_tuning.py:30  for i, j in c:
void task(int i, int j) {
    // hand_tuning.py:31  total = 0.0
    float total = 0.0;
    // hand_tuning.py:32  for k in range(a.shape[1]):
    for (int k = 0; k < args.a_n1; k++) {
        // hand_tuning.py:33  total += a[i, k] * b[k, j]
        total += a(i, k) * b(k, j);
    }
    // hand_tuning.py:34  c[i, j] = total
    c(i, j) = total;
}

void main() {
    // an axis of the grid takes 65,535 groups; more of them stand in further rows
    uint index = gl_WorkGroupID.y * gl_NumWorkGroups.x * BLOCK + gl_GlobalInvocationID.x;
    if (index < uint(args.c_n0) * uint(args.c_n1)) {
        task(int(index / args.c_n1), int(index % args.c_n1));
    }
}
