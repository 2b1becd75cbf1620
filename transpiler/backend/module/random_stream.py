"""The random numbers of kernels in Python, equal bit for bit to `templates/*/lib/random.*`.

Philox 2x32 with 10 rounds. Each thread of each task of a launch has a stream: `RandomStream(seed, index)`, where
`seed` is the seed of the launch mixed with the number of the task (`task_seed`) and `index` is the thread. Draw number
d is the cipher of the counter (x, y) = (d, index) under the key `seed`:

    ten times:  product = x * 0xD256D193 (64 bits);  x, y = high(product) ^ key ^ y, low(product);  key += 0x9E3779B9

    f32: (x >> 8) * 2^-24          f64: ((x >> 5) * 2^26 + (y >> 6)) * 2^-53          f16: (x >> 21) * 2^-11
    u32: x   i32: x wrapped   u8, u16, i8, i16: low bits of x   u64: x * 2^32 + y   i64: the same wrapped   u1: x >> 31

A number of any type takes one draw.
Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011).
"""

from __future__ import annotations

from ...ir.types import Scalar

WORD = 0xFFFFFFFF
MULTIPLIER = 0xD256D193
WEYL = 0x9E3779B9


def task_seed(seed: int, task: int) -> int:
    """Return the seed of task number `task` (from 0) of a launch, so that tasks draw different numbers."""
    return (seed ^ (task * WEYL)) & WORD


def philox(x: int, y: int, key: int) -> tuple[int, int]:
    """Return the 2 words of the cipher of the counter (x, y)."""
    for _ in range(10):
        product = x * MULTIPLIER
        x, y = (product >> 32) ^ key ^ y, product & WORD
        key = (key + WEYL) & WORD
    return x, y


class RandomStream:
    """The numbers of one thread."""

    def __init__(self, seed: int, index: int) -> None:
        self.seed = seed & WORD
        self.index = index & WORD
        self.draws = 0

    def draw(self, type: Scalar) -> int | float | bool:
        """Return the next number as `type`: uniform in [0, 1) for floats, over all values for integers and u1."""
        x, y = philox(self.draws, self.index, self.seed)
        self.draws = (self.draws + 1) & WORD
        if type.is_float:
            bits = {16: x >> 21, 32: x >> 8, 64: (x >> 5 << 26) + (y >> 6)}[type.bits]
            return float(bits / (1 << {16: 11, 32: 24, 64: 53}[type.bits]))
        if type.kind == "bool":
            return bool(x >> 31)
        return int(type((x << 32) + y if type.bits == 64 else x))
