// ===== wrapped_0.comp
// shadesmith 0.1.0, vulkan ac1274b6, wrapped.py:7: wrapped(a: ndarray[i32, 2], n: i32, m: i32)
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require

#define BLOCK 128
layout(local_size_x = BLOCK) in;

// Python's % for a number from -b to 2 * b - 1, without a division.
int mod_near_i32(int a, int b) { return a < 0 ? a + b : a < b ? a : a - b; }

// How to divide by a number of the launch without a division.
struct Divisor { uint multiplier, shift; };

// n / d for n, d up to 2^31; a launch packs `by` for d.
uint divide(uint n, Divisor by) {
    uint high, low;
    umulExtended(n, by.multiplier, high, low);
    return (high + n) >> by.shift;
}

layout(buffer_reference, scalar, buffer_reference_align = 4) restrict buffer I32 { int v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4)
    restrict readonly buffer ReadU32 { uint v[]; };
layout(push_constant, scalar) uniform Args {
    I32 a_data;          // a: ndarray[i32, 2]
    ReadU32 table_data;  // table: field[u32, 100]
    int n;               // n: i32
    int m;               // m: i32
    int a_n0;            // a.shape[0]
    int a_n1;            // a.shape[1]
    Divisor by_a_n1;     // to divide by a_n1 (launch_divisors)
    Divisor by_m;        // to divide by m (launch_divisors)
} args;

#define a(i, j) args.a_data.v[(i) * args.a_n1 + (j)]

// task 0 of 2: range_for over a
// wrapped.py:8  for i, j in a:
void task(int i, int j) {
    // wrapped.py:9  a[(i + 1) % a.shape[0], j // 2 % a.shape[1]] += (i - 1) % 8
    atomicAdd(a(mod_near_i32(i + 1, args.a_n0), j >> 1), (i - 1) & 7);
}

void main() {
    for (uint index = gl_GlobalInvocationID.x; index < uint(args.a_n0) * uint(args.a_n1);
        index += gl_NumWorkGroups.x * BLOCK) {
        uint i = divide(index, args.by_a_n1);
        task(int(i), int(index - i * args.a_n1));
    }
}

// ===== wrapped_1.comp
// shadesmith 0.1.0, vulkan e5a2b97e, wrapped.py:7: wrapped(a: ndarray[i32, 2], n: i32, m: i32)
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

// How to divide by a number of the launch without a division.
struct Divisor { uint multiplier, shift; };

// n / d for n, d up to 2^31; a launch packs `by` for d.
uint divide(uint n, Divisor by) {
    uint high, low;
    umulExtended(n, by.multiplier, high, low);
    return (high + n) >> by.shift;
}

// a % b for a >= 0 and b > 0, as `divide`.
int remainder_by(int a, int b, Divisor by) { return a - int(divide(a, by)) * b; }

ivec2 ivec2_floor_div_vs(ivec2 a, int b) {
    return ivec2(floor_div_i32(a.x, b), floor_div_i32(a.y, b));
}

layout(buffer_reference, scalar, buffer_reference_align = 4) restrict buffer I32 { int v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4)
    restrict readonly buffer ReadU32 { uint v[]; };
layout(push_constant, scalar) uniform Args {
    I32 a_data;          // a: ndarray[i32, 2]
    ReadU32 table_data;  // table: field[u32, 100]
    int n;               // n: i32
    int m;               // m: i32
    int a_n0;            // a.shape[0]
    int a_n1;            // a.shape[1]
    Divisor by_a_n1;     // to divide by a_n1 (launch_divisors)
    Divisor by_m;        // to divide by m (launch_divisors)
} args;

#define a(i, j) args.a_data.v[(i) * args.a_n1 + (j)]
#define table(i) args.table_data.v[i]

// task 1 of 2: range_for over k
// wrapped.py:10  for k in range(n):
void task(int k) {
    // wrapped.py:11  tile = ti.Vector([k, n - 1 - k]) // 16
    ivec2 tile = ivec2_floor_div_vs(ivec2(k, args.n - 1 - k), 16);
    // wrapped.py:12  a[tile.x, k % 16] = table[k % 100] % 10 + (k - m) // 4
    a(tile.x, k & 15) = int(table(k % 100) % 10u + uint((k - args.m) >> 2));
    if (k > args.m && args.m > 0) {  // :13
        // wrapped.py:14  a[0, 0] += (k - m) // 4 + k % m
        atomicAdd(a(0, 0), ((k - args.m) >> 2) + remainder_by(k, args.m, args.by_m));
    }
}

void main() {
    for (uint index = gl_GlobalInvocationID.x; index < uint(max(args.n, 0));
        index += gl_NumWorkGroups.x * BLOCK) {
        task(int(index));
    }
}
