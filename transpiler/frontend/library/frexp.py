"""`ti.frexp` in kernels: mantissa and exponent from the bits, since GLSL's `frexp` has no f64 and C's no f16.

Input: a scalar. Output: a struct of `mantissa` and `exponent`, which unpacks as in Python.
"""

from __future__ import annotations

from typing import Any

from ...errors import TaichiTypeError
from ...ir.nodes import Statement
from ...ir.types import Scalar, Struct, describe_type, f16, f32, f64, i32, i64
from ..context.context import Context

LAYOUTS: dict[Scalar, tuple[Scalar, int, int]] = {f32: (i32, 23, 8), f64: (i64, 52, 11)}
"""By type: the integer type of equal width, bits of the fraction, bits of the exponent."""


def frexp(context: Context, x: Any) -> Statement:
    """Return (mantissa, exponent): x = mantissa * 2**exponent, 0.5 <= abs(mantissa) < 1; 0, inf and nan with 0."""
    value = context.values.lift(x)
    type = value.type
    if not isinstance(type, Scalar):
        raise context.error(
            TaichiTypeError, f"`ti.frexp` takes a scalar, found `{describe_type(type)}`", "take the elements one by one"
        )
    if type == f16:
        mantissa, exponent = _split(context, context.builder.cast(value, f32), f32)
        return _pair(context, context.builder.cast(mantissa, f16), exponent)
    if not type.is_float:
        value = context.builder.cast(value, context.default_fp)
        return frexp(context, value)
    return _pair(context, *_split(context, value, type))


def _pair(context: Context, mantissa: Statement, exponent: Statement) -> Statement:
    assert mantissa.type is not None
    type = Struct("Frexp", (("mantissa", mantissa.type), ("exponent", i32)))
    return context.builder.struct([mantissa, exponent], context.structs.struct(type))


def _split(context: Context, value: Statement, type: Scalar) -> tuple[Statement, Statement]:
    """Return a subnormal number as its bits times a power of two: devices may flush it in any operation of floats."""
    build = context.builder
    integer, fraction_bits, exponent_bits = LAYOUTS[type]
    all_ones, bias = (1 << exponent_bits) - 1, (1 << exponent_bits - 1) - 2

    def number(n: int) -> Statement:
        return build.const(n, integer)

    bits = build.bit_cast(value, integer)
    magnitude = build.op("bit_and", bits, number(2 ** (type.bits - 1) - 1))
    is_small = build.op("lt", magnitude, number(1 << fraction_bits))
    normal = build.op("select", is_small, build.bit_cast(build.cast(magnitude, type), integer), magnitude)
    field = build.op("sar", normal, number(fraction_bits))
    is_plain = build.op("logical_and", build.op("ne", magnitude, number(0)), build.op("ne", field, number(all_ones)))
    fraction = build.op("bit_and", normal, number((1 << fraction_bits) - 1))
    sign = build.op("bit_and", bits, number(-(2 ** (type.bits - 1))))
    rescaled = build.op("bit_or", build.op("bit_or", sign, fraction), number(bias << fraction_bits))
    shift = build.op("select", is_small, number(bias + bias + fraction_bits), number(bias))
    exponent = build.cast(build.op("sub", field, shift), i32)
    return (
        build.op("select", is_plain, build.bit_cast(rescaled, type), value),
        build.op("select", is_plain, exponent, build.const(0, i32)),
    )
