// shadesmith 0.1.0, vulkan f44a3dd7, hand_tuning.py:20:
// jacobi(a: ndarray[f32, 2], b: ndarray[f32, 2])
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

layout(buffer_reference, scalar, buffer_reference_align = 4) buffer F32 { float v[]; };
layout(push_constant, scalar) uniform Args {
    F32 a_data;    // a: ndarray[f32, 2]
    F32 b_data;    // b: ndarray[f32, 2]
    int n;         // a.shape[0]
    int m;         // a.shape[1]
    int b_n1;      // b.shape[1]
    Divisor by_m;  // to divide by m (launch_divisors)
} args;

#define a(i, j) args.a_data.v[(i) * args.m + (j)]
#define b(i, j) args.b_data.v[(i) * args.b_n1 + (j)]

// hand_tuning.py:22  for i, j in a:
void task(int i, int j) {
    if (0 < i && i < args.n - 1 && 0 < j && j < args.m - 1) {  // :23
        b(i, j) = 0.25 * (a(i - 1, j) + a(i + 1, j) + a(i, j - 1) + a(i, j + 1));  // :24
    }
}

void main() {
    for (uint index = gl_GlobalInvocationID.x; index < uint(args.n) * uint(args.m);
        index += gl_NumWorkGroups.x * BLOCK) {
        uint i = divide(index, args.by_m);
        task(int(i), int(index - i * args.m));
    }
}
