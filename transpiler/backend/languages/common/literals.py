"""Numeric literals: the shortest decimal that denotes the same number, with the suffix of the language.

In: a number and its type, and a language's `Literals`. Out: a `Syntax` without operands.
"""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, Context, Decimal
from functools import lru_cache
from math import copysign, frexp, isinf, isnan

import numpy as np

from ....ir.types import Scalar
from .language import Language
from .syntax_forms import PRIMARY, UNARY, Syntax

EXPONENT = re.compile(r"e(?:\+0*|(-)0*)")
"""Python prints e+09 and e-05, which are emitted as e9 and e-5."""


@lru_cache(maxsize=4096)
def _literal(language: Language, type: Scalar, value: int | float | bool, negative_zero: bool) -> Syntax:
    if type.kind == "bool":
        return Syntax("true" if value else "false")
    if type.is_float:
        return _float(language, type, float(value))
    return _integer(language, type, int(value))


def literal(language: Language, type: Scalar, value: int | float | bool) -> Syntax:
    """Return the literal of `value`, which has no operands. A negative number is a unary minus."""
    return _literal(language, type, value, value == 0 and copysign(1.0, value) < 0)


def _float(language: Language, type: Scalar, value: float) -> Syntax:
    if isnan(value) or isinf(value):
        if isnan(value):
            return language.literals.nans[type.name]
        infinity = language.literals.infinities[type.name]
        return infinity if value > 0 else Syntax(f"-{infinity.template}", UNARY, (), infinity.helpers)
    number = type.numpy.type(value)
    decimal = str(number) if type.bits != 64 else repr(value)
    if type.bits == 32 and np.float32(float(decimal)) != number:
        decimal = repr(value)  # a compiler may parse it as double first: double rounding must not change it
    if type.name == "f16" and language.literals.half is None:
        decimal = _half_from_above(number, decimal)
    if "e" in decimal:
        decimal = EXPONENT.sub(lambda m: f"e{m[1] or ''}", decimal)
    decimal += language.literals.float_suffixes[type.name]
    half = language.literals.half
    if type.name == "f16" and half is not None:
        return Syntax(half.format(decimal), half.precedence, (), half.helpers)
    return Syntax(decimal, UNARY if decimal.startswith("-") else PRIMARY)


def _half_from_above(value: np.float16, decimal: str) -> str:
    """Return a short decimal that denotes `value` whether a compiler rounds it to nearest or toward zero.

    glslang (12.0, here) rounds literals of f16 toward zero: `6.55e4hf`, the shortest for 65504, became 65472.
    """
    exact = abs(float(value))
    tie = exact + 2.0 ** (max(frexp(exact)[1] - 11, -24) - 1)  # half of its last place above
    if not exact or exact <= abs(float(decimal)) < tie:
        return decimal
    digits = (Context(n, ROUND_CEILING).plus(Decimal(exact)) for n in range(1, 20))
    short = repr(float(next(found for found in digits if found < Decimal(tie))))
    plain = repr(exact)
    return ("-" if value < 0 else "") + (plain if len(plain) <= max(len(short), 7) else short)


def in_notation(language: Language, type: Scalar, notation: str) -> Syntax:
    """Return the literal of an integer that Python has in base 16 or 2; GLSL has no base 2."""
    if notation.startswith("0b") and not language.literals.has_binary:
        notation = f"{int(notation, 0):#x}"
    if type.bits < 32:
        return Syntax(f"{language.types[type.name]}({notation})" if language.literals.converts_small else notation)
    return Syntax(notation + language.literals.integer_suffixes[type.name])


def _integer(language: Language, type: Scalar, value: int) -> Syntax:
    if type.bits < 32:
        if language.literals.converts_small:
            return Syntax(f"{language.types[type.name]}({value})")
        return Syntax(str(value), UNARY if value < 0 else PRIMARY)
    suffix = language.literals.integer_suffixes[type.name]
    if type.is_signed and value == -(1 << (type.bits - 1)):
        return Syntax(f"(-{-value - 1}{suffix} - 1)")
    return Syntax(f"{value}{suffix}", UNARY if value < 0 else PRIMARY)


def scalar_name(language: Language, type: Scalar) -> str:
    """Return the name of a scalar type in registers."""
    return language.types[type.name]
