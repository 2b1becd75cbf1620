// Range reduction of angles of any size modulo pi/2, for sine, cosine and tangent of float and
// double.
// Source: Payne and Hanek, "Radian reduction for trigonometric functions" (1983): of the product of
// an integer and 2/pi only the bits from 2^1 to the last significant one are computed.

// 128 bits of 2/pi, after 32 leading zeros: bit k has the weight 2^(31 - k). No array: lavapipe is
// slow at those.
uvec4 bits_of_two_over_pi(int row) {
    return
        row == 0 ? uvec4(0x00000000u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u) :
        row == 1 ? uvec4(0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu) :
        row == 2 ? uvec4(0xdebbc561u, 0xb7246e3au, 0x424dd2e0u, 0x06492eeau) :
        row == 3 ? uvec4(0x09d1921cu, 0xfe1deb1cu, 0xb129a73eu, 0xe88235f5u) :
        row == 4 ? uvec4(0x2ebb4484u, 0xe99c7026u, 0xb45f7e41u, 0x3991d639u) :
        row == 5 ? uvec4(0x835339f4u, 0x9c845f8bu, 0xbdf9283bu, 0x1ff897ffu) :
        row == 6 ? uvec4(0xde05980fu, 0xef2f118bu, 0x5a0a6d1fu, 0x6d367ecfu) :
        row == 7 ? uvec4(0x27cb09b7u, 0x4f463f66u, 0x9e5fea2du, 0x7527bac7u) :
        row == 8 ? uvec4(0xebe5f17bu, 0x3d0739f7u, 0x8a5292eau, 0x6bfb5fb1u) :
        uvec4(0x1f8d5d08u, 0x56033046u, 0xfc7b6babu, 0xf0cfbc20u);
}

// The low 32 bits of a * b + addend + carry; the high bits are the new carry.
uint multiply_add(uint a, uint b, uint addend, inout uint carry) {
    uint high;
    uint low;
    umulExtended(a, b, high, low);
    uint first;
    uint second;
    uint sum = uaddCarry(uaddCarry(low, addend, first), carry, second);
    carry = high + first + second;
    return sum;
}

// m * 2^e * 2/pi modulo 4, for m = m.y * 2^32 + m.x and -30 <= e <= 971: 2 bits before the point
// and 126 after it, all but the last correct. Without a loop: lavapipe adds its iterations to those
// of enclosing loops, and ends all after 65,535.
uvec4 times_two_over_pi(uvec2 m, int e) {
    int start = e + 30;  // bits before this one are multiples of 4
    uvec4 a = bits_of_two_over_pi(start >> 7);
    uvec4 b = bits_of_two_over_pi((start >> 7) + 1);
    uvec2 c = bits_of_two_over_pi((start >> 7) + 2).xy;
    if ((start & 64) != 0) {
        a = uvec4(a.zw, b.xy);
        b = uvec4(b.zw, c);
    }
    if ((start & 32) != 0) {
        a = uvec4(a.yzw, b.x);
        b.xyz = b.yzw;
    }
    int shift = start & 31;
    uvec4 first = a << shift | uvec4(a.yzw, b.x) >> 1 >> (31 - shift);
    uvec2 last = b.xy << shift | b.yz >> 1 >> (31 - shift);
    uvec4 quadrants;
    uint carry = 0u;
    multiply_add(m.x, last.x, 0u, carry);
    quadrants.w = multiply_add(m.x, first.w, 0u, carry);
    quadrants.z = multiply_add(m.x, first.z, 0u, carry);
    quadrants.y = multiply_add(m.x, first.y, 0u, carry);
    quadrants.x = multiply_add(m.x, first.x, 0u, carry);
    carry = 0u;
    multiply_add(m.y, last.y, 0u, carry);
    quadrants.w = multiply_add(m.y, last.x, quadrants.w, carry);
    quadrants.z = multiply_add(m.y, first.w, quadrants.z, carry);
    quadrants.y = multiply_add(m.y, first.z, quadrants.y, carry);
    quadrants.x = multiply_add(m.y, first.y, quadrants.x, carry);
    return quadrants;
}
