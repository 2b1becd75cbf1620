// shadesmith 0.1.0, vulkan 9f60cac0, exact.py:4: exact(a: ndarray[f32, 1], b: ndarray[f32, 1])
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_buffer_reference_uvec2 : require
#extension GL_EXT_spirv_intrinsics : require

#define BLOCK 128
layout(local_size_x = BLOCK) in;
// each operation of floats is rounded as it is written, by NoContraction in SPIR-V
#pragma shadesmith no_contraction
// DenormPreserve: subnormal numbers are preserved
spirv_execution_mode(capabilities = [4464], 4459, 32);
// SignedZeroInfNanPreserve: -0.0, infinity and NaN are preserved
spirv_execution_mode(capabilities = [4466], 4461, 32);

// The significand of a positive, finite x, from 2^23 on: x = significand * 2^e.
uint split_f32(uint bits, out int e) {
    if (bits < 0x00800000u) {
        int shift = 23 - findMSB(bits);
        e = -149 - shift;
        return bits << shift;
    }
    e = int(bits >> 23) - 150;
    return (bits & 0x007fffffu) | 0x00800000u;
}

// m * 2^e to the nearest float, halves to even, for m from 2^25 to 2^31; the last bit of m may be a
// sticky bit.
float round_f32(uint sign, uint m, int e) {
    int top = findMSB(m);
    int exponent = top + e + 127;
    if (exponent > 254) {
        return uintBitsToFloat(sign | 0x7f800000u);
    }
    int drop = min(top - 23 + max(1 - exponent, 0), 31);  // a subnormal number keeps fewer bits
    uint rounded = m >> drop;
    uint rest = m - (rounded << drop);
    uint one_half = 1u << (drop - 1);
    rounded += uint(rest > one_half || (rest == one_half && (rounded & 1u) == 1u));
    return uintBitsToFloat(sign | (rounded + (uint(max(exponent, 1) - 1) << 23)));
}

// a / b, correctly rounded: the quotient of the driver, corrected by its remainder.
float div_f32(float a, float b) {
    uint sign = (floatBitsToUint(a) ^ floatBitsToUint(b)) & 0x80000000u;
    uint a_bits = floatBitsToUint(a) & 0x7fffffffu;
    uint b_bits = floatBitsToUint(b) & 0x7fffffffu;
    if (max(a_bits, b_bits) > 0x7f800000u
        || (a_bits == b_bits && (b_bits == 0u || b_bits == 0x7f800000u))) {
        return uintBitsToFloat(0x7fc00000u);
    }
    if (a_bits == 0u || b_bits == 0x7f800000u) {
        return uintBitsToFloat(sign);
    }
    if (b_bits == 0u || a_bits == 0x7f800000u) {
        return uintBitsToFloat(sign | 0x7f800000u);
    }
    int a_exponent;
    int b_exponent;
    uint dividend = split_f32(a_bits, a_exponent);
    uint divisor = split_f32(b_bits, b_exponent);
    uint quotient = uint(float(dividend) / float(divisor) * 33554432.0);
    // small, so its low 32 bits are all of it
    int rest = int((dividend << 25) - quotient * divisor);
    quotient += uint(int(floor(float(rest) / float(divisor))));
    rest = int((dividend << 25) - quotient * divisor);
    int last = rest < 0 ? -1 : rest >= int(divisor) ? 1 : 0;  // float(rest) was rounded
    quotient += uint(last);
    rest -= last * int(divisor);
    return round_f32(sign, quotient << 1 | uint(rest != 0), a_exponent - b_exponent - 26);
}

vec4 vec4_div(vec4 a, vec4 b) {
    return vec4(div_f32(a.x, b.x), div_f32(a.y, b.y), div_f32(a.z, b.z), div_f32(a.w, b.w));
}

layout(buffer_reference, scalar, buffer_reference_align = 4) buffer F32 { precise float v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 16) buffer F32x4 { precise vec4 v[]; };
layout(push_constant, scalar) uniform Args {
    F32 a_data;  // a: ndarray[f32, 1]
    F32 b_data;  // b: ndarray[f32, 1]
    int a_n;     // a.shape[0]
} args;

#define a(i) args.a_data.v[i]
#define a4(i) F32x4(args.a_data).v[(i) / 4]
#define b(i) args.b_data.v[i]
#define b4(i) F32x4(args.b_data).v[(i) / 4]

// exact.py:5  for i in a:
void main() {
    // an axis of the grid has at most 65,535 groups; the others are in further rows
    uint index = gl_WorkGroupID.y * gl_NumWorkGroups.x * BLOCK + gl_GlobalInvocationID.x;
    if (index >= (uint(args.a_n) + 3u) / 4u) return;
    int i = int(index) * 4;
    // four iterations at a time, by accesses of 16 bytes (wide_accesses)
    if (uvec2(args.a_data).x % 16u == 0u && uvec2(args.b_data).x % 16u == 0u && i <= args.a_n - 4) {
        // exact.py:6  a[i] = a[i] / b[i] + 1
        a4(i) = vec4_div(a4(i), b4(i)) + 1.0;
    } else {
        // one by one; i + 4 might overflow
        int end = i + min(args.a_n - i, 4);
        for (int ii = i; ii < end; ii++) {
            a(ii) = div_f32(a(ii), b(ii)) + 1.0;
        }
    }
}
