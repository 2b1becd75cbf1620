"""Quantised numbers: integers, fixed-point and floating-point numbers of any number of bits, packed into integers.

A `QuantType` says what the bits mean, and a `Packing` where they are: in a word, an unsigned integer of 32 or 64 bits.
The pass `packed_arrays` and `runtime/fields/packed_memory.py` read and write them, both as defined here.

- int: the lowest bits of the number; those above are lost.
- fixed: the number divided by the scale, rounded to the nearest integer, half away from zero; bits above are lost.
- float: sign, exponent and fraction as in IEEE 754, with the bias 2^(bits of the exponent - 1) - 1. The exponent 0
  means zero; the greatest one is a number like the others, except in 8 bits, as f32. Rounded half away from zero.
- floats with a shared exponent: a sign and the digits, with a leading one or zeros, for each; the exponent is that of
  the largest.

Source: values as measured on Taichi 1.7.4, arch cpu; the order of the bits is our own.
"""

from __future__ import annotations

from dataclasses import dataclass

from .types import Scalar

MAX_EXPONENT_BITS = 8
MAX_FRACTION_BITS = 23
F32_BIAS = 127


@dataclass(frozen=True, slots=True)
class QuantType:
    """A type of quantised numbers.

    Attributes:
        kind: "int", "fixed" or "float".
        bits: of the number; of a float those of sign and fraction.
        compute: the type of a value that a kernel reads.
        scale: of fixed-point numbers, the value of 1.
        exponent_bits: of floats.
    """

    kind: str
    bits: int
    is_signed: bool
    compute: Scalar
    scale: float = 1.0
    exponent_bits: int = 0

    @property
    def digits(self) -> int:
        """Bits without the sign, and of a float without the exponent."""
        return self.bits - (self.kind == "float" and self.is_signed)

    @property
    def bias_difference(self) -> int:
        """What is added to the exponent of a float to make that of f32."""
        return F32_BIAS - (2 ** (self.exponent_bits - 1) - 1)

    def __str__(self) -> str:
        if self.kind == "float":
            return f"quant.float(exp={self.exponent_bits}, frac={self.bits}, signed={self.is_signed})"
        scale = f", scale={self.scale:g}" if self.kind == "fixed" else ""
        return f"quant.{self.kind}(bits={self.bits}, signed={self.is_signed}{scale})"

    __repr__ = __str__


@dataclass(frozen=True, slots=True)
class QuantTensor:
    """A type of vectors or matrices of quantised numbers."""

    shape: tuple[int, ...]
    type: QuantType


@dataclass(frozen=True, slots=True)
class Packing:
    """Where the elements of a field are in an array of words.

    Attributes:
        type: of the elements.
        word: u32 or u64.
        shift: number of the lowest bit; of several elements in a word, that of the first.
        lanes: (axis, extent) for each axis along which a word has several elements, the slowest first.
        outer_axes: those of them that the words have too.
        shared: of floats with a shared exponent: the shifts and types of all of them; `exponent` is its shift.
    """

    type: QuantType
    word: Scalar
    shift: int = 0
    lanes: tuple[tuple[int, int], ...] = ()
    outer_axes: frozenset[int] = frozenset()
    shared: tuple[tuple[int, QuantType], ...] = ()
    exponent: int = 0

    @property
    def bits(self) -> int:
        """Bits of one element in a word, without a shared exponent."""
        return self.type.bits if self.shared else self.type.bits + self.type.exponent_bits


def mask_of(bits: int, shift: int = 0) -> int:
    """Return an integer of `bits` ones from bit `shift` on."""
    return ((1 << bits) - 1) << shift
