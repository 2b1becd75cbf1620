// shadesmith 0.1.0, vulkan 6019e05c, branches.py:4: branches(a: ndarray[i32, 1], n: i32)
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require

#define BLOCK 128
layout(local_size_x = BLOCK) in;

// Quotient rounded toward zero; 0 if the divisor is 0.
int div_i32(int a, int b) {
    // x / 0 is undefined, and so is the lowest number / -1
    return b == 0 ? 0 : b == -1 ? -a : a / b;
}

// Remainder with the sign of the dividend; 0 if the divisor is 0.
int rem_i32(int a, int b) {
    return b == 0 || b == -1 ? 0 : a - b * (a / b);  // % is undefined for negative numbers
}

// Python's //: quotient rounded toward minus infinity; 0 if the divisor is 0.
int floor_div_i32(int a, int b) {
    int quotient = div_i32(a, b);
    return rem_i32(a, b) != 0 && (a ^ b) < 0 ? quotient - 1 : quotient;
}

// Python's %: remainder with the sign of the divisor; 0 if the divisor is 0.
int mod_i32(int a, int b) {
    int remainder = rem_i32(a, b);
    return remainder != 0 && (remainder ^ b) < 0 ? remainder + b : remainder;
}

layout(buffer_reference, scalar, buffer_reference_align = 4) buffer I32 { int v[]; };
layout(push_constant, scalar) uniform Args {
    I32 a_data;  // a: ndarray[i32, 1]
    int n;       // n: i32
} args;

#define a(i) args.a_data.v[i]

// branches.py:5  for i in range(n):
void task(int i) {
    int x = a(i);  // :6
    if (x < 0) {  // :7
        return;  // :8
    }
    if (x == 0) {  // :9
        x = 7;  // :10
    } else if (mod_i32(x, 2) == 0) {  // branches.py:11  elif x % 2 == 0:
        // branches.py:12  x //= 2
        x = floor_div_i32(x, 2);
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

void main() {
    // an axis of the grid has at most 65,535 groups; the others are in further rows
    uint index = gl_WorkGroupID.y * gl_NumWorkGroups.x * BLOCK + gl_GlobalInvocationID.x;
    if (index < uint(max(args.n, 0))) {
        task(int(index));
    }
}
