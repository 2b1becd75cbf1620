// shadesmith 0.1.0, vulkan b90fbd43, branches.py:4: branches(a: ndarray[i32, 1], n: i32)
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require

#define BLOCK 128
layout(local_size_x = BLOCK) in;

layout(buffer_reference, scalar, buffer_reference_align = 4) restrict buffer I32 { int v[]; };
layout(push_constant, scalar) uniform Args {
    I32 a_data;  // a: ndarray[i32, 1]
    int n;       // n: i32
} args;

#define a(i) args.a_data.v[i]

// branches.py:5  for i in range(n):
void main() {
    // an axis of the grid has at most 65,535 groups; the others are in further rows
    uint index = gl_WorkGroupID.y * gl_NumWorkGroups.x * BLOCK + gl_GlobalInvocationID.x;
    if (index >= uint(max(args.n, 0))) return;
    int i = int(index);
    int x = a(i);  // :6
    if (x < 0) {  // :7
        return;  // :8
    }
    if (x == 0) {  // :9
        x = 7;  // :10
    } else if ((x & 1) == 0) {  // branches.py:11  elif x % 2 == 0:
        // branches.py:12  x //= 2
        x >>= 1;
    } else {
        x = x > 1 ? 3 * x + 1 : 0;  // :14
    }
    for (int k = 2; k < args.n; k += 3) {  // :15
        if (a(k) == x || k > x) {  // :16
            break;  // :17
        }
        x += a(k);  // :18
    }
    a(i) = x;  // :19
}
