"""Fills and copies of fields by kernels, which are above the arrays: what launches them is registered here.

In: an array, and an element or another array. Out: whether a kernel does it, else it is the memory's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from .memory import Array, Memory


class _Kernels(Protocol):
    """The functions of `runtime/algorithms/whole_fields.py`."""

    def fill(self, field: Any, value: Array) -> bool: ...

    def copy(self, field: Any, other: Any) -> bool: ...


KERNELS: list[Callable[[], _Kernels]] = []
"""Loads them, if they are installed."""


def is_filled(array: Any, value: Array) -> bool:
    """Return whether a kernel stores an element in all elements of an array."""
    memory = array.memory
    by_host = memory.is_scattered or (isinstance(memory, Memory) and memory.is_filled_by_host(value))
    return bool(by_host and array.KIND == "field" and KERNELS and KERNELS[0]().fill(array, value))


def is_copied(array: Any, other: Any) -> bool:
    """Return whether a kernel copies another array of equal shape."""
    is_field = array.KIND == "field"  # and so is the other one
    return bool(array.memory.is_scattered and is_field and KERNELS and KERNELS[0]().copy(array, other))
