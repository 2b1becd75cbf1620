"""The contents of arrays: identity of their memory, copies, and what a kernel accesses of them.

In: arrays of ours, of NumPy and of torch. Out: `Region`s, which may overlap, and copies on the host.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...transpiler.errors import SourceLocation
from ..arrays.dense_array import DenseArray
from ..arrays.foreign import is_tensor
from ..arrays.memory import handle_of
from ..arrays.parts import Part, part_at
from ..launch.derivatives import named_arrays


@dataclass(frozen=True, slots=True)
class Region:
    """Elements of an array that a launch accesses.

    Two regions of one memory may have an element in common, unless they are of one array and an index differs.

    indices: by axis, None for all. location, name: of the statement, and of the array in it.
    key: the identity of the array's memory: equal for arrays that may overlap; None: it is found.
    """

    array: Any
    indices: tuple[int | None, ...]
    location: SourceLocation
    name: str = ""
    key: object = None

    def __post_init__(self) -> None:
        if self.key is None:
            object.__setattr__(self, "key", memory_key(self.array))

    @property
    def part(self) -> Part | None:
        """The part of the array: () for all of it, None if it has no such elements."""
        return part_at(self.array, self.indices) if any(index is not None for index in self.indices) else ()


def memory_key(array: Any) -> object:
    """Return what identifies the memory of an array: of a part of a field, that of the whole."""
    if isinstance(array, DenseArray):
        owner = getattr(array, "owner", None)
        return id(owner if owner is not None else array) if array.KIND == "field" else id(handle_of(array))
    if is_tensor(array):
        return array.untyped_storage().data_ptr()
    base = array
    while isinstance(base, np.ndarray) and isinstance(base.base, np.ndarray):
        base = base.base
    return id(base)


def copy_of(array: Any) -> Any:
    """Return a copy of the contents; of a part: `read_part`."""
    if isinstance(array, DenseArray):
        return np.array(array.memory.read_all())
    return array.detach().clone() if is_tensor(array) else np.array(array)


def write_back(array: Any, values: Any) -> None:
    """Set the contents to those of a copy."""
    if isinstance(array, DenseArray):
        array.memory.write_all(values)
    elif is_tensor(array):
        array.detach().copy_(values)
    else:
        array[...] = values


class Latest:
    """The values of arrays from before gradients ran with others, to restore them."""

    def __init__(self) -> None:
        self.values: dict[int, tuple[Any, Any]] = {}

    def keep(self, array: Any) -> None:
        """Keep the present values of an array, unless it has been kept before."""
        if id(array) not in self.values:
            self.values[id(array)] = array, copy_of(array)

    def restore(self) -> None:
        """Give all arrays that were kept their values again."""
        for array, values in self.values.values():
            write_back(array, values)


def evaluated(indices: Sequence[int | tuple[int, int] | None], args: Sequence[Any]) -> tuple[int | None, ...]:
    """Return the indices of a launch; those that depend on arguments get their values."""
    return tuple([int(args[index[0]]) + index[1] if isinstance(index, tuple) else index for index in indices])


def gradients_of_calls(calls: Iterable[Any]) -> list[Any]:
    """Return the gradients of all arrays that recorded launches of kernels use, each once."""
    found: dict[int, Any] = {}
    for record in calls:
        flat = record.function.arguments.flattened(record.args, record.kwargs)
        instance, _ = record.function.grad.launcher(flat)
        for array in named_arrays(instance, flat).values():
            gradient = getattr(array, "grad", None)
            if isinstance(gradient, DenseArray) and getattr(gradient, "is_placed", True):
                found[id(gradient)] = gradient
    return list(found.values())
