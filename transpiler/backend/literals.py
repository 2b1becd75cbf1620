"""How numbers are written: shortest text that gives the same number back, with the suffix of the language.

NaN and infinities have no literal in GLSL and none without headers in CUDA; they are written as bits there.
"""

from __future__ import annotations

import re
from functools import lru_cache
from math import copysign, isinf, isnan

import numpy as np

from ..ir.types import Scalar
from . import tables_c, tables_cuda, tables_glsl
from .spelling_forms import PRIMARY, UNARY, Spelling

FLOAT_SUFFIX = {
    "vulkan": {"f32": "", "f64": "lf", "f16": "hf"},
    "cuda": {"f32": "f", "f64": "", "f16": "f"},
    "c": {"f32": "f", "f64": "", "f16": "f"},
}
EXPONENT = re.compile(r"e(?:\+0*|(-)0*)")
"""What Python writes as e+09 and e-05 is e9 and e-5 to a reader."""
INTEGER_SUFFIX = {
    "vulkan": {"i32": "", "u32": "u", "i64": "l", "u64": "ul"},
    "cuda": {"i32": "", "u32": "u", "i64": "ll", "u64": "ull"},
    "c": {"i32": "", "u32": "u", "i64": "ll", "u64": "ull"},
}
SPECIAL = {
    "vulkan": {
        "f32": ("uintBitsToFloat(0x7f800000u)", "uintBitsToFloat(0x7fc00000u)"),
        "f64": ("packDouble2x32(uvec2(0u, 0x7ff00000u))", "packDouble2x32(uvec2(0u, 0x7ff80000u))"),
        "f16": ("uint16BitsToFloat16(uint16_t(0x7c00))", "uint16BitsToFloat16(uint16_t(0x7e00))"),
    },
    "cuda": {
        "f32": ("__int_as_float(0x7f800000)", "__int_as_float(0x7fc00000)"),
        "f64": ("__longlong_as_double(0x7ff0000000000000ll)", "__longlong_as_double(0x7ff8000000000000ll)"),
        "f16": ("half_from_bits(0x7c00)", "half_from_bits(0x7e00)"),
    },
    "c": {
        "f32": ("INFINITY", "NAN"),
        "f64": ("(double)INFINITY", "(double)NAN"),
        "f16": ("(_Float16)INFINITY", "(_Float16)NAN"),
    },
}
"""Infinity and NaN."""


@lru_cache(maxsize=4096)
def _literal(target: str, type: Scalar, value: int | float | bool, negative_zero: bool) -> Spelling:
    if type.kind == "bool":
        return Spelling("true" if value else "false")
    if type.is_float:
        return _float(target, type, float(value))
    return _integer(target, type, int(value))


def literal(target: str, type: Scalar, value: int | float | bool) -> Spelling:
    """Return how `value` of `type` is written; the text is final (no operands). Negative numbers are unary minus."""
    return _literal(target, type, value, value == 0 and copysign(1.0, value) < 0)


def _float(target: str, type: Scalar, value: float) -> Spelling:
    if isnan(value) or isinf(value):
        text = SPECIAL[target][type.name][isnan(value)]
        precedence = UNARY if text.startswith("(") else PRIMARY
        helpers = ("half_from_bits",) if text.startswith("half") else ()
        return (
            Spelling(text, precedence, (), helpers)
            if isnan(value) or value > 0
            else Spelling(f"-{text}", UNARY, (), helpers)
        )
    text = str(type.numpy.type(value)) if type.bits != 64 else repr(value)
    if type.bits == 32 and np.float32(float(text)) != np.float32(value):
        text = repr(value)  # the compiler may read decimals as double first: rounding twice must not change the number
    text = EXPONENT.sub(lambda m: f"e{m[1] or ''}", text) + FLOAT_SUFFIX[target][type.name]
    if type.name == "f16" and target != "vulkan":
        return (
            Spelling(f"half({text})", PRIMARY, (), ("half",))
            if target == "cuda"
            else Spelling(f"(_Float16){text}", UNARY)
        )
    return Spelling(text, UNARY if text.startswith("-") else PRIMARY)


def _integer(target: str, type: Scalar, value: int) -> Spelling:
    if type.bits < 32:
        if target == "vulkan":
            return Spelling(f"{tables_glsl.TYPES[type.name]}({value})")
        return Spelling(str(value), UNARY if value < 0 else PRIMARY)
    suffix = INTEGER_SUFFIX[target][type.name]
    if type.is_signed and value == -(1 << (type.bits - 1)):
        return Spelling(f"(-{-value - 1}{suffix} - 1)")
    return Spelling(f"{value}{suffix}", UNARY if value < 0 else PRIMARY)


def scalar_name(target: str, type: Scalar) -> str:
    """Return the name of a scalar type in registers."""
    tables = {"vulkan": tables_glsl.TYPES, "cuda": tables_cuda.TYPES, "c": tables_c.TYPES}
    return tables[target][type.name]
