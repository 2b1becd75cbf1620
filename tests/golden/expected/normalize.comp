// ===== normalize_0.comp
// shadesmith 0.1.0, vulkan 2de1d073, normalize.py:4: normalize(a: ndarray[f32, 1])
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require

layout(local_size_x = 1) in;

layout(buffer_reference, scalar, buffer_reference_align = 4) restrict buffer F32 { float v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 16) restrict buffer F32x4 { vec4 v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer Temporaries {
    float total;  // f32
};
layout(push_constant, scalar) uniform Args {
    F32 a_data;               // a: ndarray[f32, 1]
    Temporaries temporaries;  // values that cross tasks
    int a_n;                  // a.shape[0]
} args;

// task 0 of 3: serial
void main() {
    // normalize.py:5  total = 0.0
    args.temporaries.total = 0.0;
}

// ===== normalize_1.comp
// shadesmith 0.1.0, vulkan 4ebc9ffa, normalize.py:4: normalize(a: ndarray[f32, 1])
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_basic : require

#define BLOCK 128
#define LOADS 8  // iterations of a thread at a time, so that their loads overlap
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

layout(buffer_reference, scalar, buffer_reference_align = 4) restrict buffer F32 { float v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 16) restrict buffer F32x4 { vec4 v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) coherent buffer Temporaries {
    float total;                  // f32
    uint blocks_done;             // u32
    float total_of_blocks[1056];  // f32
};
layout(push_constant, scalar) uniform Args {
    F32 a_data;               // a: ndarray[f32, 1]
    Temporaries temporaries;  // values that cross tasks
    int a_n;                  // a.shape[0]
} args;

#define a(i) args.a_data.v[i]

shared bool is_last;

// task 1 of 3: range_for over a
// normalize.py:6  for i in range(a.shape[0]):
void task(int i, inout float total) {
    total += a(i);  // :7, not atomic: joined below (reduce_atomics)
}

void main() {
    // The last block joins the results of all, in a fixed order: each run gives the same bits.
    uint blocks = min(gl_NumWorkGroups.x, MAX_BLOCKS);
    if (gl_WorkGroupID.x >= blocks) {
        return;
    }
    float total = 0.0;
    uint first = gl_WorkGroupID.x * BLOCK * LOADS + gl_LocalInvocationID.x;
    for (; first + (LOADS - 1) * BLOCK < uint(args.a_n); first += blocks * BLOCK * LOADS) {
        [[unroll]] for (uint item = 0; item < LOADS; item++) {
            uint index = first + item * BLOCK;
            task(int(index), total);
        }
    }
    for (uint index = first; index < uint(args.a_n); index += BLOCK) {
        task(int(index), total);
    }
    total = block_sum(total);
    if (gl_LocalInvocationIndex == 0) {
        args.temporaries.total_of_blocks[gl_WorkGroupID.x] = total;
    }
    memoryBarrierBuffer();
    if (gl_LocalInvocationIndex == 0) {
        is_last = atomicAdd(args.temporaries.blocks_done, 1u) == blocks - 1;
    }
    barrier();
    memoryBarrierBuffer();
    if (is_last) {
        total = 0.0;
        for (uint i = gl_LocalInvocationIndex; i < blocks; i += BLOCK) {
            total += args.temporaries.total_of_blocks[i];
        }
        total = block_sum(total);
        if (gl_LocalInvocationIndex == 0) {
            args.temporaries.blocks_done = 0u;
            args.temporaries.total += total;
        }
    }
}

// ===== normalize_2.comp
// shadesmith 0.1.0, vulkan 824e17ea, normalize.py:4: normalize(a: ndarray[f32, 1])
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_buffer_reference_uvec2 : require

#define BLOCK 128
layout(local_size_x = BLOCK) in;

layout(buffer_reference, scalar, buffer_reference_align = 4) restrict buffer F32 { float v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 16) restrict buffer F32x4 { vec4 v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer Temporaries {
    float total;  // f32
};
layout(push_constant, scalar) uniform Args {
    F32 a_data;               // a: ndarray[f32, 1]
    Temporaries temporaries;  // values that cross tasks
    int a_n;                  // a.shape[0]
} args;

#define a(i) args.a_data.v[i]
#define a4(i) F32x4(args.a_data).v[(i) / 4]

// task 2 of 3: range_for over a
// normalize.py:8  for i in a:
void main() {
    // an axis of the grid has at most 65,535 groups; the others are in further rows
    uint index = gl_WorkGroupID.y * gl_NumWorkGroups.x * BLOCK + gl_GlobalInvocationID.x;
    if (index >= (uint(args.a_n) + 3u) / 4u) return;
    int i = int(index) * 4;
    // four iterations at a time, by accesses of 16 bytes (wide_accesses)
    if (uvec2(args.a_data).x % 16u == 0u && i <= args.a_n - 4) {
        // normalize.py:9  a[i] /= total
        a4(i) /= args.temporaries.total;
    } else {
        // one by one; i + 4 might overflow
        int end = i + min(args.a_n - i, 4);
        for (int ii = i; ii < end; ii++) {
            a(ii) /= args.temporaries.total;
        }
    }
}
