"""Views of ndarrays, `x[8:24]`, `x[::2]`, `x[:, 3]`: ndarrays that share the memory of the whole.

In: an ndarray and an index with slices, with the meaning that it has in NumPy. Out: `SliceMemory`, the `Memory` of a
view, and `slice_of_view`. A view without gaps runs the same code as a whole ndarray; one with gaps passes its strides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...transpiler.ir.types import Tensor, Type
from ..devices.host_arrays import reach_below
from .memory import Array, Memory, received
from .suballocation import SuballocatedMemory


class SliceAllocation:
    """The position of a view in the allocation of the whole.

    start_bytes: offset of the first element. before_bytes: distance from the lowest element to the first.
    """

    __slots__ = ("before_bytes", "start_bytes", "memory", "size_bytes")

    def __init__(self, memory: Memory, start_bytes: int, before_bytes: int, size_bytes: int) -> None:
        self.memory, self.start_bytes, self.size_bytes = memory, start_bytes, size_bytes
        self.before_bytes = before_bytes

    @property
    def address(self) -> int:
        """Address of the first element. Raises: TaichiRuntimeError if the memory was freed."""
        return self.memory.allocation.address + self.start_bytes

    @property
    def lowest(self) -> int:
        """Lowest address of an element. Raises: as `address`."""
        return self.address - self.before_bytes


class SliceMemory(SuballocatedMemory):
    """The memory of a view, with the interface of `Memory`; `whole` owns it.

    view: as in `Memory`, with the strides of the view; a mirror counts as partial, so that each access calls `load`.
    start_bytes: of the first element in the memory of the whole.
    """

    __slots__ = ("_allocation", "start_bytes", "partial")

    def __init__(self, whole: Memory, view: Array, element: Type) -> None:
        shape = view.shape[: view.ndim - len(element.shape)] if isinstance(element, Tensor) else view.shape
        super().__init__(whole, element, shape)
        self.view, self.partial = view, whole.mirrored
        self.start_bytes = view.ctypes.data - whole.view.ctypes.data if view.size else 0
        self._allocation = SliceAllocation(whole, self.start_bytes, reach_below(view.shape, view.strides), view.nbytes)

    @property
    def epoch(self) -> int:
        """As `Memory.epoch`."""
        return self.whole.epoch

    @property
    def allocation(self) -> SliceAllocation:
        """The position of the view in the allocation of the whole."""
        return self._allocation

    def read_all(self) -> Array:
        """Return the view as a new array."""
        self.refresh_lazily()
        return np.array(self._loaded()[0] if self.mirrored else self.view, order="C")

    def write_all(self, values: Array) -> None:
        """Set the view from an array of equal shape, converting its number type."""
        self.refresh_lazily()
        if not self.mirrored:
            np.copyto(self.view, values, casting="unsafe")
        elif self.view.size:
            part, data, start = self._loaded()
            np.copyto(part, values, casting="unsafe")
            self.whole.write_bytes(start, data.data)

    @property
    def byte_range(self) -> tuple[Memory, int, int] | None:
        """As `Memory.byte_range`."""
        return (self.whole, self.start_bytes, self.view.nbytes) if self.view.flags.c_contiguous else None

    def copy_from(self, other: Any) -> None:
        """Copy another memory of equal shape, converting its number type."""
        if not received(self, other):
            super().copy_from(other)

    def fill(self, value: Array) -> None:
        """Set every element to `value`, an array of the element's type and shape."""
        self.write_all(value)

    def end(self) -> None:
        """Do nothing: the whole owns the memory."""

    def _loaded(self) -> tuple[Array, Array, int]:
        """Return the view of a copy of the device's bytes, that copy of all bytes in reach, and its offset."""
        if not self.view.size:
            return self.view, np.empty(0, np.uint8), 0
        reach = [(extent - 1) * step for extent, step in zip(self.view.shape, self.view.strides, strict=True)]
        before = self.allocation.before_bytes
        start = self.start_bytes - before
        end = self.start_bytes + sum(step for step in reach if step > 0) + self.view.itemsize
        data = np.empty(end - start, np.uint8)
        self.whole.read_bytes(start, data.data)
        part: Array = np.ndarray(self.view.shape, self.view.dtype, data, before, self.view.strides)
        return part, data, start

    def _bytes_at(self, position: Sequence[int]) -> tuple[int, int]:
        steps = zip(position, self.view.strides, strict=False)
        start = self.start_bytes + sum(index * step for index, step in steps)
        return start, start + self.element.size_bytes


def has_slice(key: Any) -> bool:
    """Return whether an index has a slice or `...`."""
    items = key if type(key) is tuple else (key,)
    return any(isinstance(item, slice) or item is Ellipsis for item in items)


def slice_of_view(view: Array, key: Any, axes: int) -> Array:
    """Return the view that an index selects in NumPy; axes: those of the array, without those of its elements.

    Raises: IndexError, ValueError as NumPy does; IndexError for anything but integers, slices and `...`.
    """
    items = key if type(key) is tuple else (key,)
    for item in items:
        if not (isinstance(item, slice) or item is Ellipsis or hasattr(item, "__index__")):
            raise IndexError("only integers, slices (`:`) and ellipsis (`...`) are valid indices of an ndarray")
    given = sum(item is not Ellipsis for item in items)
    if given > axes:
        raise IndexError(f"too many indices: it has {axes} axes, but {given} were indexed")
    rest = (slice(None),) * (axes - given)
    if Ellipsis in items:
        position = next(k for k, item in enumerate(items) if item is Ellipsis)
        if Ellipsis in items[position + 1 :]:
            raise IndexError("an index can only have a single ellipsis (`...`)")
        items = (*items[:position], *rest, *items[position + 1 :])
    whole_key = tuple(items) + (Ellipsis,)  # with `...` it is an array even where no axis is left
    part: Array = view[whole_key]
    return part
