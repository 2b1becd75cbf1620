"""Scalar types of generated programs: widths, promotion, values at the ends of their ranges."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

SIGNED = ("i8", "i16", "i32", "i64")
UNSIGNED = ("u8", "u16", "u32", "u64")
INTEGERS = SIGNED + UNSIGNED
REALS = ("f16", "f32", "f64")
NUMPY = {
    "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16", "u32": "uint32",
    "u64": "uint64", "f16": "float16", "f32": "float32", "f64": "float64",
}  # fmt: skip
LARGEST_EXACT = {"f16": 2.0**8, "f32": 2.0**18, "f64": 2.0**40}
"""A real value whose bound exceeds this is clamped: so nothing overflows, and casts to 32-bit integers are in range."""


def width(type: str) -> int:
    """Return the bits of a type."""
    return int(type[1:])


def is_real(type: str) -> bool:
    """Return whether a type is a floating-point type."""
    return type in REALS


def least(type: str) -> int:
    """Return the least integer of a type."""
    return -(1 << (width(type) - 1)) if type in SIGNED else 0


def greatest(type: str) -> int:
    """Return the greatest integer of a type."""
    return (1 << (width(type) - (type in SIGNED))) - 1


def promote(a: str, b: str) -> str:
    """Return the type of `x + y`: reals win, then the wider one, then the unsigned one."""
    if is_real(a) != is_real(b):
        return a if is_real(a) else b
    if width(a) != width(b):
        return a if width(a) > width(b) else b
    return a if a in UNSIGNED else b


def edge(type: str, chance: random.Random) -> int:
    """Return an integer of a type, often one at the ends of a range."""
    kind = chance.random()
    if kind < 0.4:
        low = -9 if type in SIGNED else 0
        return chance.randint(low, 9)
    if kind < 0.6:
        near = chance.choice((least(type), greatest(type), 1 << (width(type) - 2), 1 << (width(type) // 2)))
        return min(max(near + chance.randint(-1, 1), least(type)), greatest(type))
    if kind < 0.75:
        return chance.randint(least("i8" if type in SIGNED else "u8"), greatest("i8"))
    return chance.randint(least(type), greatest(type))


def real(chance: random.Random) -> float:
    """Return a small real number that every type of reals holds exactly."""
    if chance.random() < 0.5:
        return float(chance.randint(-8, 8))
    return chance.randint(-64, 64) / chance.choice((2, 4, 8))


@dataclass(frozen=True)
class Value:
    """An expression. text: safe as an operand of anything. shape: of a vector or matrix.

    bound: of the absolute value of reals, and of integers that are known to be small (0: nothing is known).
    exact: every target computes the same bits. constant: Python computes it, when the kernel is compiled.
    """

    text: str
    type: str
    bound: float = 0.0
    exact: bool = True
    shape: tuple[int, ...] = ()
    constant: bool = False

    def by(self, text: str) -> Value:
        """Return the same with another expression."""
        return replace(self, text=text)
