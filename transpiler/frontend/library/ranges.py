"""What loops run over, as values: `ti.ndrange(...)` and `ti.grouped(...)`."""

from __future__ import annotations

from typing import Any

from ...errors import TaichiSyntaxError, TaichiTypeError
from ...ir.nodes import Statement
from ...ir.textures import Texture
from ...ir.types import Scalar
from ..context.context import Context
from ..context.values import GroupedValue, NdrangeValue, describe_kind, is_number, is_runtime


def ndrange(context: Context, *limits: Any) -> NdrangeValue:
    """Return `ti.ndrange(...)`: bounds are integers or pairs; an axis that ends before it starts is empty."""
    bounds = []
    for limit in limits:
        if isinstance(limit, (list, tuple)):
            if len(limit) != 2:
                raise context.error(
                    TaichiSyntaxError,
                    "Every argument of ndrange should be a scalar or a tuple/list like (begin, end)",
                    "write `(begin, end)`",
                )
            begin, end = (context.loaded(item) for item in limit)
        else:
            begin, end = 0, limit
        for bound in (begin, end):
            _check_ndrange_bound(context, bound)
        if not is_runtime(begin) and not is_runtime(end):
            end = max(begin, end)
        bounds.append((begin, end))
    return NdrangeValue(tuple(bounds))


def _check_ndrange_bound(context: Context, bound: Any) -> None:
    is_integer = is_number(bound) and not isinstance(bound, float)
    if isinstance(bound, Statement) and isinstance(bound.type, Scalar) and not bound.type.is_float:
        is_integer = True
    if not is_integer:
        raise context.error(
            TaichiTypeError,
            "Every argument of ndrange should be an integer scalar or a tuple/list of (int, int), "
            f"found {describe_kind(bound)}",
            "write `ti.cast(x, ti.i32)`",
        )


def grouped(context: Context, x: Any) -> GroupedValue:
    """Return `ti.grouped(x)`: a loop over `x` whose index is one vector."""
    if hasattr(type(x), "describe_domain"):
        return GroupedValue(context.arrays.cells_of(x))
    array = context.arrays.find(x)
    if array is None and not isinstance(x, (NdrangeValue, Texture)):
        raise context.error(
            TaichiTypeError,
            f"`ti.grouped` takes an array or an ndrange, found {describe_kind(x)}",
            "leave out `ti.grouped`",
        )
    return GroupedValue(x)
