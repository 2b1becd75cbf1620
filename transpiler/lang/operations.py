"""The functions of `ti` and `ti.math` that are one operation of the op table: their implementation in Python scope.

In a kernel the frontend finds the operation by the identity of the function object (`OPERATION_OF`). In Python scope
they compute with NumPy as Taichi does, mostly by the meaning of the operation.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, TypeVar

import numpy as np

from ..ir.ops import OPS
from .hooks import scalar_of
from .matrix import elementwise

__all__ = [
    "abs", "acos", "acosh", "asin", "asinh", "atan2", "atanh", "ceil", "cos", "exp", "floor", "log", "max", "min",
    "pow", "round", "sin", "sqrt", "tan", "tanh",
]  # fmt: skip
"""Public names of `ti`, `ti.math` and `ti.lang.ops`, which import them from here."""

Function = TypeVar("Function", bound=Callable[..., Any])

OPERATION_OF: dict[Callable[..., Any], str] = {}
"""Functions that are one operation of `ir.ops.OPS`, with its name."""


def operation(name: str) -> Callable[[Function], Function]:
    """Register the decorated function as the operation `name`."""

    def register(function: Function) -> Function:
        OPERATION_OF[function] = OPS[name].name
        return function

    return register


def cast(obj: Any, dtype: Any) -> Any:
    """Return `obj`, a number, vector or matrix, as numbers of type `dtype`; floats truncate toward zero.

    Example:
        >>> ti.cast(-2.7, ti.i32)
        -2
    """
    scalar = scalar_of(dtype)
    return obj.cast(scalar) if hasattr(obj, "cast") else scalar(obj)


def _to(dtype: Any, value: Any) -> Any:
    return value if dtype is None else cast(value, dtype)


@operation("sin")
def sin(x: Any) -> Any:
    """Return the sine of `x`, an angle [rad].

    Example:
        >>> ti.sin(0.0)
        0.0
    """
    return elementwise(OPS["sin"].meaning, x)


@operation("cos")
def cos(x: Any) -> Any:
    """Return the cosine of `x`, an angle [rad].

    Example:
        >>> ti.cos(0.0)
        1.0
    """
    return elementwise(OPS["cos"].meaning, x)


@operation("tan")
def tan(x: Any) -> Any:
    """Return the tangent of `x`, an angle [rad].

    Example:
        >>> ti.tan(0.0)
        0.0
    """
    return elementwise(OPS["tan"].meaning, x)


@operation("asin")
def asin(x: Any) -> Any:
    """Return the angle [rad] in [-pi/2, pi/2] whose sine is `x`.

    Example:
        >>> ti.asin(0.0)
        0.0
    """
    return elementwise(OPS["asin"].meaning, x)


@operation("acos")
def acos(x: Any) -> Any:
    """Return the angle [rad] in [0, pi] whose cosine is `x`.

    Example:
        >>> ti.acos(1.0)
        0.0
    """
    return elementwise(OPS["acos"].meaning, x)


@operation("atan2")
def atan2(x1: Any, x2: Any) -> Any:
    """Return the angle [rad] of the point with ordinate `x1` and abscissa `x2`.

    Example:
        >>> ti.atan2(0.0, 1.0)
        0.0
    """
    return elementwise(OPS["atan2"].meaning, x1, x2)


@operation("tanh")
def tanh(x: Any) -> Any:
    """Return the hyperbolic tangent of `x`.

    Example:
        >>> ti.tanh(0.0)
        0.0
    """
    return elementwise(OPS["tanh"].meaning, x)


@operation("asinh")
def asinh(x: Any) -> Any:
    """Return the number whose hyperbolic sine is `x`.

    Example:
        >>> ti.asinh(0.0)
        0.0
    """
    return elementwise(OPS["asinh"].meaning, x)


@operation("acosh")
def acosh(x: Any) -> Any:
    """Return the number from 0 on whose hyperbolic cosine is `x`; not a number where `x` is below 1.

    Example:
        >>> ti.acosh(1.0)
        0.0
    """
    return elementwise(OPS["acosh"].meaning, x)


@operation("atanh")
def atanh(x: Any) -> Any:
    """Return the number whose hyperbolic tangent is `x`; not a number beyond -1 and 1.

    Example:
        >>> ti.atanh(0.0)
        0.0
    """
    return elementwise(OPS["atanh"].meaning, x)


@operation("exp")
def exp(x: Any) -> Any:
    """Return e to the power `x`.

    Example:
        >>> ti.exp(0.0)
        1.0
    """
    return elementwise(OPS["exp"].meaning, x)


@operation("log")
def log(x: Any) -> Any:
    """Return the natural logarithm of `x`; not a number below 0.

    Example:
        >>> ti.log(1.0)
        0.0
    """
    return elementwise(OPS["log"].meaning, x)


@operation("sqrt")
def sqrt(x: Any) -> Any:
    """Return the square root of `x`; not a number below 0.

    Example:
        >>> ti.sqrt(9.0)
        3.0
    """
    return elementwise(OPS["sqrt"].meaning, x)


@operation("floor")
def floor(x: Any, dtype: Any = None) -> Any:
    """Return the greatest whole number not above `x`, cast to `dtype` if given.

    Example:
        >>> ti.floor(-1.2), ti.floor(-1.2, ti.i32)
        (-2.0, -2)
    """
    return _to(dtype, elementwise(np.floor, x))


@operation("ceil")
def ceil(x: Any, dtype: Any = None) -> Any:
    """Return the least whole number not below `x`, cast to `dtype` if given.

    Example:
        >>> ti.ceil(1.2), ti.ceil(1.2, ti.i32)
        (2.0, 2)
    """
    return _to(dtype, elementwise(np.ceil, x))


@operation("round")
def round(x: Any, dtype: Any = None) -> Any:  # noqa: A001 - Taichi's public name
    """Return the whole number nearest to `x`, ties to even, cast to `dtype` if given.

    Example:
        >>> ti.round(2.5), ti.round(3.5, ti.i32)
        (2.0, 4)
    """
    return _to(dtype, elementwise(np.round, x))


@operation("abs")
def abs(x: Any) -> Any:  # noqa: A001 - Taichi's public name
    """Return the absolute value of `x`, a number, vector or matrix.

    Example:
        >>> ti.abs(-2.5)
        2.5
    """
    return x.__abs__()


@operation("min")
def min(*args: Any) -> Any:  # noqa: A001 - Taichi's public name
    """Return the least of one or more numbers `args`, by elements for vectors and matrices.

    Example:
        >>> ti.min(1, 3, 2)
        1
    """
    assert args, "min takes one argument or more"
    return reduce(lambda a, b: elementwise(np.minimum, a, b), args)


@operation("max")
def max(*args: Any) -> Any:  # noqa: A001 - Taichi's public name
    """Return the greatest of one or more numbers `args`, by elements for vectors and matrices.

    Example:
        >>> ti.max(1, 3, 2)
        3
        >>> ti.max(ti.Vector([1, 5]), 3)
        [3 5]
    """
    assert args, "max takes one argument or more"
    return reduce(lambda a, b: elementwise(np.maximum, a, b), args)


@operation("pow")
def pow(base: Any, exponent: Any) -> Any:  # noqa: A001 - Taichi's public name
    """Return `base` to the power `exponent`.

    Example:
        >>> ti.pow(2, 10)
        1024
    """
    return base**exponent
