// shadesmith 0.1.0, vulkan 8c87520f, deposit.py:10: deposit(x: ndarray[f32, 2], m: f32)
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_atomic_float : require

#define BLOCK 128
layout(local_size_x = BLOCK) in;

struct Cell {
    vec3 momentum;
    float mass;
};

layout(buffer_reference, scalar, buffer_reference_align = 4)
    restrict readonly buffer ReadF32 { float v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4)
    restrict buffer CellBuffer { Cell v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) restrict buffer F32x2 { vec2 v[]; };
layout(push_constant, scalar) uniform Args {
    ReadF32 x_data;    // x: ndarray[f32, 2]
    CellBuffer cells;  // momentum: field[f32[3], 16x8], mass: field[f32, 16x8]
    F32x2 flow_data;   // flow: field[f32[2], 256]
    float m;           // m: f32
    int x_n0;          // x.shape[0]
    int x_n1;          // x.shape[1]
} args;

#define x(i, j) args.x_data.v[(i) * args.x_n1 + (j)]
#define momentum(i, j) args.cells.v[(i) * 8 + (j)].momentum
#define mass(i, j) args.cells.v[(i) * 8 + (j)].mass
#define flow(i) args.flow_data.v[i]

// deposit.py:11  for p in range(x.shape[0]):
void main() {
    // an axis of the grid has at most 65,535 groups; the others are in further rows
    uint index = gl_WorkGroupID.y * gl_NumWorkGroups.x * BLOCK + gl_GlobalInvocationID.x;
    if (index >= uint(args.x_n0)) return;
    int p = int(index);
    int i = int(x(p, 0)), j = int(x(p, 1));  // :12
    // deposit.py:14  momentum[i, j] += m * v
    atomicAdd(momentum(i, j).x, args.m * x(p, 2));
    atomicAdd(momentum(i, j).y, args.m * x(p, 3));
    atomicAdd(momentum(i, j).z, args.m * -args.m);
    // deposit.py:15  mass[i, j] += m
    atomicAdd(mass(i, j), args.m);
    // deposit.py:16  flow[i] += v.xy
    atomicAdd(flow(i).x, x(p, 2));
    atomicAdd(flow(i).y, x(p, 3));
}
