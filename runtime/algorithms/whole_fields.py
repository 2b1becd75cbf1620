"""Fills and copies of whole fields by kernels, where the elements are not next to each other.

In: a field, and an element or another field. Out: whether a kernel was launched. Python would fetch the memory of all
fields of a tree, change its part and send it back; a kernel has to be compiled, for each field. So the first fill or
copy of a field is Python's, and the others are a kernel's: programs that do it in each step gain, those that prepare
their data once lose nothing.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from ...transpiler.lang.matrix import wrap
from ..arrays.dense_array import DenseArray
from ..arrays.memory import Array
from ..arrays.split_memory import SplitMemory
from ..events import CALL_OBSERVERS
from ..fields.sparse_field_memory import CellMemory
from ..launch.instance import LAUNCH_OBSERVERS
from ..session import session as sessions
from . import kernels

_SEEN: WeakKeyDictionary[DenseArray, None] = WeakKeyDictionary()
"""Fields that were filled or copied to before."""


def fill(field: DenseArray, value: Array) -> bool:
    """Store an element in all elements of a field; return whether a kernel does it."""
    if not _is_for_kernel(field):
        return False
    kernels.fill_of(field.element)(field, value.item() if value.ndim == 0 else wrap(value))
    return True


def copy(field: Any, other: Any) -> bool:
    """Store the elements of another field of equal shape in those of a field; return whether a kernel does it."""
    is_same = other.element == field.element and other.session is field.session and other.offset == field.offset
    if not is_same or _is_sparse(field.memory) or not _is_for_kernel(field):
        return False
    kernels.copy_field(field, other)
    return True


def _is_sparse(memory: Any) -> bool:
    """Return whether a copy activates elements first, as those that no loop over the field reaches."""
    if isinstance(memory, SplitMemory):
        return any(_is_sparse(part.memory) for part in memory.parts.values())
    return isinstance(memory, CellMemory)


def _is_for_kernel(field: DenseArray) -> bool:
    """Return whether a field was written before, and nobody observes this: recordings, and tapes, which note it."""
    if LAUNCH_OBSERVERS or CALL_OBSERVERS or field.session is not sessions.CURRENT:
        return False
    if field not in _SEEN:
        _SEEN[field] = None
        return False
    return True
