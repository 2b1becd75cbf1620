"""Atomic operations on memory: what `ti.atomic_add` and the others are in Python scope, where each raises an error.

In a kernel the frontend finds the operation by the identity of the function object (`ATOMIC_OF`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ..errors import TaichiSyntaxError
from .operations import Function

ATOMIC_OF: dict[Callable[..., Any], str] = {}
"""Functions that are one operation of `ir.ops.ATOMIC_OPS`, with its name."""


def _atomic(function: Function) -> Function:
    ATOMIC_OF[function] = function.__name__.removeprefix("atomic_")
    return function


def _not_writable(name: str) -> NoReturn:
    raise TaichiSyntaxError(f"cannot use a non-writable target as the first operand of '{name}'")


@_atomic
def atomic_add(x: Any, y: Any) -> Any:
    """Add `y` to `x` in memory and return the old value; kernels only.

    Example:
        >>> x = ti.field(ti.i32, shape=())
        >>> x[None] = 6
        >>> @ti.kernel
        ... def example() -> ti.i32:
        ...     return ti.atomic_add(x[None], 5)
        >>> example(), x[None]
        (6, 11)
    """
    _not_writable("atomic_add")


@_atomic
def atomic_sub(x: Any, y: Any) -> Any:
    """Subtract `y` from `x` in memory and return the old value; kernels only.

    Example:
        >>> x = ti.field(ti.i32, shape=())
        >>> x[None] = 6
        >>> @ti.kernel
        ... def example() -> ti.i32:
        ...     return ti.atomic_sub(x[None], 5)
        >>> example(), x[None]
        (6, 1)
    """
    _not_writable("atomic_sub")


@_atomic
def atomic_mul(x: Any, y: Any) -> Any:
    """Multiply `x` in memory by `y` and return the old value; kernels only.

    Example:
        >>> x = ti.field(ti.i32, shape=())
        >>> x[None] = 6
        >>> @ti.kernel
        ... def example() -> ti.i32:
        ...     return ti.atomic_mul(x[None], 5)
        >>> example(), x[None]
        (6, 30)
    """
    _not_writable("atomic_mul")


@_atomic
def atomic_min(x: Any, y: Any) -> Any:
    """Store the lesser of `x` and `y` in `x` and return its old value; kernels only.

    Example:
        >>> x = ti.field(ti.i32, shape=())
        >>> x[None] = 6
        >>> @ti.kernel
        ... def example() -> ti.i32:
        ...     return ti.atomic_min(x[None], 5)
        >>> example(), x[None]
        (6, 5)
    """
    _not_writable("atomic_min")


@_atomic
def atomic_max(x: Any, y: Any) -> Any:
    """Store the greater of `x` and `y` in `x` and return its old value; kernels only.

    Example:
        >>> x = ti.field(ti.i32, shape=())
        >>> x[None] = 6
        >>> @ti.kernel
        ... def example() -> ti.i32:
        ...     return ti.atomic_max(x[None], 5)
        >>> example(), x[None]
        (6, 6)
    """
    _not_writable("atomic_max")


@_atomic
def atomic_and(x: Any, y: Any) -> Any:
    """Store the bitwise and of `x` and `y` in `x` and return its old value; kernels only.

    Example:
        >>> x = ti.field(ti.i32, shape=())
        >>> x[None] = 6
        >>> @ti.kernel
        ... def example() -> ti.i32:
        ...     return ti.atomic_and(x[None], 5)
        >>> example(), x[None]
        (6, 4)
    """
    _not_writable("atomic_and")


@_atomic
def atomic_or(x: Any, y: Any) -> Any:
    """Store the bitwise or of `x` and `y` in `x` and return its old value; kernels only.

    Example:
        >>> x = ti.field(ti.i32, shape=())
        >>> x[None] = 6
        >>> @ti.kernel
        ... def example() -> ti.i32:
        ...     return ti.atomic_or(x[None], 5)
        >>> example(), x[None]
        (6, 7)
    """
    _not_writable("atomic_or")


@_atomic
def atomic_xor(x: Any, y: Any) -> Any:
    """Store the bitwise exclusive or of `x` and `y` in `x` and return its old value; kernels only.

    Example:
        >>> x = ti.field(ti.i32, shape=())
        >>> x[None] = 6
        >>> @ti.kernel
        ... def example() -> ti.i32:
        ...     return ti.atomic_xor(x[None], 5)
        >>> example(), x[None]
        (6, 3)
    """
    _not_writable("atomic_xor")
