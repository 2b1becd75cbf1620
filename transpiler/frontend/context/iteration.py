"""Iteration at compile time: over ranges, ndranges, lists, vectors of known length."""

from __future__ import annotations

import ast
from itertools import product
from typing import Any

from ...errors import TaichiSyntaxError
from ...ir.nodes import Statement
from ...ir.types import Tensor
from ...lang.matrix import Matrix, Vector
from .context import Context
from .values import GroupedValue, Lvalue, NdrangeValue, RangeValue, describe_kind, is_runtime


def compile_time_items(context: Context, value: Any, node: ast.AST | None = None) -> list[Any]:
    """Return the items of a value of known length. node: location of errors, by default the current one.

    Raises: TaichiSyntaxError for anything else.
    """
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
    elements: list[Any] = context.python(list, value)
    return elements


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
