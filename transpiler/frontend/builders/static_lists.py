"""Static loops over lists of numbers that stay loops: the list becomes a constant array, the loop counts its items.

    for di, dj in ti.static(NEIGHBOURS):         const int di[4] = {0, 0, -1, 1}, dj[4] = {-1, 1, 0, 0};
        total += u[i + di, j + dj]         ->    for (int k = 0; k < 4; k++)
                                                     total += u(i + di[k], j + dj[k]);

In: the value of `ti.static(...)`. Out: the items and the index of the loop. Integers at equal distances are a range.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...lang.describe import is_described
from ...lang.matrix import Matrix
from ...lazy_dataclasses import dataclass
from ..context.context import Context
from ..context.per_iteration import PerIteration, each
from ..context.values import matrix_rows
from ..source.named_numbers import origin_in, plain

LETTERS = "kmnlhgrst"
"""Names of an index that Python has none for: the first one that the function does not use."""
HEAD = 2
"""Lines of a loop besides its body."""


@dataclass(frozen=True, slots=True)
class StaticList:
    """The items of a list of numbers, of vectors, or of tuples of numbers.

    name: of the list in Python, "" if it has none. index: of the loop over its items.
    """

    items: list[Any]
    name: str
    index: str

    def bind(self, target: ast.expr, index: PerIteration) -> list[PerIteration]:
        """Return the values for the names of the target in each iteration."""
        items = self.items
        if isinstance(target, ast.Name):
            item: PerIteration = each("", lambda k: items[k], index)
            item.name = self.name or target.id
            return [item]
        assert isinstance(target, (ast.Tuple, ast.List))
        found = []
        for position, name in enumerate(target.elts):
            assert isinstance(name, ast.Name)
            part: PerIteration = each("", lambda k, position=position: items[k][position], index)
            part.name = name.id
            found.append(part)
        return found


def as_range(value: Any, target: ast.expr) -> range | None:
    """Return a list of integers at equal distances as a range, None for others."""
    if not isinstance(value, (list, tuple)) or len(value) < 2 or not isinstance(target, ast.Name):
        return None
    if not all(type(number) is int for number in value):
        return None
    step = value[1] - value[0]
    if step == 0 or any(b - a != step for a, b in zip(value, value[1:])):
        return None
    return range(value[0], value[-1] + (1 if step > 0 else -1), step)


def static_list(context: Context, node: ast.For, value: Any) -> StaticList | None:
    """Return the items over which a loop may run as a loop; None if its copies are shorter, or the items no numbers."""
    if not isinstance(value, (list, tuple)) or len(value) < 2:
        return None
    rows = [_numbers(item) for item in value]
    first = rows[0]
    if first is None or not first or any(row is None or len(row) != len(first) for row in rows):
        return None
    if len({type(item) for item in value}) > 1 and not all(isinstance(item, (int, float)) for item in value):
        return None
    columns = list(zip(*(row for row in rows if row is not None), strict=True))
    if any({type(number) for number in column} not in ({int}, {float}) for column in columns):
        return None
    is_vector = isinstance(value[0], Matrix)
    if is_vector and len({type(number) for column in columns for number in column}) > 1:
        return None
    if not _fits_target(node.target, value[0], len(first)):
        return None
    body = sum(isinstance(inner, ast.stmt) for statement in node.body for inner in ast.walk(statement))
    if body * (len(value) - 1) <= HEAD + (1 if is_vector else len(first)):
        return None
    tree = context.frame.definition.parsed.tree
    used = {inner.id for inner in ast.walk(tree) if isinstance(inner, ast.Name)}
    used |= {name for loop in context.static_loops for name in loop.loop.names}
    index = next((letter for letter in LETTERS if letter not in used), "")
    return StaticList(list(value), _name_of(node.iter), index) if index else None


def name_items(context: Context, node: ast.For, items: Sequence[Any]) -> None:
    """Name the arrays of a list from outside the kernel after it: `fields_0` of `for f in ti.static(fields)`."""
    name = _name_of(node.iter)
    if name and context.frame.find(name) is None:
        for position, item in enumerate(items):
            if is_described(item):
                context.dependencies.items.setdefault(id(item), f"{name}_{position}")


def _numbers(item: Any) -> Sequence[Any] | None:
    """Return the numbers of an item; None if it has others, or such as have names in Python."""
    if isinstance(item, Matrix):
        numbers = matrix_rows(item) if item.entries.ndim == 1 else []
    else:
        numbers = item if isinstance(item, (list, tuple)) else [item]
    is_plain = all(
        isinstance(n, (int, float, np.integer, np.floating)) and not isinstance(n, bool) and origin_in(n) is None
        for n in numbers
    )
    if not is_plain:
        return None
    return [n.item() if isinstance(n, np.generic) else n for n in map(plain, numbers)]


def _fits_target(target: ast.expr, item: Any, length: int) -> bool:
    """Return whether the names of the target are one, or as many as the numbers of a tuple."""
    if isinstance(target, ast.Name):
        return True
    names = target.elts if isinstance(target, (ast.Tuple, ast.List)) else []
    is_flat = len(names) == length and all(isinstance(name, ast.Name) for name in names)
    return isinstance(item, (list, tuple)) and is_flat


def _name_of(node: ast.expr) -> str:
    """Return the name of the list in `ti.static(offsets)` or `ti.static(self.offsets)`."""
    inner = node.args[0] if isinstance(node, ast.Call) and len(node.args) == 1 else node
    return inner.id if isinstance(inner, ast.Name) else inner.attr if isinstance(inner, ast.Attribute) else ""
