"""`ti.experimental`: functions that were experimental in Taichi."""

from __future__ import annotations

import warnings
from typing import Any

from ...transpiler.lang.decorators import Func
from ..launch import real_function

__all__ = ["real_func"]


def real_func(func: Any) -> Func:
    """Return `ti.real_func(func)`, with Taichi's warning that it has left this module."""
    warnings.warn(
        "ti.experimental.real_func is deprecated because it is no longer experimental. Use ti.real_func instead.",
        DeprecationWarning,
        stacklevel=2,
    )
    return real_function.real_func(func)
