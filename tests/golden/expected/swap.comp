// shadesmith 0.1.0, vulkan 4e203865, swap.py:4: swap(a: ndarray[f32, 1])
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require

#define BLOCK 64
layout(local_size_x = BLOCK) in;

layout(buffer_reference, scalar, buffer_reference_align = 4) restrict buffer F32 { float v[]; };
layout(push_constant, scalar) uniform Args {
    F32 a_data;  // a: ndarray[f32, 1]
    int a_n;     // a.shape[0]
} args;

#define a(i) args.a_data.v[i]

shared float tile[64];

// swap.py:6  for i in a:
void task(int i, bool has_iteration) {
    // swap.py:8  t = ti.simt.block.thread_idx()
    int t = int(gl_LocalInvocationID.x);
    if (has_iteration) {
        tile[t] = a(i);  // :9
    }
    // swap.py:10  ti.simt.block.sync()
    barrier();
    if (has_iteration) {
        a(i) = tile[63 - t];  // :11
    }
}

void main() {
    for (uint first = gl_WorkGroupID.x * BLOCK; first < uint(args.a_n);
        first += gl_NumWorkGroups.x * BLOCK) {
        uint index = first + gl_LocalInvocationID.x;
        task(int(index), index < uint(args.a_n));
        barrier();  // the next iteration overwrites the shared arrays
    }
}
