"""The memory of a split field: the operations of `Memory`, done separately for each part.

In: the fields of the parts, each with its own memory: one per component of vectors and matrices, one per member of
structs. Out: `SplitMemory`, which presents them as one array of whole elements.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...transpiler.ir.types import Struct, Tensor, Type
from ...transpiler.lang.describe import Step
from .memory import Array, Owner, part_of


class SplitMemory:
    """Owns no memory; it forwards to the memory of the parts. parts: fields, in the order of the element's parts."""

    __slots__ = ("element", "parts", "shape")
    allocation = None
    mirrored = True
    """As in `Memory`: there is no view of the whole that others could copy from."""
    byte_range = None
    """As `Memory.byte_range`: the bytes of each part are in memory of its own."""

    def __init__(self, parts: Mapping[Step, Any], element: Type, shape: tuple[int, ...]) -> None:
        self.parts, self.element, self.shape = dict(parts), element, shape

    @property
    def is_scattered(self) -> bool:
        """As `Memory.is_scattered`."""
        return any(part.memory.is_scattered for part in self.parts.values())

    @property
    def session(self) -> Owner:
        """The session of the parts."""
        owner: Owner = next(iter(self.parts.values())).memory.session
        return owner

    def read_item(self, index: tuple[int, ...]) -> Array:
        """Return a copy of the element at `index`, which includes the offset."""
        if isinstance(self.element, Tensor):
            key = index[0] if len(index) == 1 else index  # scalars have a shorter path for one integer
            numbers = [part[key] for part in self.parts.values()]
            return np.array(numbers, self.element.element.numpy).reshape(self.element.shape)
        item = self.new(())
        for step, part in self.parts.items():
            item[step] = part.read_item(index)
        return item

    def write_item(self, index: tuple[int, ...], value: Array) -> None:
        """Set the element at `index`."""
        for step, part in self._to_write():
            part.write_item(index, value[step])

    def read_all(self) -> Array:
        """Return all elements as a new array; a structured one for structs."""
        values = self.new(self.shape)
        for step, part in self.parts.items():
            part_of(values, step)[...] = part.memory.read_all()
        return values

    def write_all(self, values: Array) -> None:
        """Set all elements from an array of equal shape, converting its number type."""
        for step, part in self._to_write():
            part.memory.write_all(part_of(values, step))

    def fill(self, value: Array) -> None:
        """Set every element to `value`, an array of the element's type and shape."""
        for step, part in self._to_write():
            part.memory.fill(np.asarray(value[step]))

    def copy_from(self, other: Any) -> None:
        """Copy another memory of equal shape, converting its number type."""
        if isinstance(other, SplitMemory):
            for step, part in self._to_write():
                part.memory.copy_from(other.parts[step].memory)
        else:
            self.write_all(other.read_all())

    def refresh_lazily(self) -> None:
        """Do nothing: `read_all` refreshes each part."""

    def end(self) -> None:
        """Do nothing: the parts own the memory."""

    def _to_write(self) -> list[tuple[Step, Any]]:
        """Return the parts; floats with a shared exponent twice, since the first are rounded for that of old values."""
        parts = list(self.parts.items())
        has_shared = any(getattr(getattr(part, "packing", None), "shared", ()) for _, part in parts)
        return parts * 2 if has_shared else parts

    def new(self, shape: tuple[int, ...]) -> Array:
        """Return zeros, for elements of this shape."""
        if isinstance(self.element, Struct):
            return np.zeros(shape, self.element.numpy)
        assert isinstance(self.element, Tensor)
        return np.zeros(shape + self.element.shape, self.element.element.numpy)
