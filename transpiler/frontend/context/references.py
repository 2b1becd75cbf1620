"""Finds the variables to which `ti.template()` parameters refer, so that a function can change its caller's variables.

A variable that seems to be constant is built as a value. If a function changes it through a parameter, at any depth,
the build starts again with memory for it: `swap(v[0], v[1])` refers to the vector `v` of the kernel.
"""

from __future__ import annotations

import ast

from ...errors import TaichiTypeError
from ...ir.nodes import Statement
from ...lang.decorators import BoundFunc, Func
from ..source.definition import KernelDefinition
from .context import NeedsMemory
from .scope import Frame


def references(
    definition: KernelDefinition, callee: Func | BoundFunc, node: ast.Call, outer: Frame
) -> dict[str, tuple[Frame, ast.expr]]:
    """Return, by parameter, the argument expression of a call and its frame, as far as the source shows them."""
    names = [parameter.name for parameter in definition.parameters]
    arguments: dict[str, tuple[Frame, ast.expr]] = {}
    if isinstance(callee, BoundFunc) and names:
        owner = names.pop(0)
        if isinstance(node.func, ast.Attribute):
            arguments[owner] = (outer, node.func.value)
    for name, argument in zip(names, node.args, strict=False):
        if isinstance(argument, ast.Starred):
            break
        arguments[name] = (outer, argument)
    arguments.update({keyword.arg: (outer, keyword.value) for keyword in node.keywords if keyword.arg is not None})
    return arguments


def need_memory(frame: Frame, target: ast.AST) -> None:
    """Restart the build with memory for the variable of `target`, if it is bound as a value.

    Raises: NeedsMemory for it, TaichiTypeError for a part of a tuple.
    """
    root = target
    while isinstance(root, (ast.Subscript, ast.Attribute)):
        root = root.value
    if not isinstance(root, ast.Name):
        return
    local = frame.find(root.id)
    if root is not target and local is not None and isinstance(local.value, tuple):
        message = "A part of a tuple cannot be changed"
        raise frame.location(target).error(TaichiTypeError, message, "keep it in a variable of its own, or use a list")
    need_memory_of(frame, root.id)


def need_memory_of(frame: Frame, name: str) -> None:
    """Restart the build with memory for the variable `name`, or for the caller's variable to which it refers."""
    local = frame.find(name)
    if local is None or local.is_loop_index or not isinstance(local.value, Statement):
        return
    if local.node is not None:
        raise NeedsMemory(local.node, frame)
    reference = frame.references.get(name)
    if reference is not None:
        need_memory(*reference)
