"""The same program in another form, in which Taichi 1.7.4 does not have a defect that is known.

`unfolded`: integers that a compiler cannot fold, since an element that is zero is added to each literal. Taichi folds
operations on literals by other rules than those by which it computes them: `-7 // 6` is -1, u32 is taken for i32,
`568003359 ** 7` is -2147483648, by way of a double. It has no option that switches this off.

`flattened`: one node in place of nested ones, of the kind of the lowest. `ti.root.bitmasked(ti.ij, (2, 1)).dense(ti.ij,
(1, 7)).place(b)`, then `b[i - 2, j + 1] = 1` in a loop over `ti.ndrange((2, 4), (-1, 6))`, leaves elements that are 0 (an
extent of 7 below another node); of `ti.root.pointer(ti.ijk, (2, 1, 1)).pointer(ti.ijk, (1, 3, 3))` with all 18 cells active
a loop visits 10.
"""

from __future__ import annotations

import ast
import re
from math import prod
from typing import Any

ZERO = "zero_of_the_fuzzer"
STATIC = ("static", "loop_config", "zero", "one", "unit", "identity", "static_assert")
"""Functions whose arguments are known at compile time."""


class _Unfolder(ast.NodeTransformer):
    """Rewrites literals in the bodies of kernels and functions."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:  # noqa: N802
        node.body = [self.visit(statement) for statement in node.body]
        return node

    def visit_For(self, node: ast.For) -> ast.For:  # noqa: N802
        node.iter = self.visit(node.iter)  # range(ti.cast(-1, ti.i32) % 4)
        node.body = [self.visit(statement) for statement in node.body]
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:  # noqa: N802
        node.value = self.visit(node.value)  # b[ti.cast(-7, ti.i32) % 4, 3][0, 0]
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        new = [part if isinstance(part, ast.Constant) else self.visit(part) for part in parts]
        node.slice = ast.Tuple(new, ast.Load()) if isinstance(node.slice, ast.Tuple) else new[0]
        if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":  # of a field: a number of the kernel
            return _with_zero(node)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.Compare:  # noqa: N802
        node.left = self.visit(node.left)
        if not isinstance(node.ops[0], (ast.In, ast.NotIn)):  # numbers of a membership test
            node.comparators = [self.visit(value) for value in node.comparators]
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.BinOp:  # noqa: N802
        node.left = self.visit(node.left)
        if not isinstance(node.op, ast.Pow) or any(isinstance(part, ast.BinOp) for part in ast.walk(node.right)):
            node.right = self.visit(node.right)  # not of `x ** 0`, which is 1 for any x
        return node

    def visit_Call(self, node: ast.Call) -> ast.Call:  # noqa: N802
        if isinstance(node.func, ast.Attribute) and node.func.attr in STATIC:
            return node
        node.func = self.visit(node.func)
        parts = [part for argument in node.args for part in ast.walk(argument)]
        if ast.unparse(node.func) != "ti.ndrange" or any(isinstance(part, ast.Call) for part in parts):
            node.args = [self.visit(argument) for argument in node.args]
        node.keywords = [ast.keyword(k.arg, self.visit(k.value)) for k in node.keywords]
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:  # noqa: N802
        if ast.unparse(node) in ("self.k", "self.n"):  # numbers of an object
            return _with_zero(node)
        node.value = self.visit(node.value)
        return node

    def visit_Constant(self, node: ast.Constant) -> Any:  # noqa: N802
        if type(node.value) is not int or node.value > 2**31 - 1:
            return node
        return _with_zero(node)


def _with_zero(node: ast.expr) -> ast.expr:
    return ast.BinOp(node, ast.Add(), ast.parse(f"{ZERO}[None]", mode="eval").body)


def _is_compiled(decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Attribute) and decorator.attr in ("kernel", "func", "real_func")


LAYOUT = re.compile(r"ti\.root((?:\.\w+\((ti\.\w+), \([\d, ]+\)\)){2,})\.place")


def flattened(text: str) -> str:
    """Return a program in which fields of nested nodes with equal axes are below one node."""

    def one_node(match: re.Match[str]) -> str:
        axes = set(re.findall(r"\((ti\.\w+),", match[1]))
        shapes = [[int(n) for n in re.findall(r"\d+", shape)] for shape in re.findall(r", (\([\d, ]+\))\)", match[1])]
        if len(axes) > 1:
            return match[0]
        shape = tuple(prod(extents) for extents in zip(*shapes, strict=True))
        lowest = re.findall(r"\.(\w+)\(ti", match[1])[-1]  # of which cells a loop visits those that are active
        return f"ti.root.{lowest}({match[2]}, {shape}).place"

    return LAYOUT.sub(one_node, text)


def unfolded(text: str) -> str:
    """Return a program with the same results."""
    tree, unfolder = ast.parse(text), _Unfolder()
    for node in ast.walk(tree):  # methods too; what is outside of kernels, such as extents, is needed before any launch
        if isinstance(node, ast.FunctionDef) and any(_is_compiled(decorator) for decorator in node.decorator_list):
            unfolder.visit(node)
    after = 1 + max(k for k, node in enumerate(tree.body) if isinstance(node, (ast.Import, ast.ImportFrom)))
    tree.body.insert(after, ast.parse(f"{ZERO} = ti.field(ti.i32, shape=())").body[0])
    return ast.unparse(ast.fix_missing_locations(tree))
