"""The numbers that programs give to arrays, as numbers of the array's type; what is refused and what wraps is Taichi's.

In: a number type and a value. Out: the number, or an error that says what was given and what the type holds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...transpiler.errors import TaichiTypeError, warn_user
from ...transpiler.ir.types import Scalar, Struct, Tensor, Type, i32
from ...transpiler.lang.matrix import array_of, unwrap
from ...transpiler.lang.struct import Struct as Value
from ..session.tracebacks import user_error

Array = np.ndarray[Any, Any]
SMALL, LARGE = 128, 65504.0
"""Integers below the first and floats up to the second fit every type of more than one bit."""
LOWEST, BEYOND = -(1 << 63), 1 << 64
"""The integers that some type holds: from the first, below the second."""


def to_scalar(dtype: Scalar, value: Any, owner: object) -> int | float | bool:
    """Return `value` as a Python number of type `dtype`: integers wrap as in C, floats are not rounded yet.

    Raises: TypeError for anything but a number, for a float if `dtype` is an integer, and for an integer that no type
    holds.
    """
    if isinstance(value, bool | np.bool_):
        return int(value)
    if isinstance(value, int | np.integer):
        if not LOWEST <= value < BEYOND and (dtype.is_integral or abs(value) > _largest(dtype)):
            raise user_error(TypeError(f"{owner!r} holds {dtype}, and {_shown(value)} does not fit"))
        return dtype(value) if dtype.is_integral else float(value)
    if isinstance(value, float | np.floating):
        if dtype.is_float:
            return float(value)
        if not isinstance(value, float) and math.isfinite(value):  # NumPy's narrow floats, which Taichi truncates
            return int(dtype(value))
        raise user_error(TypeError(f"{owner!r} holds {dtype}, and {value!r} is a float. Hint: write `int({value!r})`"))
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return to_scalar(dtype, value.item(), owner)
    raise user_error(TypeError(f"{owner!r} holds {dtype}, and a {type(value).__name__} was given: {value!r}"))


def to_components(dtype: Scalar, values: Any, owner: object, truncates: bool = True) -> Array:
    """Return numbers in lists, or an array of them, as an array of `dtype`: integers wrap, floats round.

    NumPy alone would make doubles of `[2**64 - 1, 2]`, and lose digits. truncates: whether integers take floats.
    Raises: TypeError if there is another object, an integer that no type holds, or a float that is not taken.
    """
    given = unwrap(values)
    found = np.asarray(given)
    if dtype.is_integral and found.dtype.kind in "fO" and not isinstance(given, np.ndarray):
        numbers = np.array(given, object).ravel()
        if all(isinstance(number, int | np.integer) for number in numbers):
            for number in numbers:
                to_scalar(dtype, number, owner)  # refuses what no type holds
            return array_of(given, dtype.numpy)
    if found.dtype.kind not in "biuf":
        raise user_error(TypeError(f"{owner!r} holds {dtype}, and an element was given as {values!r}"))
    if dtype.is_integral and found.dtype == np.float64 and not truncates:
        raise user_error(TypeError(f"{owner!r} holds {dtype}, and {values!r} has floats. Hint: use integers, `int(x)`"))
    if found.dtype.kind != "f" or found.dtype == dtype.numpy:  # no number becomes infinite
        return found.astype(dtype.numpy)
    with np.errstate(over="ignore", invalid="ignore"):  # takes 1 us, as long as all else
        return array_of(given, dtype.numpy) if dtype.is_integral else found.astype(dtype.numpy)


def is_plain(dtype: Scalar, value: Any) -> bool:
    """Return whether a number fits a type so clearly that nothing else has to be asked, which takes longer."""
    if type(value) is float:
        return dtype.is_float and -LARGE <= value <= LARGE
    return type(value) is int and 0 <= value < SMALL and dtype.bits > 1


def check_fill(element: Type, value: Any, owner: object) -> None:
    """Check the numbers with which an array is filled; one that wraps or becomes infinite causes a warning.

    They do in Taichi, too, which refuses integers beyond i32. Raises: TaichiTypeError for integers that fit neither
    the type nor i32, and for NaNs and infinities of integers.
    """
    for dtype, number in _numbers(element, value):
        if isinstance(number, float | np.floating):
            if not dtype.is_integral:
                if math.isfinite(number) and abs(number) > _largest(dtype):
                    warn_user(f"{owner!r} is filled with {dtype}, and {number!r} becomes infinite")
                continue
            if not math.isfinite(number):
                raise _refused(dtype, number, owner, "fill with an integer")
        elif not isinstance(number, int | np.integer):
            continue  # `pack` raises the error
        whole = int(number)
        if dtype.is_float:
            if abs(whole) > _largest(dtype):
                raise _refused(dtype, number, owner, "fill with `float('inf')`, or use a wider type")
        elif dtype.bits > 1 and dtype(whole) != whole:
            if i32(whole) != whole:
                raise _refused(dtype, number, owner, "use a wider type, or fill with a number that fits")
            if whole != -1:  # all bits
                warn_user(f"{owner!r} is filled with {dtype}: {whole} does not fit and wraps to {dtype(whole)}")


def _numbers(element: Type, value: Any) -> Iterator[tuple[Scalar, Any]]:
    """Yield the numbers that fill an element, each with its type; a number fills all of it."""
    if isinstance(element, Struct):
        for name, member in element.members:
            if not isinstance(value, (Value, dict)):
                yield from _numbers(member, value)
            elif name in (value.keys if isinstance(value, Value) else value):
                yield from _numbers(member, value[name])
    elif isinstance(element, Tensor):
        for number in np.array(unwrap(value), object).flat:
            yield element.element, number
    elif isinstance(element, Scalar):
        yield element, value


def _largest(dtype: Scalar) -> float:
    return float(np.finfo(dtype.numpy).max)


def _refused(dtype: Scalar, value: Any, owner: object, hint: str) -> Exception:
    return user_error(TaichiTypeError(f"{owner!r} is filled with {dtype}, and {_shown(value)} does not fit", hint))


def _shown(value: Any) -> str:
    if isinstance(value, int) and abs(value) >= 10**40:
        return f"an integer of {value.bit_length()} bits"
    return str(value)
