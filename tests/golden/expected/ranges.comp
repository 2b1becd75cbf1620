// ranges(a: ndarray[f32, 1], begin: i32, end: i32), range_for over i
// from ranges.py:4, interface 10df90ec
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require

#define BLOCK 128
layout(local_size_x = BLOCK) in;

layout(buffer_reference, scalar, buffer_reference_align = 4) buffer F32 { float v[]; };
layout(push_constant, scalar) uniform Args {
    F32 a_data;  // a: ndarray[f32, 1]
    int begin;   // begin: i32
    int end;     // end: i32
} args;

#define a(i) args.a_data.v[i]

// ranges.py:5  for i in range(begin, end, 2):
void task(int i) {
    // ranges.py:6  r = 0.0
    float r = 0.0;
    // ranges.py:7  for k in range(i, 0, -1):
    for (int k = i; k > 0; k--) {
        // ranges.py:8  for q in range(k):
        for (int q = 0; q < k; q++) {
            // ranges.py:9  if q == 3:
            if (q == 3) {
                continue;  // ranges.py:10
            }
            // ranges.py:11  r += a[q] * a[k]
            r += a(q) * a(k);
        }
    }
    // ranges.py:12  a[i] = r if r > 0 and a[i + 1] > 0 else -r
    a(i) = r > 0.0 && a(i + 1) > 0.0 ? r : -r;
}

void main() {
    // an axis of the grid has at most 65,535 groups; the others are in further rows
    uint index = gl_WorkGroupID.y * gl_NumWorkGroups.x * BLOCK + gl_GlobalInvocationID.x;
    if (index < uint(max((args.end - args.begin + 1) / 2, 0))) {
        task(args.begin + int(index) * 2);
    }
}
