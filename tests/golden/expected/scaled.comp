// shadesmith 0.1.0, vulkan 88833c68, scaled.py:9: scaled(a: f32)
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_control_flow_attributes : require

#define BLOCK 128
#define LOADS 8  // iterations of a thread at a time, so that their loads overlap
layout(local_size_x = BLOCK) in;

const int x_n0 = 2048, x_n1 = 1024;  // shape of x, y

layout(buffer_reference, scalar, buffer_reference_align = 4)
    restrict readonly buffer ReadF32 { float v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4)
    restrict writeonly buffer WriteF32 { float v[]; };
layout(push_constant, scalar) uniform Args {
    ReadF32 x_data;   // x: field[f32, 2048x1024]
    WriteF32 y_data;  // y: field[f32, 2048x1024]
    float a;          // a: f32
} args;

#define x(i, j) args.x_data.v[(i) * x_n1 + (j)]
#define y(i, j) args.y_data.v[(i) * x_n1 + (j)]

// scaled.py:10  for i, j in x:
void task(int i, int j) {
    y(i, j) = args.a * x(i, j);  // :11
}

void main() {
    uint count = x_n0 * x_n1;
    uint stride = gl_NumWorkGroups.x * BLOCK * LOADS;
    uint first = gl_WorkGroupID.x * BLOCK * LOADS + gl_LocalInvocationID.x;
    for (; first + (LOADS - 1) * BLOCK < count; first += stride) {
        [[unroll]] for (uint item = 0; item < LOADS; item++) {
            uint index = first + item * BLOCK;
            task(int(index / x_n1), int(index % x_n1));
        }
    }
    for (uint index = first; index < count; index += BLOCK) {
        task(int(index / x_n1), int(index % x_n1));
    }
}
