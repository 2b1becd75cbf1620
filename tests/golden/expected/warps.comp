// shadesmith 0.1.0, vulkan 844f606f, warps.py:5: warps(a: ndarray[i32, 1], b: ndarray[i32, 1])
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle_relative : require

#define BLOCK 256
#if 1024 % BLOCK != 0
#error each thread has an iteration: BLOCK divides 1024
#endif
layout(local_size_x = BLOCK) in;

shared int block_votes;

// A barrier of the block; returns how many of its threads vote true.
int block_count(bool vote) {
    barrier();  // all threads have read the result of the previous vote
    if (gl_LocalInvocationID.x == 0u) {
        block_votes = 0;
    }
    barrier();
    if (vote) {
        atomicAdd(block_votes, 1);
    }
    barrier();
    return block_votes;
}

// The value of the lane `offset` above this one, or that of this lane if there is no such lane.
int shuffle_down(int value, int offset) {
    int other = subgroupShuffleDown(value, uint(offset));
    return gl_SubgroupInvocationID + uint(offset) < gl_SubgroupSize ? other : value;
}

layout(buffer_reference, scalar, buffer_reference_align = 4) buffer I32 { int v[]; };
layout(push_constant, scalar) uniform Args {
    I32 a_data;  // a: ndarray[i32, 1]
    I32 b_data;  // b: ndarray[i32, 1]
} args;

#define a(i) args.a_data.v[i]
#define b(i) args.b_data.v[i]

// warps.py:7  for i in range(1024):
void main() {
    int i = int(gl_GlobalInvocationID.x);
    // warps.py:8  x = simt.subgroup.inclusive_add(a[i])
    int x = subgroupInclusiveAdd(a(i));
    // warps.py:9  y = simt.warp.shfl_down_i32(ti.u32(0xFFFFFFFF), x, 1)
    int y = shuffle_down(x, 1);
    if (x > 0) {  // :10
        // warps.py:11  y += simt.subgroup.reduce_max(x)
        y += subgroupMax(x);
    }
    // warps.py:12  b[i] = y + simt.block.sync_count_nonzero(y)
    b(i) = y + block_count(y != 0);
}
