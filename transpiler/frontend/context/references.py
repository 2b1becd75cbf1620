"""Finds the variables to which `ti.template()` parameters refer, so that a function can change its caller's variables.

A variable that seems to be constant is built as a value. If a function changes it through a parameter, at any depth,
the build starts again with memory for it: `swap(v[0], v[1])` refers to the vector `v` of the kernel.
"""

from __future__ import annotations

import ast
import inspect

from ...ir.nodes import Statement
from ...lang.decorators import BoundFunc, Func
from ..source.definition import KernelDefinition
from .context import NeedsMemory
from .scope import Frame
from .values import Lvalue


def references(
    definition: KernelDefinition, callee: Func | BoundFunc, node: ast.Call, outer: Frame
) -> dict[str, tuple[Frame, ast.expr]]:
    """Return, by parameter, the argument expression of a call and its frame, as far as the source shows them."""
    names = [parameter.name for parameter in definition.parameters]
    rest = [p.name for p in definition.parameters if p.kind is inspect.Parameter.VAR_POSITIONAL]
    arguments: dict[str, tuple[Frame, ast.expr]] = {}
    if isinstance(callee, BoundFunc) and names:
        owner = names.pop(0)
        if isinstance(node.func, ast.Attribute):
            arguments[owner] = (outer, node.func.value)
    for position, (name, argument) in enumerate(zip(names, node.args, strict=False)):
        if name in rest:
            arguments[name] = (outer, ast.Tuple(node.args[position:]))
            break
        if isinstance(argument, ast.Starred):
            break
        arguments[name] = (outer, argument)
    arguments.update({keyword.arg: (outer, keyword.value) for keyword in node.keywords if keyword.arg is not None})
    return arguments


PASS_ON = frozenset({"static", "enumerate", "zip", "reversed", "list", "tuple"})
"""Functions whose results hold the variables of their arguments."""


def need_memory(frame: Frame, target: ast.AST) -> None:
    """Restart the build with memory for the variable of `target`, if it is bound as a value; for those of a list too.

    Raises: NeedsMemory for it.
    """
    root = target
    while isinstance(root, (ast.Subscript, ast.Attribute, ast.Starred)):
        root = root.value
    if not isinstance(root, ast.Name):
        for item in _held(root):
            need_memory(frame, item)
        return
    need_memory_of(frame, root.id)


def _held(node: ast.AST) -> list[ast.expr]:
    """Return the expressions whose variables an expression that gives a list holds."""
    if isinstance(node, (ast.List, ast.Tuple)):
        return node.elts
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    is_known = isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", None)) in PASS_ON
    return node.args if isinstance(node, ast.Call) and is_known else []


def is_view(frame: Frame, node: ast.expr) -> bool:
    """Return whether an expression names several elements of a vector or matrix that may change: `v.xy`, `m[0, :]`."""
    if isinstance(node, ast.Attribute):
        is_part = 2 <= len(node.attr) <= 4 and all(letter in "xyzwrgbastpq" for letter in node.attr)
    else:
        is_part = isinstance(node, ast.Subscript) and any(isinstance(part, ast.Slice) for part in ast.walk(node.slice))
    root: ast.expr = node
    while isinstance(root, (ast.Subscript, ast.Attribute)):
        root = root.value
    local = frame.find(root.id) if isinstance(root, ast.Name) else None
    return is_part and not (local is not None and isinstance(local.value, Statement))


def need_memory_of(frame: Frame, name: str) -> None:
    """Restart the build with memory for the variable `name`, or for the caller's variable to which it refers.

    Nothing happens if it has memory, or stands for what is no variable.
    """
    local = frame.find(name)
    if local is None or local.is_loop_index:
        return
    reference = frame.references.get(name)
    if local.node is None and reference is not None and not isinstance(local.value, Lvalue):
        need_memory(*reference)
    is_mutable = local.node in frame.definition.parsed.mutable
    if local.node is not None and not is_mutable and isinstance(local.value, (Statement, list, tuple)):
        raise NeedsMemory(local.node, frame)
