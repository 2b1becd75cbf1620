"""Fields with memory of their own."""

from __future__ import annotations

from ..statements import Array
from ..types import Scalar


def is_alone(array: Array) -> bool:
    """Return whether an array is a field that no other array overlaps."""
    is_field = array.shape is not None and array.place is None and array.node is None
    return is_field and not array.is_shared and not array.may_alias


def is_plain_field(array: Array) -> bool:
    """Return whether an array is such a field, of numbers of 4 bytes or more."""
    return is_alone(array) and isinstance(array.element, Scalar) and array.element.size_bytes >= 4
