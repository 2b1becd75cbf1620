"""Divisors that a launch packs as a multiplier and a shift: a division by them is a product, an addition and a shift.

    index / n    ->    divide(index, by_n)    (CUDA C: (__umulhi(index, by_n.multiplier) + index) >> by_n.shift)

In: a number of the launch. Out: what is packed for it.

Source: T. Granlund, P. L. Montgomery, Division by Invariant Integers using Multiplication (1994), figure 4.1.
"""

from __future__ import annotations

DIVISOR = "Divisor"
"""The struct of both in a source. Members of it are the last ones in `Args`, and a source may lack them."""
LARGEST = 2**31
"""Of dividends and divisors: the sum of a dividend and the high half of a product does not wrap."""
BY_ZERO = 31 << 32
"""What is packed for 0: each quotient is 0."""


def packed_divisor(number: int) -> int:
    """Return the multiplier (low 32 bits) and the shift (high 32 bits) of an i32, or of the number without its sign.

    Quotients of all dividends up to `LARGEST` are exact: with 2^shift >= number, the multiplier is
    2^(32 + shift) / number less 2^32, rounded up, so that the error of a product is less than a part in 2^31.
    """
    number = abs((number + (1 << 31) & 0xFFFFFFFF) - (1 << 31))  # as a device has it in 32 bits
    if number == 0:
        return BY_ZERO
    shift = (number - 1).bit_length()
    return ((1 << 32) * ((1 << shift) - number) // number + 1) | shift << 32
