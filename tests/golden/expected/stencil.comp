// shadesmith 0.1.0, vulkan a7743771, stencil.py:12:
// stencil(a: ndarray[f32, 2], b: ndarray[f32, 2], order: ndarray[i32, 1])
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_control_flow_attributes : require

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
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer I32 { int v[]; };
layout(push_constant, scalar) uniform Args {
    F32 a_data;       // a: ndarray[f32, 2]
    F32 b_data;       // b: ndarray[f32, 2]
    I32 order_data;   // order: ndarray[i32, 1]
    int a_n1;         // a.shape[1]
    int b_n0;         // b.shape[0]
    int b_n1;         // b.shape[1]
    int order_n;      // order.shape[0]
    Divisor by_b_n1;  // to divide by b_n1 (launch_divisors)
} args;

#define a(i, j) args.a_data.v[(i) * args.a_n1 + (j)]
#define b(i, j) args.b_data.v[(i) * args.b_n1 + (j)]
#define order(i) args.order_data.v[i]

// stencil.py:5  def first(a, x):
// with a = order
int first(int x) {
    // stencil.py:6  for k in range(a.shape[0]):
    for (int k = 0; k < args.order_n; k++) {
        // stencil.py:7  if a[k] == x:
        if (order(k) == x) {
            return k;  // :8
        }
    }
    return -1;  // :9
}

// stencil.py:17  for i, j in b:
void main() {
    // an axis of the grid has at most 65,535 groups; the others are in further rows
    uint index = gl_WorkGroupID.y * gl_NumWorkGroups.x * BLOCK + gl_GlobalInvocationID.x;
    if (index >= uint(args.b_n0) * uint(args.b_n1)) return;
    int i = int(divide(index, args.by_b_n1)), j = int(index - i * args.b_n1);
    float s = 0.0;  // :18
    // `!=`: by `<` NVIDIA's driver 580 leaves out iterations of some such loops (exact_ends)
    // stencil.py:19  for di, dj in ti.static(ti.ndrange((-1, 2), (-1, 2))):
    [[unroll]] for (int di = -1; di != 2; di++) {
        [[unroll]] for (int dj = -1; dj != 2; dj++) {
            s += a(i + di, j + dj);  // :20
        }
    }
    b(i, j) = s / 9.0;  // :21
    // stencil.py:22  for k in ti.static(range(2)):
    [[unroll]] for (int k = 0; k < 2; k++) {
        int near = i + k;  // :23
        while (near > order(k)) {  // :24
            // stencil.py:25  near -= first(order, j)
            near -= first(j);
            if (near == 3) {  // :26
                break;  // :27
            }
        }
        b(near, j) = s;  // :28
    }
}
