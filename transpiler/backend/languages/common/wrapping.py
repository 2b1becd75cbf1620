"""Integer arithmetic modulo 2^bits in languages where signed overflow is undefined: unsigned, and converted back.

In: a language, the type of the numbers, sources of operands. Out: sources. In other languages all stays as it is.
"""

from __future__ import annotations

from ....ir.types import Scalar, u16, u32, u64
from .language import Language
from .syntax_forms import PRIMARY, Syntax, custom
from .tensors import name_of

TEMPLATES = {"add": "{} + {{1}}", "sub": "{} - {{1}}", "mul": "{} * {{1}}", "neg": "-{}"}
"""The operations that may wrap."""


def convert(name: str, source: str) -> str:
    """Return a number converted to the type `name` as C++ allows it: `int(x)`, `(long long)(x)`."""
    return f"{name}({source})" if name.isidentifier() else f"({name})({source})"


def unsigned_name(language: Language, wide: Scalar) -> str:
    """Return the name of u32 or u64 in a conversion."""
    return language.unsigned if wide == u32 else name_of(language, wide)


def total_type(language: Language, scalar: Scalar) -> Scalar:
    """Return the type in which sums of `scalar` are added up."""
    if not language.undefined_overflow or not scalar.is_signed or scalar.bits < 32 or scalar.is_float:
        return scalar
    return u64 if scalar.bits == 64 else u32


def operand(language: Language, scalar: Scalar, source: str) -> str:
    """Return the first operand of a product or sum, which makes all of it unsigned."""
    total = total_type(language, scalar)
    if total != scalar:
        return convert(unsigned_name(language, total), source)
    # C computes products of 16 bits as int, which those of the greatest numbers do not fit.
    return convert(language.unsigned, source) if language.undefined_overflow and scalar == u16 else source


def signed(language: Language, scalar: Scalar, total: str) -> str:
    """Return what `operand` began, as a number of type `scalar`."""
    return total if total_type(language, scalar) == scalar else convert(name_of(language, scalar), total)


def operation(language: Language, op: str, scalar: Scalar) -> Syntax:
    """Return the syntax of an operation on primary expressions that may wrap."""
    first = operand(language, scalar, "{0}")
    if op not in TEMPLATES or first == "{0}":
        return language.operation(op, scalar)
    source = convert(name_of(language, scalar), TEMPLATES[op].format(first))
    return custom(source, PRIMARY, *([PRIMARY] * (1 if op == "neg" else 2)))
