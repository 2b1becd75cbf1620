"""NumPy arrays over memory of this process whose address is known."""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import c_char
from math import prod
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def view_address(address: int, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    """Return an array over memory of this process; the caller keeps the memory alive."""
    size_bytes = prod(shape) * dtype.itemsize
    if not size_bytes:
        return np.empty(shape, dtype)
    return np.frombuffer(memoryview((c_char * size_bytes).from_address(address)), dtype).reshape(shape)


def view_strided(
    address: int, dtype: np.dtype[Any], shape: tuple[int, ...], strides: Sequence[int], inner: tuple[int, ...] = ()
) -> Array:
    """Return a strided array whose first element is at `address`. strides: [bytes]; inner: an element's shape."""
    if not prod(shape):
        return np.empty(shape + inner, dtype)
    reach = [(extent - 1) * stride for extent, stride in zip(shape, strides, strict=True)]
    before = reach_below(shape, strides)
    size_bytes = before + sum(step for step in reach if step > 0) + dtype.itemsize * prod(inner)
    memory = view_address(address - before, np.dtype(np.uint8), (size_bytes,))
    dense = [dtype.itemsize * prod(inner[axis + 1 :]) for axis in range(len(inner))]
    found: Array = np.ndarray(shape + inner, dtype, memory.data, before, (*strides, *dense))
    return found


def reach_below(shape: Sequence[int], strides: Sequence[int]) -> int:
    """Return how far an array extends below its first element, in the unit of `strides`."""
    if 0 in shape:
        return 0
    return sum((1 - extent) * stride for extent, stride in zip(shape, strides, strict=True) if stride < 0)
