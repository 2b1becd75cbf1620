"""Callables of the running session, registered by the root package so that `lang` imports no runtime.

Input: callables of the runtime. Output: default number types, fields and ndarrays for code in Python scope.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from numbers import Integral
from typing import Any, NoReturn

import numpy as np

from ..ir.types import SCALAR_OF_NUMPY, SCALARS, QuantType, Scalar, f32, i32, u32
from ..lazy_dataclasses import dataclass


@dataclass(slots=True)
class Hooks:
    """Callables of the runtime; without a runtime the defaults are Taichi's and arrays cannot be created.

    Attributes:
        default_types: returns (default_fp, default_ip, default_up) of the session.
        make_field: takes (dtype, shape, **options); dtype is a Scalar or a vector or matrix type.
        make_ndarray: takes the same arguments.
    """

    default_types: Callable[[], tuple[Scalar, Scalar, Scalar]] = lambda: (f32, i32, u32)
    make_field: Callable[..., Any] | None = None
    make_ndarray: Callable[..., Any] | None = None


HOOKS = Hooks()


class Layout(Enum):
    """Memory layout of the parts of a field's elements: array of structs (AOS), or one array per part (SOA).

    Parts are the components of vectors and matrices, and the members of structs. NULL, Taichi's name for the layout of
    its ndarrays, is AOS.
    """

    AOS = 0
    SOA = 1
    NULL = 0  # noqa: PIE796 - Taichi has the name


class uint:  # noqa: N801 - complements Python's `int` and `float`
    """The session's default unsigned integer, as `int` names its default signed one."""


def scalar_of(dtype: Any) -> Scalar:
    """Return the number type that `dtype` names: a Scalar itself, Python's `float`, `int` and `bool`, or a NumPy type.

    Raises: ValueError if it is no number type.
    """
    if isinstance(dtype, Scalar):
        return dtype
    if dtype is float or dtype is int:
        return HOOKS.default_types()[0 if dtype is float else 1]
    if dtype is uint:
        return HOOKS.default_types()[2]
    if dtype is bool:
        return SCALARS["u1"]
    if isinstance(dtype, QuantType):
        raise ValueError(f"{dtype} is a type of fields in `ti.BitpackedFields` only; values have {dtype.compute}")
    try:
        return SCALAR_OF_NUMPY[np.dtype(dtype)]
    except (TypeError, KeyError):
        known = f"`ti.{dtype}`" if isinstance(dtype, str) and dtype in SCALARS else "`ti.f32` or `ti.i32`, for example"
        raise ValueError(f"Invalid data type {dtype}. Hint: write {known}") from None


def check_sizes(*sizes: object) -> None:
    """Check that sizes of vectors and matrices are numbers. Raises: TypeError, ValueError if one is not."""
    for size in sizes:
        hint = "Hint: sizes come before the number type, as in `ti.types.vector(3, ti.f32)`"
        if not isinstance(size, Integral):
            raise TypeError(f"The size of a vector or matrix is an integer, found {size!r}. {hint}")
        if size < 0:
            raise ValueError(f"The size of a vector or matrix is not negative, found {size}. {hint}")


def make_field(dtype: Any, shape: Any = None, **options: Any) -> Any:
    """Create a field in the runtime. Raises: RuntimeError if no runtime is loaded."""
    if HOOKS.make_field is None:
        raise RuntimeError("Fields need the runtime: `import shadesmith`, not only `shadesmith.transpiler`.")
    return HOOKS.make_field(dtype, shape, **options)


def make_ndarray(dtype: Any, shape: Any = None, **options: Any) -> Any:
    """Create an ndarray in the runtime. Raises: RuntimeError if no runtime is loaded."""
    if HOOKS.make_ndarray is None:
        raise RuntimeError("Ndarrays need the runtime: `import shadesmith`, not only `shadesmith.transpiler`.")
    return HOOKS.make_ndarray(dtype, shape, **options)


def kernel_only(name: str) -> NoReturn:
    """Raise: what a kernel alone can do was called by Python."""
    raise AssertionError(f"{name} cannot be called in Python-scope")
