"""`return` of kernels and real functions, whose results have declared types. (Inlined functions return anything.)"""

from __future__ import annotations

import ast
from typing import Any, get_args, get_origin

from ...errors import TaichiSyntaxError, TaichiTypeError
from ...ir.nodes import Block, Statement
from ...ir.statements import ListInit, Return
from ...ir.types import Struct, Tensor, Type, describe_type
from ...lang.struct import Struct as StructInPython
from ..context.context import Context, NeedsInlining
from ..context.values import is_number
from ..source.definition import KernelDefinition


def return_types(context: Context, definition: KernelDefinition) -> list[Type]:
    """Return the types of the results that the annotation of a kernel or real function declares.

    Raises: TaichiSyntaxError if it is no type.
    """
    annotation = definition.returns
    if annotation is None:
        return []
    if get_origin(annotation) is tuple:
        annotation = get_args(annotation)
    listed = annotation if isinstance(annotation, (tuple, list)) else (annotation,)
    types = [context.values.type(item) for item in listed]
    known = [type for type in types if type is not None]
    if len(known) != len(types):
        what = "kernel" if definition is context.specialization.definition else "function"
        raise definition.parameter_location("return").error(
            TaichiSyntaxError,
            f"The return annotation {annotation!r} is not a type of a {what}",
            "write `-> ti.f32`, a vector type, or a tuple of types",
        )
    return known


def declared_return(context: Context, node: ast.Return) -> None:
    """Append a `return` with values of the declared types. Raises: TaichiSyntaxError, TaichiTypeError."""
    function = context.frame.function
    what = "kernel" if function is None else "function"
    types = context.kernel.returns if function is None else function.results
    if node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None):
        if types:
            raise context.error(
                TaichiSyntaxError,
                f"This {what} must return a value, found a plain `return`",
                f"write `return` and a value of type `{types[0]}`",
                node,
            )
        context.builder.add(Return([]))
        return
    _check_may_return(context, node, types, what)
    if isinstance(node.value, ast.List) and len(types) > 1:  # as a tuple
        value: Any = [context.evaluate(item) for item in node.value.elts]
    else:
        value = context.evaluate(node.value)
    if isinstance(node.value, (ast.Tuple, ast.List)):
        values = list(value) if len(types) > 1 else [value]
    else:
        values = list(value) if isinstance(value, tuple) and len(types) > 1 else [value]
    if len(values) != len(types):
        raise context.error(
            TaichiSyntaxError,
            f"This {what} returns {len(types)} values, found {len(values)}",
            "change the return annotation or the `return`",
            node,
        )
    if function is not None and not function.result_names:
        function.result_names = _result_names(node.value, len(types))
    returned = [_returned(context, v, t, node) for v, t in zip(values, types, strict=True)]
    context.builder.add(Return(returned))


def inferred_return(context: Context, returns: list[tuple[Block, Return]], value: Any, node: ast.Return) -> None:
    """Append a `return` of a function whose result types follow from its body; casts are inserted at its end.

    Raises: NeedsInlining if the value is known at compile time, or several `return`s do not fit together.
    """
    function = context.frame.function
    assert function is not None
    items = list(value) if isinstance(value, tuple) else [] if value is None else [value]
    is_single = context.builder.block is context.frame.entry and not returns
    if (is_single and not all(isinstance(item, Statement) for item in items)) or (
        isinstance(value, tuple) and not value
    ):
        raise NeedsInlining
    values = [context.values.lift(item) for item in items]
    if any(isinstance(item, ListInit) or item.type is None for item in values):
        raise NeedsInlining
    if returns and len(returns[0][1].values) != len(values):
        raise NeedsInlining
    is_tuple = isinstance(value, tuple)
    if returns and is_tuple != bool(function.result_names):
        raise NeedsInlining
    if is_tuple and not returns:
        assert node.value is not None
        function.result_names = _result_names(node.value, len(values))
    returns.append((context.builder.block, context.builder.add(Return(values))))


def _check_may_return(context: Context, node: ast.Return, types: list[Type], what: str) -> None:
    if not types:
        raise context.error(
            TaichiSyntaxError,
            f"A {what} with a return value must be annotated with a return type, e.g. def func() -> ti.f32",
            f"write `def {context.frame.definition.name}(...) -> ti.f32:`",
            node,
        )
    if any(record.is_parallel for record in context.nesting.loops):
        raise context.error(
            TaichiSyntaxError,
            "A `return` inside a parallel loop cannot have a value",
            "store the value in a field, or write `ti.loop_config(serialize=True)` before the loop",
            node,
        )


def _result_names(value: ast.expr, count: int) -> list[str]:
    """Return names of the results from the first `return`: its variables, or `value_0`, `value_1`, ..."""
    items: list[ast.expr | None] = list(value.elts) if isinstance(value, (ast.Tuple, ast.List)) else [None] * count
    return [item.id if isinstance(item, ast.Name) else f"value_{k}" for k, item in enumerate(items)]


def _returned(context: Context, value: Any, type: Type, node: ast.Return) -> Statement:
    value = context.loaded(value)
    if isinstance(type, Struct) and isinstance(value, (dict, StructInPython)):
        return context.values.fit(value, type)
    lifted = context.values.lift(value, node.value)
    if isinstance(type, Struct) and isinstance(lifted.type, Struct):
        return context.values.fit(lifted, type)
    if _shape(lifted.type) != _shape(type):
        raise context.error(
            TaichiTypeError,
            f"The return type is `{describe_type(type)}`, found `{describe_type(lifted.type)}`",
            "change the annotation or the value",
            node.value,
        )
    return context.values.fit(value if is_number(value) else lifted, type)


def _shape(type: Type | None) -> object:
    return type.shape if isinstance(type, Tensor) else type if isinstance(type, Struct) else ()
