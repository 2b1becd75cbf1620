// shadesmith 0.1.0, vulkan e598a3fc, fence.py:9:
// fence(parts: ndarray[i32, 1], last: ndarray[i32, 1])
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require

#define BLOCK 64
layout(local_size_x = BLOCK) in;

layout(buffer_reference, scalar, buffer_reference_align = 4) coherent buffer I32 { int v[]; };
layout(push_constant, scalar) uniform Args {
    I32 parts_data;  // parts: ndarray[i32, 1]
    I32 last_data;   // last: ndarray[i32, 1]
    I32 done_data;   // done: field[i32, 0-D]
    int parts_n;     // parts.shape[0]
} args;

#define parts(i) args.parts_data.v[i]
#define last(i) args.last_data.v[i]
#define done() args.done_data.v[0]

// fence.py:11  for i in parts:
void task(int i) {
    // fence.py:12  parts[i] += 1
    atomicAdd(parts(i), 1);
    // fence.py:13  ti.simt.grid.memfence()
    memoryBarrierBuffer();
    // fence.py:14  last[i] = ti.atomic_add(done[None], 1)
    last(i) = atomicAdd(done(), 1);
}

void main() {
    for (uint index = gl_GlobalInvocationID.x; index < uint(args.parts_n);
        index += gl_NumWorkGroups.x * BLOCK) {
        task(int(index));
    }
}
