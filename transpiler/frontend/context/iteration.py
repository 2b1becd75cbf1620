"""Iteration at compile time: over ranges, ndranges, lists, vectors of known length."""

from __future__ import annotations

import ast
from itertools import islice, product
from math import prod
from typing import Any

from ...errors import TaichiCompilationError, TaichiSyntaxError
from ...ir.nodes import Statement
from ...ir.types import Tensor
from ...lang.matrix import Matrix, Vector
from .context import Context
from .values import GroupedValue, Lvalue, NdrangeValue, RangeValue, describe_kind, is_runtime

MAX_ITEMS = 1 << 16
"""Items of one iteration at compile time: each makes statements of its own, of which compilers take a few thousand."""
MAX_ALL_ITEMS = 1 << 18
"""The same of all such iterations of a kernel, each counted as often as it is built: those of nested loops multiply."""


def compile_time_items(context: Context, value: Any, node: ast.AST | None = None) -> list[Any]:
    """Return the items of a value of known length. node: location of errors, by default the current one.

    Raises: TaichiSyntaxError for anything else, TaichiCompilationError for too many items.
    """
    _count(context, _length(value), node)
    if isinstance(value, GroupedValue):
        return [Vector(list(item)) for item in _product(context, value.inner, node)]
    if isinstance(value, NdrangeValue):
        items = _product(context, value, node)
        return [item[0] for item in items] if len(value.bounds) == 1 else list(items)
    if isinstance(value, Lvalue):
        value = context.values.lift(value)
    if isinstance(value, Statement) and isinstance(value.type, Tensor):
        return list(context.values.elements(value))
    if isinstance(value, (RangeValue, Statement)) or context.arrays.find(value) is not None:
        raise context.error(
            TaichiSyntaxError,
            f"Iteration at compile time needs a value known at compile time, found {_describe(value)}",
            "leave out `ti.static` to loop at run time",
            node,
        )
    if isinstance(value, Matrix):
        return list(value)
    if not hasattr(type(value), "__iter__"):
        raise context.error(
            TaichiSyntaxError, f"Cannot loop over {describe_kind(value)}", "give it a range, a list or an ndrange", node
        )
    elements: list[Any] = context.python(lambda: list(islice(value, MAX_ITEMS + 1)))
    if not hasattr(type(value), "__len__"):
        _count(context, len(elements), node)
    return elements


def _length(value: Any) -> int:
    """Return how many items a value has, 0 if that is known only once they are read."""
    if isinstance(value, GroupedValue):
        value = value.inner
    if isinstance(value, NdrangeValue):
        is_known = not any(is_runtime(bound) for pair in value.bounds for bound in pair)
        return prod(max(0, end - begin) for begin, end in value.bounds) if is_known else 0
    if isinstance(value, range):
        return max(0, -((value.start - value.stop) // value.step))  # `len` refuses more than 2^63
    return len(value) if isinstance(value, (list, tuple)) else 0


def _count(context: Context, items: int, node: ast.AST | None) -> None:
    """Raise if this iteration, or all iterations of the kernel together, have more items than a source can have."""
    context.items_built += items
    if items > MAX_ITEMS or context.items_built > MAX_ALL_ITEMS:
        is_one = items > MAX_ITEMS
        limit = MAX_ITEMS if is_one else MAX_ALL_ITEMS
        found = "This iteration at compile time has" if is_one else "Together, iterations at compile time have"
        raise context.error(
            TaichiCompilationError,
            f"{found} more than {limit:,} items, each of which makes code of its own",
            "loop at run time: leave out `ti.static`, and keep values in a field",
            node,
        )


def positional(context: Context, node: ast.Call) -> list[Any]:
    """Evaluate the positional arguments of a call; lvalues are not loaded."""
    arguments: list[Any] = []
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            arguments.extend(compile_time_items(context, context.value(argument.value), argument))
        else:
            arguments.append(context.evaluate(argument))
    return arguments


def _product(context: Context, value: Any, node: ast.AST | None) -> list[tuple[int, ...]]:
    if not isinstance(value, NdrangeValue) or any(is_runtime(bound) for pair in value.bounds for bound in pair):
        raise context.error(
            TaichiSyntaxError,
            "`ti.static` needs an ndrange whose bounds are known at compile time",
            "leave out `ti.static` to loop at run time",
            node,
        )
    return list(product(*(range(begin, end) for begin, end in value.bounds)))


def _describe(value: Any) -> str:
    return "a range with a bound known only at run time" if isinstance(value, RangeValue) else describe_kind(value)
