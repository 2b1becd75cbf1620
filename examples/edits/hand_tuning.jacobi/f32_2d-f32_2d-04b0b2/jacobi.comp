// shadesmith 0.1.0, vulkan f44a3dd7, hand_tuning.py:20:
// jacobi(a: ndarray[f32, 2], b: ndarray[f32, 2])
// @base 7494a37b8d00f21b  digest of the generated source that was edited; keep this line
// @for options.disabled_passes = ['lower_access', 'wide_accesses']
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_buffer_reference_uvec2 : require

#define BLOCK 128
#define ITEMS 4  // results that an invocation computes, side by side
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
layout(buffer_reference, scalar, buffer_reference_align = 16) buffer Quads { vec4 v[]; };
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
#define a4(i, j) Quads(args.a_data).v[((i) * args.m + (j)) / 4]
#define b4(i, j) Quads(args.b_data).v[((i) * args.b_n1 + (j)) / 4]

// hand_tuning.py:22  for i, j in a:
void task(int i, int j) {
    if (0 < i && i < args.n - 1 && 0 < j && j < args.m - 1) {  // :23
        b(i, j) = 0.25 * (a(i - 1, j) + a(i + 1, j) + a(i, j - 1) + a(i, j + 1));  // :24
    }
}

// four results from three loads of four numbers, and one number on either side
void four(int i, int j) {
    if (0 < i && i < args.n - 1 && 0 < j && j + 4 < args.m) {
        vec4 here = a4(i, j);
        vec4 left = vec4(a(i, j - 1), here.xyz), right = vec4(here.yzw, a(i, j + 4));
        b4(i, j) = 0.25 * (a4(i - 1, j) + a4(i + 1, j) + left + right);
    } else {
        for (int k = 0; k < 4; k++) {
            task(i, j + k);
        }
    }
}

// rows that begin on 16 bytes and end with them
bool is_even() {
    return (args.m | args.b_n1) % 4 == 0 && (uvec2(args.a_data).x | uvec2(args.b_data).x) % 16u == 0u;
}

void main() {
    if (is_even()) {
        uint quads = uint(args.m) / 4u, count = uint(args.n) * quads;
        for (uint index = gl_GlobalInvocationID.x; index < count; index += gl_NumWorkGroups.x * BLOCK) {
            four(int(index / quads), int(index % quads) * 4);
        }
        return;
    }
    for (uint index = gl_GlobalInvocationID.x; index < uint(args.n) * uint(args.m);
        index += gl_NumWorkGroups.x * BLOCK) {
        uint i = divide(index, args.by_m);
        task(int(i), int(index - i * args.m));
    }
}
