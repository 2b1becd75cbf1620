"""The printed form of a number: `%d`, `%f`, f64 with twelve digits, or as a format specification says.

Input: a scalar type and the specification after the colon of an f-string. Output: a function of the number.
Specifications are first interpreted as C's printf does, as in Taichi (`5.1f`, `+d`, `-8.3e`, a missing letter is
added); others are passed to Python's `format` (`>8`, `,`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ..ir.types import Scalar

PRINTF = re.compile(r"([-+ #0]*\d*)(\.\d*)?(?:hh|h|ll|l)?([a-zA-Z]?)")
CONVERSIONS = {True: "feEgGF", False: "diuxXo"}
"""Conversion letters of printf, by whether the number is a float."""


def formatter(type: Scalar, specification: str = "", shortest: bool = False) -> Callable[[Any], str]:
    """Return the function that converts a number of `type` to a string.

    shortest: floats without a specification get as many digits as distinguish them, as in the message of an assert.
    Raises: ValueError if numbers of the type do not support the specification.
    """
    precision_digits = ".12" if type.bits == 64 and type.is_float else ""
    if not specification:
        if type.is_float and shortest:
            return _shortest(type)
        return f"%{precision_digits}{'f' if type.is_float else 'd'}".__mod__
    match = PRINTF.fullmatch(specification)
    if match is not None and match[3] in CONVERSIONS[type.is_float]:  # "" is in every string: no letter is accepted
        precision = match[2] or ("" if match[3] in ("g", "G") else precision_digits)
        return f"%{match[1]}{precision}{match[3] or ('f' if type.is_float else 'd')}".__mod__
    format(0.0 if type.is_float else 0, specification)
    return lambda value: format(value if type.is_float else int(value), specification)


def _shortest(type: Scalar) -> Callable[[Any], str]:
    convert = type.numpy.type
    return lambda value: str(convert(value)).removesuffix(".0")
