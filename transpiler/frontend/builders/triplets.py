"""Augmented assignments; `A[i, j] += v` on the builder of a sparse matrix appends a triplet."""

from __future__ import annotations

import ast

from ...errors import TaichiSyntaxError
from ...lang.triplets import MEMBERS, add_triplet
from ..context.context import Context, statement
from ..context.values import Pack
from ..library.operators import UNARY, unary
from .assignment import build_augmented
from .function_calls import call_function


@statement(ast.AugAssign)
def build_augmented_assignment(context: Context, node: ast.AugAssign) -> None:
    """`a += value`."""
    builder = _builder_of(context, node.target)
    if builder is None:
        build_augmented(context, node)
        return
    assert isinstance(node.target, ast.Subscript)
    indices = context.value(node.target.slice)
    if not isinstance(indices, tuple | list) or len(indices) != 2 or not isinstance(node.op, ast.Add | ast.Sub):
        message = "The builder of a sparse matrix takes entries by row and column"
        raise context.error(TaichiSyntaxError, message, "write `A[i, j] += value` or `A[i, j] -= value`", node)
    value = context.value(node.value)
    if isinstance(node.op, ast.Sub):
        value = unary(context, UNARY[ast.USub], value) if not isinstance(value, int | float) else -value
    words: list[ast.expr] = [
        ast.copy_location(ast.Name(name, ast.Load()), node.target) for name in (*MEMBERS, "i", "j", "entry")
    ]
    call = ast.Call(ast.copy_location(ast.Name("add_triplet", ast.Load()), node.target), words, [])
    arrays = [getattr(builder, name) for name in MEMBERS]
    call_function(context, add_triplet, [*arrays, *indices, value], {}, ast.copy_location(call, node))


def _builder_of(context: Context, target: ast.expr) -> Pack | None:
    if not isinstance(target, ast.Subscript) or not isinstance(target.value, (ast.Name, ast.Attribute)):
        return None
    if isinstance(target.value, ast.Name):
        local = context.frame.find(target.value.id)
        value = local.value if local is not None else None
    else:
        value = context.evaluate(target.value)
    return value if isinstance(value, Pack) and all(name in vars(value) for name in MEMBERS) else None
