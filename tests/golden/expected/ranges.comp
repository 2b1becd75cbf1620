// shadesmith 0.1.0, vulkan b64779f9, ranges.py:4:
// ranges(a: ndarray[f32, 1], begin: i32, end: i32)
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require

#define BLOCK 128
layout(local_size_x = BLOCK) in;

layout(buffer_reference, scalar, buffer_reference_align = 4) restrict buffer F32 { float v[]; };
layout(push_constant, scalar) uniform Args {
    F32 a_data;  // a: ndarray[f32, 1]
    int begin;   // begin: i32
    int end;     // end: i32
} args;

#define a(i) args.a_data.v[i]

// ranges.py:5  for i in range(begin, end, 2):
void main() {
    // an axis of the grid has at most 65,535 groups; the others are in further rows
    uint index = gl_WorkGroupID.y * gl_NumWorkGroups.x * BLOCK + gl_GlobalInvocationID.x;
    if (index >= (uint(max(args.end, args.begin)) - uint(args.begin) + 1u) / 2u) return;
    int i = int(uint(args.begin) + index * 2u);
    float r = 0.0;  // :6
    // ranges.py:7  for k in range(i, 0, -1):
    for (int k = i; k > 0; k--) {
        for (int q = 0; q < k; q++) {  // :8
            if (q == 3) {  // :9
                continue;  // :10
            }
            r += a(q) * a(k);  // :11
        }
    }
    a(i) = r > 0.0 && a(i + 1) > 0.0 ? r : -r;  // :12
}
