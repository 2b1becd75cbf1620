// shadesmith 0.1.0, vulkan 9f03e9f0, histogram.py:10:
// histogram(a: ndarray[f32, 1], order: ndarray[i32, 1])
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_atomic_float : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_basic : require

#define BLOCK 128
#define MAX_BLOCKS 1056u  // that store partial results
layout(local_size_x = BLOCK) in;

shared float of_block_f32[BLOCK];

// The sum of the values of a block's threads, in the first; all threads call it.
float block_sum(float value) {
    value = subgroupAdd(value);
    if (subgroupElect()) {
        of_block_f32[gl_SubgroupID] = value;
    }
    barrier();
    for (uint other = 1; gl_LocalInvocationIndex == 0 && other < gl_NumSubgroups; other++) {
        value += of_block_f32[other];
    }
    barrier();  // the next call overwrites the array
    return value;
}

layout(buffer_reference, scalar, buffer_reference_align = 4) buffer F32 { float v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer I32 { int v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) coherent buffer Temporaries {
    uint blocks_done;                 // u32
    float total_sum_of_blocks[1056];  // f32
};
layout(push_constant, scalar) uniform Args {
    F32 a_data;               // a: ndarray[f32, 1]
    I32 order_data;           // order: ndarray[i32, 1]
    I32 counts_data;          // counts: field[i32, 16]
    F32 total_data;           // total: field[f32, 0-D]
    Temporaries temporaries;  // values that cross tasks
    int a_n;                  // a.shape[0]
} args;

#define a(i) args.a_data.v[i]
#define order(i) args.order_data.v[i]
#define counts(i) args.counts_data.v[i]
#define total() args.total_data.v[0]

shared bool is_last;

// histogram.py:11  for i in a:
void task(int i, inout float total_sum) {
    int bucket = int(a(i) * 16.0);  // :12
    // histogram.py:13  order[i] = ti.atomic_add(counts[bucket], 1)
    order(i) = atomicAdd(counts(bucket), 1);
    // histogram.py:14  total[None] += a[i]
    total_sum += a(i);  // not atomic: joined below (reduce_atomics)
}

void main() {
    // The last block joins the results of all, in a fixed order: each run gives the same bits.
    uint blocks = min(gl_NumWorkGroups.x, MAX_BLOCKS);
    if (gl_WorkGroupID.x >= blocks) {
        return;
    }
    float total_sum = 0.0;
    for (uint index = gl_GlobalInvocationID.x; index < uint(args.a_n); index += blocks * BLOCK) {
        task(int(index), total_sum);
    }
    total_sum = block_sum(total_sum);
    if (gl_LocalInvocationIndex == 0) {
        args.temporaries.total_sum_of_blocks[gl_WorkGroupID.x] = total_sum;
    }
    memoryBarrierBuffer();
    if (gl_LocalInvocationIndex == 0) {
        is_last = atomicAdd(args.temporaries.blocks_done, 1u) == blocks - 1;
    }
    barrier();
    memoryBarrierBuffer();
    if (is_last) {
        total_sum = 0.0;
        for (uint i = gl_LocalInvocationIndex; i < blocks; i += BLOCK) {
            total_sum += args.temporaries.total_sum_of_blocks[i];
        }
        total_sum = block_sum(total_sum);
        if (gl_LocalInvocationIndex == 0) {
            args.temporaries.blocks_done = 0u;
            atomicAdd(total(), total_sum);
        }
    }
}
