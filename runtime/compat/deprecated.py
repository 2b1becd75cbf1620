"""Names of Taichi before 1.0 that old programs use: each works, and warns with its replacement."""

from __future__ import annotations

from typing import Any

from ...transpiler.errors import warn_user
from ..arrays.dense_array import DenseArray
from ..fields.field import field


def var(
    dt: Any, shape: Any = None, order: str | None = None, offset: Any = None, needs_grad: bool = False
) -> DenseArray:
    """Make a field of numbers: the old name of `ti.field`, with the old parameter `dt`.

    shape, order, offset, needs_grad: as for `ti.field`.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     ti.var(ti.f32, shape=3).shape
        (3,)
    """
    warn_user("ti.var is the old name of ti.field. Hint: write `ti.field(dtype=..., shape=...)`")
    return field(dt, shape, order=order, offset=offset, needs_grad=needs_grad)
