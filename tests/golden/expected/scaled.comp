// shadesmith 0.1.0, vulkan 1040d9cd, scaled.py:9: scaled(a: f32)
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require

#define BLOCK 128
layout(local_size_x = BLOCK) in;

const int x_n0 = 2048, x_n1 = 1024;  // shape of x, y

layout(buffer_reference, scalar, buffer_reference_align = 4)
    restrict readonly buffer ReadF32 { float v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 16)
    restrict readonly buffer ReadF32x4 { vec4 v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4)
    restrict writeonly buffer WriteF32 { float v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 16)
    restrict writeonly buffer WriteF32x4 { vec4 v[]; };
layout(push_constant, scalar) uniform Args {
    ReadF32 x_data;   // x: field[f32, 2048x1024]
    WriteF32 y_data;  // y: field[f32, 2048x1024]
    float a;          // a: f32
} args;

#define x4(i, j) ReadF32x4(args.x_data).v[((i) * x_n1 + (j)) / 4]
#define y4(i, j) WriteF32x4(args.y_data).v[((i) * x_n1 + (j)) / 4]

// scaled.py:10  for i, j in x:
void main() {
    uint index = gl_GlobalInvocationID.x;
    if (index >= x_n0 * (x_n1 / 4)) return;
    int i = int(index / (x_n1 / 4)), j = int(index % (x_n1 / 4)) * 4;
    // four iterations at a time, by accesses of 16 bytes (wide_accesses)
    // scaled.py:11  y[i, j] = a * x[i, j]
    y4(i, j) = args.a * x4(i, j);
}
