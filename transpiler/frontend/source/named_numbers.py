"""Python numbers that remember their names while the frontend computes with them.

A number that a kernel reads by a name or as a member becomes an object of a subclass of its own class, which has an
origin (`ir/origins.py`). To Python, and to all of the frontend, it is the number; Python's own operators return plain
numbers. The handlers of operators and calls record here how a result was made of them. Where a number becomes a
constant of the kernel, the constant has the origin. The user's Python functions get plain numbers.
"""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from ...ir.origins import Origin, converted, literal, named_number, opaque, operation, origin_in, with_origin
from ...ir.origins import without_origin as plain
from ...ir.types import SCALARS, Scalar, u1
from ...options import CompileOptions

__all__ = ["called", "computed", "extent", "named", "named_member", "number_type", "origin_in", "plain"]


def number_type(value: Any, options: CompileOptions) -> Scalar:
    """Return the type a number gets in an operation with a run-time value."""
    if isinstance(value, (bool, np.bool_)):
        return u1
    return SCALARS[options.default_ip if isinstance(value, (int, np.integer)) else options.default_fp]


def named(value: Any, name: str, note: str, options: CompileOptions) -> Any:
    """Return a number with the name by which a kernel reads it; other objects as they are.

    note: the expression that reads it, if it is more than the name.
    """
    if not _is_number(value) or isinstance(value, (complex, np.complexfloating)):
        return value
    value = plain(value)
    return with_origin(value, named_number(name, note, value, number_type(value, options)))


def named_member(value: Any, options: CompileOptions) -> Any:
    """Return a member of an enumeration as a number with its name; other numbers as they are."""
    if not isinstance(value, enum.Enum) or not isinstance(value, (int, float)):
        return value
    number = int(value) if isinstance(value, int) else float(value)
    return named(number, value.name, f"{type(value).__name__}.{value.name}", options)


def extent(value: int, origin: Origin) -> Any:
    """Return an extent of a field with its name."""
    return with_origin(value, origin)


def computed(name: str, operands: tuple[Any, ...], result: Any, options: CompileOptions) -> Any:
    """Return the result of an operation that Python has evaluated, with its origin if an operand has one."""
    if all(origin_in(operand) is None for operand in operands):
        return result
    if not _is_number(result) or not all(map(_is_number, operands)):
        return result
    type = number_type(result, options)
    parts = tuple(_origin(operand, options) for operand in operands)
    if name != "pow":
        parts = tuple(converted(part, type) for part in parts)
    return with_origin(result, operation(name, parts, result, type))


def called(name: str, text: str, operands: list[Any], result: Any, options: CompileOptions) -> Any:
    """Return what a function of Python has returned, with its origin if an argument has one. text: of the call."""
    if all(origin_in(operand) is None for operand in operands) or not _is_number(result):
        return result
    parts = tuple(_origin(operand, options) for operand in operands if _is_number(operand))
    type = number_type(result, options)
    if name == "float" and result == operands[0]:
        return with_origin(result, converted(parts[0], type))
    return with_origin(result, opaque(name, text, parts, result, type))


def _origin(value: Any, options: CompileOptions) -> Origin:
    """Return the origin of a number, which may be a literal."""
    return origin_in(value) or literal(value, number_type(value, options))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, (bool, np.bool_, enum.Enum))
