// shadesmith 0.1.0, vulkan 3c1fd6fa, tiles.py:4:
// tiles(a: ndarray[f32, 1], sums: ndarray[f32, 1])
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require

#define BLOCK 64
layout(local_size_x = BLOCK) in;

layout(buffer_reference, scalar, buffer_reference_align = 4) buffer F32 { float v[]; };
layout(push_constant, scalar) uniform Args {
    F32 a_data;     // a: ndarray[f32, 1]
    F32 sums_data;  // sums: ndarray[f32, 1]
    int a_n;        // a.shape[0]
} args;

#define a(i) args.a_data.v[i]
#define sums(i) args.sums_data.v[i]

shared float tile[64];

// tiles.py:6  for i in a:
void task(int i, bool has_iteration) {
    // tiles.py:8  t = ti.simt.block.thread_idx()
    int t = int(gl_LocalInvocationID.x);
    float x;
    if (has_iteration) {
        x = a(i) * a(i);  // :9
        tile[t] = x;  // :10
    }
    // tiles.py:11  ti.simt.block.sync()
    barrier();
    int stride = 32;  // :12
    while (stride > 0) {  // :13
        if (has_iteration) {
            if (t < stride) {  // :14
                // not atomic: no other thread writes it (demote_atomics)
                tile[t] += tile[t + stride];  // :15
            }
        }
        // tiles.py:16  ti.simt.block.sync()
        barrier();
        stride >>= 1;  // :17
    }
    if (has_iteration) {
        a(i) = x / tile[0];  // :18
        if (t == 0) {  // :19
            // tiles.py:20  sums[i // 64] = tile[0]
            sums(i >> 6) = tile[0];
        }
    }
}

void main() {
    // an axis of the grid has at most 65,535 groups; the others are in further rows
    uint first = (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * BLOCK;
    if (first < uint(args.a_n)) {
        uint index = first + gl_LocalInvocationID.x;
        task(int(index), index < uint(args.a_n));
    }
}
