"""Local arrays whose items are known at compile time: numbers, or vectors of numbers."""

from __future__ import annotations

from .nodes import Statement
from .statements import Const, ListInit, MatrixInit


def is_constant_array(value: Statement) -> bool:
    """Return whether a value is a local array of constants."""
    return isinstance(value, ListInit) and all(map(_is_constant, value.items))


def _is_constant(item: Statement) -> bool:
    if isinstance(item, MatrixInit):
        return all(isinstance(element, Const) for element in item.elements)
    return isinstance(item, Const)
