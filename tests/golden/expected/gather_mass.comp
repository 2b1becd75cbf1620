// shadesmith 0.1.0, vulkan 894b4530, gather_mass.py:12: gather_mass(m: f32)
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_atomic_float : require

#define BLOCK 128
#define LOADS 8  // iterations of a thread at a time, so that their loads overlap
layout(local_size_x = BLOCK) in;

const int mass_n0 = 64;  // shape of mass
const int count_n0 = 64, count_n1 = 2;  // shape of count
const int n = 64;  // captured

// x & 1. NVIDIA's driver 580 takes 1 for 0 in `(x & 1) * n` of some shaders with 64-bit numbers.
int lowest_bit_i32(int x) { return int(bitfieldExtract(uint(x), 0, 1)); }

layout(buffer_reference, scalar, buffer_reference_align = 4)
    restrict readonly buffer ReadF32 { float v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) restrict buffer F32 { float v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) restrict buffer I32 { int v[]; };
layout(push_constant, scalar) uniform Args {
    ReadF32 x_data;  // x: field[f32, 20000]
    F32 mass_data;   // mass: field[f32, 64]
    I32 count_data;  // count: field[i32, 64x2]
    float m;         // m: f32
} args;

#define x(i) args.x_data.v[i]
#define mass(i) mass_copy[i]
#define count(i, j) count_copy[(i) * count_n1 + (j)]

shared float mass_copy[mass_n0];
shared int count_copy[count_n0 * count_n1];

// gather_mass.py:13  for p in range(20_000):
void task(int p) {
    int cell = int(x(p) * n);  // :14
    // gather_mass.py:15  mass[cell] += m
    atomicAdd(mass(cell), args.m);  // to the block's copy (block_sums)
    // gather_mass.py:16  count[cell, p % 2] += 1
    atomicAdd(count(cell, lowest_bit_i32(p)), 1);  // to the block's copy (block_sums)
}

void main() {
    // Each block adds to copies in shared memory, for which fewer threads wait at an address.
    for (uint k = gl_LocalInvocationID.x; k < mass_n0; k += BLOCK) {
        mass_copy[k] = 0.0;
    }
    for (uint k = gl_LocalInvocationID.x; k < count_n0 * count_n1; k += BLOCK) {
        count_copy[k] = 0;
    }
    barrier();
    uint first = gl_WorkGroupID.x * BLOCK * LOADS + gl_LocalInvocationID.x;
    for (; first + (LOADS - 1) * BLOCK < 20000; first += gl_NumWorkGroups.x * BLOCK * LOADS) {
        [[unroll]] for (uint item = 0; item < LOADS; item++) {
            uint index = first + item * BLOCK;
            task(int(index));
        }
    }
    for (uint index = first; index < 20000; index += BLOCK) {
        task(int(index));
    }
    barrier();
    for (uint k = gl_LocalInvocationID.x; k < mass_n0; k += BLOCK) {
        if (mass_copy[k] != 0.0) {
            atomicAdd(args.mass_data.v[k], mass_copy[k]);
        }
    }
    for (uint k = gl_LocalInvocationID.x; k < count_n0 * count_n1; k += BLOCK) {
        if (count_copy[k] != 0) {
            atomicAdd(args.count_data.v[k], count_copy[k]);
        }
    }
}
