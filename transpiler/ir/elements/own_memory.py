"""Fields with memory of their own."""

from __future__ import annotations

from ..snodes import sparse_above
from ..statements import Array
from ..types import Scalar
from .tree_arrays import steps_to


def is_alone(array: Array) -> bool:
    """Return whether an array is a field that no other array overlaps."""
    is_field = array.shape is not None and array.place is None and array.node is None
    return is_field and not array.is_shared and not array.may_alias


def is_array_of_numbers(array: Array) -> bool:
    """Return whether an array is a field in a dense tree whose numbers, of 4 bytes or more, follow each other."""
    if array.place is None or array.packing is not None or array.words is not None or sparse_above(array.place):
        return False
    is_wide = isinstance(array.element, Scalar) and array.element.size_bytes >= 4
    return is_wide and steps_to(array.place)[-1][1] is None


def is_plain_field(array: Array) -> bool:
    """Return whether an array is such a field, of numbers of 4 bytes or more."""
    return is_alone(array) and isinstance(array.element, Scalar) and array.element.size_bytes >= 4
