"""Constants as Python writes them, and local arrays of constants: numbers, or vectors of numbers."""

from __future__ import annotations

from .nodes import Statement
from .statements import Const, ListInit, MatrixInit


def number_text(const: Const) -> str:
    """Return a number as Python writes it."""
    has_notation = const.notation and type(const.value) is int and int(const.notation, 0) == const.value
    return const.notation if has_notation else repr(const.value)


def is_constant_array(value: Statement) -> bool:
    """Return whether a value is a local array of constants."""
    return isinstance(value, ListInit) and all(map(_is_constant, value.items))


def _is_constant(item: Statement) -> bool:
    if isinstance(item, MatrixInit):
        return all(isinstance(element, Const) for element in item.elements)
    return isinstance(item, Const)
