"""Finds writes to by-value parameters that nothing reads: the author probably meant to change the caller's variable.

    def double(a):          `a` is a copy, and no later line reads it
        a *= 2

Input: the syntax tree of a function. Output: the last such write to each parameter.
"""

from __future__ import annotations

import ast

Position = tuple[int, int]


def unread_parameter_writes(tree: ast.FunctionDef) -> dict[str, ast.stmt]:
    """Return the last write to each parameter whose new value no later expression reads."""
    arguments = tree.args
    names = {argument.arg for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    changes, targets = _changes(tree, names)
    reads = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and id(node) not in targets
    ]
    loops = [node for node in ast.walk(tree) if isinstance(node, (ast.For, ast.While))]
    return {
        name: statement
        for name, statement in changes.items()
        if not any(read.id == name and _sees(read, statement, loops) for read in reads)
    }


def _changes(tree: ast.FunctionDef, names: set[str]) -> tuple[dict[str, ast.stmt], set[int]]:
    """Return the last statement that writes each name, and the ids of the names in targets."""
    changes: dict[str, ast.stmt] = {}
    targets: set[int] = set()
    for node in ast.walk(tree):
        if not isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
            continue
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            for root in _roots(target):
                targets.add(id(root))
                last = changes.get(root.id)
                if root.id in names and (last is None or _start(last) < _start(node)):
                    changes[root.id] = node
    return changes, targets


def _roots(target: ast.expr) -> list[ast.Name]:
    """Return the variables that an assignment writes: `v` of `v[0].x`, both names of `a, b`."""
    if isinstance(target, (ast.Tuple, ast.List)):
        return [root for element in target.elts for root in _roots(element)]
    while isinstance(target, (ast.Subscript, ast.Attribute, ast.Starred)):
        target = target.value
    return [target] if isinstance(target, ast.Name) else []


def _sees(read: ast.Name, change: ast.stmt, loops: list[ast.For | ast.While]) -> bool:
    """Return whether an expression may run after a write: it follows it, or both are in one loop."""
    if _start(read) >= _end(change):
        return True
    return any(_holds(loop, read) and _holds(loop, change) for loop in loops)


def _holds(loop: ast.stmt, node: ast.expr | ast.stmt) -> bool:
    return _start(loop) <= _start(node) and _end(node) <= _end(loop)


def _start(node: ast.expr | ast.stmt) -> Position:
    return node.lineno, node.col_offset


def _end(node: ast.expr | ast.stmt) -> Position:
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
