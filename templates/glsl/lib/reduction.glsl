// Angles of any size: what remains of them modulo a quarter turn, for sine, cosine and tangent of float and double.
// Source: Payne and Hanek, "Radian reduction for trigonometric functions" (1983): of the product of an integer with 2/pi
// only the bits from 2^1 to the last that counts are computed.

// The bits of 2/pi behind 32 zeros: bit k has the weight 2^(31 - k).
const uint TWO_OVER_PI[38] = uint[38](
    0x00000000u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu,
    0xdebbc561u, 0xb7246e3au, 0x424dd2e0u, 0x06492eeau, 0x09d1921cu, 0xfe1deb1cu, 0xb129a73eu, 0xe88235f5u,
    0x2ebb4484u, 0xe99c7026u, 0xb45f7e41u, 0x3991d639u, 0x835339f4u, 0x9c845f8bu, 0xbdf9283bu, 0x1ff897ffu,
    0xde05980fu, 0xef2f118bu, 0x5a0a6d1fu, 0x6d367ecfu, 0x27cb09b7u, 0x4f463f66u, 0x9e5fea2du, 0x7527bac7u,
    0xebe5f17bu, 0x3d0739f7u, 0x8a5292eau, 0x6bfb5fb1u, 0x1f8d5d08u, 0x56033046u
);

// m * 2^e * 2/pi modulo 4, for -30 <= e <= 1003: 2 bits before the point and 126 behind it, all but the last are right.
uvec4 quarter_turns(uint m, int e) {
    int start = e + 30;  // bits before this one are multiples of 4
    uint shift = uint(start) & 31u;
    uint digits[5];
    uint carry = 0u;
    for (int k = 4; k >= 0; k--) {
        int word = (start >> 5) + k;
        uint window = (TWO_OVER_PI[word] << shift) | (TWO_OVER_PI[word + 1] >> 1 >> (31u - shift));
        uint high;
        uint low;
        uint overflow;
        umulExtended(m, window, high, low);
        digits[k] = uaddCarry(low, carry, overflow);
        carry = high + overflow;
    }
    return uvec4(digits[0], digits[1], digits[2], digits[3]);
}
