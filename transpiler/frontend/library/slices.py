"""Parts of vectors and matrices: `v[1:3]`, `m[:, 0]`, read as new values and assigned element by element."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from ...errors import TaichiIndexError, TaichiSyntaxError, TaichiTypeError
from ...ir.nodes import Statement
from ...ir.statements import Const, GlobalPtr, base_pointer
from ...ir.types import Scalar, Tensor, describe_type, i32
from ..context.context import Context
from ..context.per_iteration import ArgumentNumber, PerIteration
from ..context.values import Lvalue, Swizzle, is_runtime


def has_slice(node: ast.expr) -> bool:
    """Return whether an index in brackets contains a slice."""
    if isinstance(node, ast.Tuple):
        return any(isinstance(item, ast.Slice) for item in node.elts)
    return isinstance(node, ast.Slice)


def index_statement(context: Context, item: Any, node: ast.AST | None = None) -> Statement:
    """Return an index as an i32. Raises: TaichiTypeError for floats."""
    if isinstance(item, Statement) and item.type is i32:
        return item
    lifted = context.values.operand(item, node)
    type = lifted.type
    if not isinstance(type, Scalar) or type.is_float:
        raise context.error(
            TaichiTypeError,
            f"indices must be integers, however '{type}' is provided",
            "write `ti.cast(x, ti.i32)` or `int(x)`",
            node,
        )
    return context.builder.cast(lifted, i32)


def check_bounds(
    context: Context, item: Any, extent: int | None, node: ast.AST | None, what: str, size: str, begin: int = 0
) -> None:
    """Raise for a constant index out of range. size: the extent in a program. begin: the least one."""
    if isinstance(item, PerIteration):
        last = extent + begin if extent is not None else None
        least = begin if extent is not None else 0
        if isinstance(item, ArgumentNumber):
            item.limit(least, last)
            return
        if not all(
            isinstance(k, (int, np.integer)) and least <= k and (last is None or k < last) for k in item.present
        ):
            item.needs_one()
        return
    value = int(item) if isinstance(item, int) else None
    if value is None:
        return
    if begin and extent is not None and not begin <= value < begin + extent:
        message = f"Index {value} of {what} is out of range [{begin}, {begin + extent})"
        raise context.error(TaichiIndexError, message, f"its offset is {begin}", node)
    if value < 0 and not begin:
        raise context.error(
            TaichiIndexError,
            f"Index {value} of {what} is negative",
            f"indices count from the start; the last element is `{size} - 1`",
            node,
        )
    if extent is not None and value >= begin + extent:
        message = f"Index {value} of {what} is out of range [0, {extent})"
        raise context.error(TaichiIndexError, message, f"the last index is {extent - 1}", node)


def _parts(
    context: Context, owner: Lvalue | Statement, type: Tensor, node: ast.Subscript
) -> tuple[tuple[tuple[Any, ...], ...], tuple[int, ...]]:
    """Return the indices of each chosen element (ints or statements), row by row, and the shape they form."""
    nodes = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if len(nodes) != len(type.shape):
        message = f"`{describe_type(type)}` takes {len(type.shape)} indices or slices, found {len(nodes)}"
        raise context.error(TaichiIndexError, message, "write `:` for all", node)
    chosen = [_along(context, part, extent) for part, extent in zip(nodes, type.shape, strict=True)]
    shape = tuple(len(part) for part in chosen if isinstance(part, range))
    fixed = clamped_indices(context, owner, [_first(context, part) for part in chosen])
    axes = [part if isinstance(part, range) else [index] for part, index in zip(chosen, fixed, strict=True)]
    if len(axes) == 1:
        return tuple((i,) for i in axes[0]), shape
    return tuple((i, j) for i in axes[0] for j in axes[1]), shape


def _first(context: Context, part: range | Statement) -> Statement:
    return context.builder.const(part[0]) if isinstance(part, range) else part


def _along(context: Context, part: ast.expr, extent: int) -> range | Statement:
    """Return the selection along one axis: the positions of a slice, or one index."""
    if not isinstance(part, ast.Slice):
        index = context.value(part)
        check_bounds(context, index, extent, part, f"an axis of {extent}", str(extent))
        return index_statement(context, index, part)
    positions: range = context.python(lambda: range(extent)[slice_of(context, part)])
    if not positions:
        raise context.error(TaichiIndexError, f"This slice of {extent} elements is empty", "choose some", part)
    return positions


def slice_of(context: Context, node: ast.Slice) -> slice:
    """Return a slice of Python. Raises: TaichiSyntaxError if a bound is known at run time only."""
    limits = [None if limit is None else context.value(limit) for limit in (node.lower, node.upper, node.step)]
    if any(is_runtime(limit) for limit in limits):
        raise context.error(
            TaichiSyntaxError, "The bounds of a slice must be known at compile time", "write numbers", node
        )
    return slice(*limits)


def clamped_indices(context: Context, base: Lvalue | Statement, indices: list[Statement]) -> list[Statement]:
    """Return the indices of an element of `base`; those known at run time are clamped if its array clamps indices."""
    pointer = base_pointer(base.pointer) if isinstance(base, Lvalue) else None
    if not isinstance(pointer, GlobalPtr) or not pointer.array.clamped or not isinstance(base.type, Tensor):
        return indices
    build, clamped = context.builder, []
    for index, extent in zip(indices, base.type.shape, strict=True):
        if not isinstance(index, Const):
            index = build.op("min", build.op("max", index, build.const(0)), build.const(extent - 1))
        clamped.append(index)
    return clamped


def index_statements(context: Context, indices: tuple[Any, ...]) -> list[Statement]:
    """Return the indices of an element as statements."""
    return [context.builder.const(index) if isinstance(index, int) else index for index in indices]


def read_slice(context: Context, owner: Lvalue | Statement, node: ast.Subscript) -> Statement:
    """Return a part of a tensor as a vector or matrix."""
    base, type = context.values.lift(owner), owner.type
    assert isinstance(type, Tensor)
    elements, shape = _parts(context, owner, type, node)
    return context.builder.tensor(
        [context.builder.element(base, index_statements(context, indices)) for indices in elements], shape, type.element
    )


def slice_of_lvalue(context: Context, lvalue: Lvalue, node: ast.Subscript) -> Swizzle:
    """Return the elements of a slice on the left side."""
    assert isinstance(lvalue.type, Tensor)
    return Swizzle(lvalue, *_parts(context, lvalue, lvalue.type, node))
