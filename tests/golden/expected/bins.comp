// shadesmith 0.1.0, vulkan e52755e5, bins.py:9: bins_of(low: i32)
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require

#define BLOCK 1024
layout(local_size_x = BLOCK) in;

const int x_n0 = 1048576;  // shape of x
const int bins_n0 = 16, bins_n1 = 4;  // shape of bins

layout(buffer_reference, scalar, buffer_reference_align = 4)
    restrict readonly buffer ReadI32 { int v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) restrict buffer I32 { int v[]; };
layout(push_constant, scalar) uniform Args {
    ReadI32 x_data;  // x: field[i32, 1048576]
    I32 bins_data;   // bins: field[i32, 16x4]
    int low;         // low: i32
} args;

#define x(i) args.x_data.v[i]
#define bins(i, j) bins_copy[(i) * bins_n1 + (j)]

shared int bins_copy[bins_n0 * bins_n1];

// bins.py:10  for i in x:
void task(int i) {
    if (x(i) >= args.low) {  // :11
        // bins.py:12  bins[x[i] >> 4 & 15, x[i] & 3] += 1
        atomicAdd(bins((x(i) >> 4) & 15, x(i) & 3), 1);  // to the block's copy (block_sums)
    }
}

void main() {
    // Each block adds to copies in shared memory, for which fewer threads wait at an address.
    for (uint k = gl_LocalInvocationID.x; k < bins_n0 * bins_n1; k += BLOCK) {
        bins_copy[k] = 0;
    }
    barrier();
    for (uint index = gl_GlobalInvocationID.x; index < x_n0; index += gl_NumWorkGroups.x * BLOCK) {
        task(int(index));
    }
    barrier();
    for (uint k = gl_LocalInvocationID.x; k < bins_n0 * bins_n1; k += BLOCK) {
        if (bins_copy[k] != 0) {
            atomicAdd(args.bins_data.v[k], bins_copy[k]);
        }
    }
}
