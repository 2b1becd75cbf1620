"""`ti.types.quant`: integers, fixed-point and floating-point numbers of any number of bits."""

from __future__ import annotations

import builtins
from typing import Any

from ...transpiler.ir.types import MAX_EXPONENT_BITS, MAX_FRACTION_BITS, QuantType, Scalar, f64
from ...transpiler.lang.hooks import HOOKS, scalar_of
from ..fields import quantized  # noqa: F401 - fields of the types

__all__ = ["fixed", "float", "int"]


def int(bits: builtins.int, signed: bool = True, compute: Any = None) -> QuantType:  # noqa: A001 - Taichi's name
    """Return the type of integers of 1 to 64 bits. compute: the type of values in kernels.

    Raises: ValueError for other numbers of bits, and for more than `compute` has.
    """
    chosen = HOOKS.default_types()[1 if signed else 2] if compute is None else scalar_of(compute)
    if not chosen.is_integral:
        raise ValueError(f"an integer is computed in an integer type, and {chosen} was given")
    return QuantType("int", _checked("bits", bits, 1, chosen.bits), builtins.bool(signed), chosen)


def fixed(
    bits: builtins.int,
    signed: bool = True,
    max_value: builtins.float = 1.0,
    compute: Any = None,
    scale: builtins.float | None = None,
) -> QuantType:
    """Return the type of fixed-point numbers of 1 to 32 bits: multiples of `scale` up to about `max_value`.

    scale: used instead of `max_value`. Raises: ValueError for other numbers of bits.
    """
    count = _checked("bits", bits, 1, 32)
    chosen = _real(compute)
    if scale is None:
        scale = max_value / 2 ** (count - 1 if signed else count)
    return QuantType("fixed", count, builtins.bool(signed), chosen, builtins.float(scale))


def float(exp: builtins.int, frac: builtins.int, signed: bool = True, compute: Any = None) -> QuantType:  # noqa: A001
    """Return the type of floating-point numbers. exp: bits of the exponent; frac: of the fraction and the sign.

    Raises: ValueError for more than 8 bits of the exponent or 23 of the fraction without the sign.
    """
    least = 2 if signed else 1
    fraction = _checked("frac", frac, least, MAX_FRACTION_BITS + builtins.bool(signed))
    exponent = _checked("exp", exp, 1, MAX_EXPONENT_BITS)
    return QuantType("float", fraction, builtins.bool(signed), _real(compute), exponent_bits=exponent)


def _real(compute: Any) -> Scalar:
    chosen = HOOKS.default_types()[0] if compute is None else scalar_of(compute)
    if not chosen.is_float or chosen.bits < 32:
        raise ValueError(f"a quantised real number is computed in f32 or {f64}, and {chosen} was given")
    return chosen


def _checked(name: str, bits: Any, least: builtins.int, most: builtins.int) -> builtins.int:
    if not isinstance(bits, builtins.int) or not least <= bits <= most:
        raise ValueError(f"`{name}` is an integer from {least} to {most}, and {bits!r} was given")
    return bits
