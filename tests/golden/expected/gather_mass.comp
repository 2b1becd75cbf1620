// shadesmith 0.1.0, vulkan a4182e9a, gather_mass.py:12: gather_mass(m: f32)
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_atomic_float : require

#define BLOCK 128
layout(local_size_x = BLOCK) in;

const int count_n1 = 2;  // shape of count
const int n = 64;  // captured

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
#define mass(i) args.mass_data.v[i]
#define count(i, j) args.count_data.v[(i) * count_n1 + (j)]

// gather_mass.py:13  for p in range(20_000):
void task(int p) {
    int cell = int(x(p) * float(n));  // :14
    // gather_mass.py:15  mass[cell] += m
    atomicAdd(mass(cell), args.m);
    // gather_mass.py:16  count[cell, p % 2] += 1
    atomicAdd(count(cell, p & 1), 1);
}

void main() {
    uint index = gl_GlobalInvocationID.x;
    if (index < 20000u) task(int(index));
}
