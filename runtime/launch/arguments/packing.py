"""Conversion of by-value arguments to numbers for the argument block.

In: vectors, matrices and structs of Python scope. Out: lists of numbers, in the order of the components that
`Interface.members` counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any

import numpy as np

from ....transpiler.ir.types import Scalar, Struct, Tensor, Type
from ....transpiler.lang.struct import Struct as Value


def flatten(value: Any) -> list[Any]:
    """Return the numbers of a vector or matrix argument, row by row."""
    kind: Any = type(value)  # not the object: a user's object may have an attribute of any name
    to_list = getattr(kind, "to_list", None) or getattr(kind, "tolist", None)
    items = to_list(value) if to_list is not None else value
    return [number for item in items for number in (flatten(item) if isinstance(item, (list, tuple)) else (item,))]


def flatten_struct(type: Struct, value: Any) -> list[Any]:
    """Return the numbers of a struct argument, member by member. Raises: TypeError if it has other members."""
    if not fits_struct(type, value):
        raise TypeError(f"{value!r} is not a `{type}`")
    return list(_numbers(type, value))


def _numbers(type: Type, value: Any) -> Iterator[Any]:
    if isinstance(type, Struct):
        for name, member in type.members:
            yield from _numbers(member, value[name])
    elif isinstance(type, Tensor):
        yield from flatten(value)
    else:
        yield value if type.is_float else type(value)


def fits_struct(type: Type, value: Any) -> bool:
    """Return whether a value has the members of `type`, with numbers for the members that are numbers."""
    if isinstance(type, Struct):
        if not isinstance(value, (Value, dict)):
            return False
        names = value.keys if isinstance(value, Value) else list(value)
        return sorted(names) == sorted(type.names) and all(
            fits_struct(member, value[name]) for name, member in type.members
        )
    if isinstance(type, Tensor):
        try:
            numbers = flatten(value)
        except TypeError:
            return False
        return len(numbers) == type.size and all(is_number(type.element, number) for number in numbers)
    return is_number(type, value)


def is_number(type: Scalar, value: Any) -> bool:
    """Return whether a value is a number that can be passed as `type`: integers take no floats."""
    return isinstance(value, Real if type.is_float else (Integral, np.bool_))


def fitted(type: Type, value: Any, wrapped: list[str]) -> Any:
    """Return an argument with numbers in the range of their types. wrapped: gets a text for each integer that wraps."""
    if isinstance(type, Struct):
        return {name: fitted(member, value[name], wrapped) for name, member in type.members}
    if isinstance(type, Tensor):
        return [fitted(type.element, number, wrapped) for number in flatten(value)]
    with np.errstate(over="ignore"):
        result = type(value)
    if type.is_integral and result != value:
        wrapped.append(f"{value} does not fit {type} and wraps to {result}")
    return result
