"""`ti.frexp` in kernels: mantissa and exponent out of the bits, since GLSL's `frexp` has no f64 and C's no f16.

In: a scalar. Out: a struct of `mantissa` and `exponent`, which unpacks as in Python.
"""

from __future__ import annotations

from typing import Any

from ..errors import TaichiTypeError
from ..ir.nodes import Statement
from ..ir.types import Scalar, Struct, describe_type, f16, f32, f64, i32, i64
from .context import Context

LAYOUTS: dict[Scalar, tuple[Scalar, int, int, int]] = {f32: (i32, 23, 8, 24), f64: (i64, 52, 11, 54)}
"""By type: the integers of its width, bits of the fraction, bits of the exponent, scaling of subnormals [bits]."""


def frexp(context: Context, x: Any) -> Statement:
    """Return (mantissa, exponent): x = mantissa * 2**exponent, 0.5 <= abs(mantissa) < 1; 0, inf and nan with 0."""
    value = context.lift(x)
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
    build = context.builder
    integer, fraction_bits, exponent_bits, scaling = LAYOUTS[type]
    all_ones, bias = (1 << exponent_bits) - 1, (1 << exponent_bits - 1) - 2

    def number(n: int) -> Statement:
        return build.const(n, integer)

    is_small = build.op("lt", build.op("abs", value), build.const(2.0 ** (1 - bias), type))
    scaled = build.op("mul", value, build.const(2.0**scaling, type))
    bits = build.bit_cast(build.op("select", is_small, scaled, value), integer)
    field = build.op("bit_and", build.op("sar", bits, number(fraction_bits)), number(all_ones))
    is_plain = build.op(
        "logical_and", build.op("ne", value, build.const(0.0, type)), build.op("ne", field, number(all_ones))
    )
    kept = build.op("bit_and", bits, number(~(all_ones << fraction_bits)))
    mantissa = build.bit_cast(build.op("bit_or", kept, number(bias << fraction_bits)), type)
    shift = build.op("select", is_small, number(bias + scaling), number(bias))
    exponent = build.cast(build.op("sub", field, shift), i32)
    return (
        build.op("select", is_plain, mantissa, value),
        build.op("select", is_plain, exponent, build.const(0, i32)),
    )
