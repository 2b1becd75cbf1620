"""Python's lists of run-time values, indexed by the number of a static loop: they become local arrays.

w = [a, b, c]                          vec3 w[3] = {a, b, c};
for i in ti.static(range(3)):    ->    for (int i = 0; i < 3; i++)
    s += w[i]                              s += w[i];
"""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from ...errors import SourceLocation
from ...ir.nodes import Block, Statement
from ...ir.types import i32
from ...lang.matrix import Matrix
from ...lazy_dataclasses import dataclass
from .context import Context
from .per_iteration import PerIteration, are_vectors, contains_per_iteration, each


@dataclass(eq=False, slots=True)
class OwnList:
    """A list of run-time values with a name.

    Attributes:
        items: the values.
        name: of the variable.
        location: of the declaration.
        block: where it is declared.
        last: the last statement before the declaration.
        array: the local array, once one is needed.
    """

    items: list[Any]
    name: str
    location: SourceLocation
    block: Block
    last: Statement | None
    array: Statement | None = None


def item_of_list(context: Context, base: Any, index: Any, node: ast.Subscript) -> Any:
    """Return `base[index]` of a value known at compile time, where both may differ between iterations."""
    numbers = contains_per_iteration(base, index)
    assert numbers is not None
    name = base.name if isinstance(base, PerIteration) else _name_of(node.value)
    if isinstance(base, list) and isinstance(index, PerIteration) and id(base) in context.lists:
        return _item_of_own(context, context.lists[id(base)], index)
    if isinstance(base, (list, tuple, np.ndarray, Matrix, PerIteration)):
        indices = index if isinstance(index, tuple) else (index,)
        item = each("", lambda owner, *at: owner[at if isinstance(index, tuple) else at[0]], base, *indices)
        if isinstance(base, PerIteration) and isinstance(index, PerIteration) and base.statement is not None:
            item.form = ("element", base.statement, index)
        if isinstance(base, PerIteration) and isinstance(index, int) and are_vectors(base):
            item.form = ("component", base, index)
        item.name = "_".join([name, *(str(at) for at in indices if isinstance(at, int))]) if name else ""
        return item
    return numbers.needs_one()


def _name_of(node: ast.expr) -> str:
    """Return the name of a list or of an attribute, "" for other expressions."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _item_of_own(context: Context, own: OwnList, index: PerIteration) -> Statement:
    """Return an item of a local array, which is declared where the list is."""
    items = own.items
    types = {item.type if isinstance(item, Statement) else None for item in items}
    in_range = all(isinstance(k, (int, np.integer)) and 0 <= k < len(items) for k in index.present)
    if not in_range or len(types) != 1 or None in types:
        index.needs_one()
    if own.array is None:
        _declare(context, own)
    position = context.builder.cast(context.numbers.statement(index), i32)
    assert own.array is not None
    return context.numbers.item(own.array, position)


def _declare(context: Context, own: OwnList) -> None:
    """Insert the local array behind the declaration of the list."""
    outer, context.builder.location = context.builder.location, own.location
    with context.builder.into(Block()):
        own.array = context.numbers.list(own.items, own.name)
    context.builder.location = outer
    position = 0 if own.last is None else own.block.statements.index(own.last) + 1
    own.block.statements.insert(position, own.array)
    for k, item in enumerate(own.items):
        if item.name == f"{own.name}_{k}":
            item.name = None  # the array has the name
