"""Memory within another memory: the common base of fields of trees and slices of ndarrays.

In: the `Memory` that owns all of it. Out: `SuballocatedMemory`, which forwards to the whole; its subclasses define the
address of an element, and the operations on whole fields (`tree_memory.PlacedMemory`,
`sparse_field_memory.CellMemory`, `views.SliceMemory`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from ...transpiler.errors import TaichiRuntimeError
from ...transpiler.ir.types import Type
from .memory import Array, Memory, Owner


class SuballocatedMemory(ABC):
    """Has the interface of `Memory`; `whole` owns the bytes. view: of the bytes of the whole, or of its mirror."""

    __slots__ = ("__weakref__", "element", "mirrored", "session", "shape", "view", "whole")

    locate: Callable[[Sequence[int]], tuple[int, ...]] | None = None
    """As `Memory.located`."""
    locate_to_store: Callable[[Sequence[int]], tuple[int, ...]] | None = None
    """As `Memory.located_to_store`."""

    is_scattered = False
    """As `Memory.is_scattered`."""

    whole: Memory
    session: Owner
    element: Type
    shape: tuple[int, ...]
    mirrored: bool
    view: Array

    def __init__(self, whole: Memory, element: Type, shape: tuple[int, ...]) -> None:
        self.whole, self.session, self.mirrored = whole, whole.session, whole.mirrored
        self.element, self.shape = element, shape

    @property
    def allocation(self) -> Any:
        """The allocation of the whole."""
        return self.whole.allocation

    @property
    def byte_range(self) -> tuple[Memory, int, int] | None:
        """As `Memory.byte_range`: None, since the elements of others may be between these."""
        return None

    @property
    def is_freed(self) -> bool:
        """As `Memory.is_freed`."""
        return self.whole.is_freed

    @property
    def freed_error(self) -> Callable[[], TaichiRuntimeError]:
        """As `Memory.freed_error`."""
        return self.whole.freed_error

    def refresh(self) -> None:
        """Bring the view up to date with the launches so far. Raises: as `Memory.refresh`."""
        whole = self.whole
        if whole.epoch != whole.session.epoch:
            whole.refresh()

    def refresh_lazily(self) -> None:
        """As `Memory.refresh_lazily`."""
        self.whole.refresh_lazily()

    def load(self, position: Sequence[int]) -> None:
        """Fill the part of a partial mirror that holds the element at `position`."""
        if self.whole.partial:
            self.whole.load_bytes(*self._bytes_at(position))

    def mark(self, position: Sequence[int]) -> None:
        """Record that the element at `position` of a mirror was written."""
        self.whole.mark_bytes(*self._bytes_at(position))

    def copy_from(self, other: Any) -> None:
        """Copy another memory of equal shape, converting its number type."""
        self.write_all(other.read_all())

    @abstractmethod
    def write_all(self, values: Array) -> None:
        """Set all elements from an array of shape (*shape, *element shape), converting its number type."""

    @abstractmethod
    def _bytes_at(self, position: Sequence[int]) -> tuple[int, int]:
        """Return the byte range of the element at a position of the view in the memory of the whole."""
