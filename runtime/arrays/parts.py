"""Parts of arrays: copies of the elements at a few indices, and writing them back, in time of the part.

In: an array of ours, of NumPy or of torch, and an index for some of its axes. Where the memory allows it, only the
part is read and written: host memory always, memory of a GPU if the part is contiguous in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .dense_array import DenseArray
from .foreign import is_tensor
from .memory import Array, Memory, bytes_of, part_of
from .split_memory import SplitMemory
from .suballocation import SuballocatedMemory

Part = tuple[int | slice, ...]
"""Positions and `slice(None)` for the first axes of an array, counted from 0."""


def part_at(array: Any, indices: Sequence[int | None]) -> Part | None:
    """Return the part of an array at indices of its axes, None for all; None if it has no such elements."""
    offset: Sequence[int] = getattr(array, "offset", ())
    part: list[int | slice] = []
    for axis, index in enumerate(indices):
        position = index if index is None or not offset else index - offset[axis]
        if position is not None and not 0 <= position < array.shape[axis]:
            return None
        part.append(slice(None) if position is None else position)
    return tuple(part)


def read_part(array: Any, part: Part) -> Any:
    """Return a copy of a part: a NumPy array, of a tensor a tensor."""
    if isinstance(array, DenseArray):
        return _read(array.memory, part)
    return array.detach()[part].clone() if is_tensor(array) else np.array(array[part])


def write_part(array: Any, part: Part, values: Any) -> None:
    """Set a part to what `read_part` returned."""
    if isinstance(array, DenseArray):
        _write(array.memory, part, values)
    elif is_tensor(array):
        array.detach()[part] = values
    else:
        array[part] = values


def _read(memory: Any, part: Part) -> Array:
    if _is_split(memory):
        values = memory.new(tuple(e for e, index in zip(memory.shape, part, strict=True) if isinstance(index, slice)))
        for step, field in memory.parts.items():
            part_of(values, step)[...] = _read(field.memory, part)
        return values  # type: ignore[no-any-return]
    if _is_seen(memory):
        memory.refresh_lazily()
        seen = _seen(memory, part)
        if not memory.mirrored:
            return np.array(seen)
        if seen.flags.c_contiguous:
            result = np.empty(seen.shape, seen.dtype)
            whole = _whole(memory)
            whole.read_bytes(_start(whole, seen), bytes_of(result))
            return result
    return np.array(memory.read_all()[part])


def _write(memory: Any, part: Part, values: Array) -> None:
    if _is_split(memory):
        for step, field in memory.parts.items():
            _write(field.memory, part, part_of(values, step))
        return
    if _is_seen(memory):
        memory.refresh_lazily()
        seen = _seen(memory, part)
        if not memory.mirrored:
            seen[...] = values
            return
        if seen.flags.c_contiguous:
            whole = _whole(memory)
            whole.write_bytes(_start(whole, seen), bytes_of(np.ascontiguousarray(values, seen.dtype)))
            return
    whole_values = memory.read_all()
    whole_values[part] = values
    memory.write_all(whole_values)


def _is_split(memory: Any) -> bool:
    """Return whether each part of a split field has memory of which parts are read alone."""
    return isinstance(memory, SplitMemory) and all(
        _is_seen(field.memory) or _is_split(field.memory) for field in memory.parts.values()
    )


def _is_seen(memory: Any) -> bool:
    """Return whether an element has its index as position in the view of the memory."""
    return isinstance(memory, Memory | SuballocatedMemory) and memory.locate is None


def _seen(memory: Any, part: Part) -> Array:
    """Return the part of the view, as a view, also of one element."""
    seen: Array = memory.view[part + (Ellipsis,)]  # noqa: RUF005 - mypy reads a star here as that of types
    return seen


def _whole(memory: Any) -> Memory:
    """Return the memory that owns the bytes."""
    return memory if isinstance(memory, Memory) else memory.whole


def _start(whole: Memory, seen: Array) -> int:
    """Return the position of a part of a mirror in the memory, in bytes."""
    return int(seen.ctypes.data - whole.view.ctypes.data) if seen.size else 0
