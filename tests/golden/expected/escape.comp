// shadesmith 0.1.0, vulkan 1bad3011, escape.py:4:
// escape(pixels: ndarray[f32, 2], n: i32, t: f32)
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require

#define BLOCK 128
layout(local_size_x = BLOCK) in;

// How to divide by a number of the launch without a division.
struct Divisor { uint multiplier, shift; };

// n / d for n, d up to 2^31; a launch packs `by` for d.
uint divide(uint n, Divisor by) {
    uint high, low;
    umulExtended(n, by.multiplier, high, low);
    return (high + n) >> by.shift;
}

layout(buffer_reference, scalar, buffer_reference_align = 4)
    restrict writeonly buffer WriteF32 { float v[]; };
layout(push_constant, scalar) uniform Args {
    WriteF32 pixels_data;  // pixels: ndarray[f32, 2]
    int n;                 // n: i32
    float t;               // t: f32
    int pixels_n0;         // pixels.shape[0]
    int pixels_n1;         // pixels.shape[1]
    Divisor by_pixels_n1;  // to divide by pixels_n1 (launch_divisors)
} args;

#define pixels(i, j) args.pixels_data.v[(i) * args.pixels_n1 + (j)]

// escape.py:5  for i, j in pixels:
void main() {
    // an axis of the grid has at most 65,535 groups; the others are in further rows
    uint index = gl_WorkGroupID.y * gl_NumWorkGroups.x * BLOCK + gl_GlobalInvocationID.x;
    if (index >= uint(args.pixels_n0) * uint(args.pixels_n1)) return;
    int i = int(divide(index, args.by_pixels_n1)), j = int(index - i * args.pixels_n1);
    // escape.py:6  c = ti.Vector([-0.8, ti.cos(t) * 0.2])
    vec2 c = vec2(-0.8, cos(args.t) * 0.2);
    // escape.py:7  z = ti.Vector([i / n - 1, j / n - 0.5]) * 2
    vec2 z = vec2(float(i) / args.n - 1.0, float(j) / args.n - 0.5) * 2.0;
    int iterations = 0;  // :8
    // escape.py:9  while z.norm() < 20 and iterations < 50:
    while (length(z) < 20.0 && iterations < 50) {
        // escape.py:10  z = ti.Vector([z[0] ** 2 - z[1] ** 2, z[1] * z[0] * 2]) + c
        z = vec2(z.x * z.x - z.y * z.y, z.y * z.x * 2.0) + c;
        iterations += 1;  // :11
    }
    pixels(i, j) = 1.0 - iterations * 0.02;  // :12
}
