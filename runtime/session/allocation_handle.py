"""`AllocationHandle` owns device memory, which is freed as soon as the last reference to the handle is gone.

In: a session, a size and a name for the owner. Out: an allocation that lives as long as its handle. Arrays have handles
of their memory, and so have launchers that know its address: a field that dies invalidates the kernels that captured
it, and if one of them is running in another thread, the memory is freed when the launch ends. `StagingPool` reuses
memory for copies of arguments.
"""

from __future__ import annotations

from typing import Protocol
from weakref import WeakSet

from ..devices.device import Allocation

CLOSED = -1
"""The epoch of a session that has ended: its memory is gone."""


class Lender(Protocol):
    """The part of the session that handles need."""

    def allocate(self, size_bytes: int, owner: str, lazily: bool = False) -> Allocation:
        """Return zeroed memory. Raises: TaichiRuntimeError if there is not that much."""

    def release(self, allocation: Allocation) -> None:
        """Free memory; may be called at any moment."""

    def register_handle(self, handle: AllocationHandle) -> None:
        """Remember a handle for reports, without keeping it alive."""


class AllocationHandle:
    """Keeps an allocation alive.

    owner: its purpose, as errors and reports show it: "field `x`".
    lazily: see `Device.allocate`.
    item_bytes: size of an element, 0 if it has no elements.
    """

    __slots__ = ("__weakref__", "_lender", "allocation", "is_released", "item_bytes", "owner", "size_bytes")

    def __init__(self, lender: Lender, size_bytes: int, owner: str, lazily: bool = False) -> None:
        self.is_released = True  # should `allocate` raise
        self.owner, self.size_bytes, self.item_bytes = owner, size_bytes, 0
        self.allocation: Allocation = lender.allocate(size_bytes, owner, lazily)
        self._lender = lender
        self.is_released = False
        lender.register_handle(self)

    def release(self) -> None:
        """Free the memory now, even if others refer to this handle."""
        if not self.is_released:
            self.is_released = True
            self._lender.release(self.allocation)

    def __del__(self) -> None:
        self.release()


class StagingPool:
    """Memory for copies of arguments: a launch acquires some and releases it for later launches."""

    __slots__ = ("_free", "_lender")

    def __init__(self, lender: Lender) -> None:
        self._lender = lender
        self._free: list[AllocationHandle] = []

    def acquire(self, size_bytes: int) -> AllocationHandle:
        """Return memory of at least this size: the smallest free block that fits, or a new one for the largest."""
        free, self._free = sorted(self._free, key=lambda handle: handle.size_bytes), []
        fitting = next((k for k, handle in enumerate(free) if handle.size_bytes >= size_bytes), None)
        found = free.pop(-1 if fitting is None else fitting) if free else None
        self._free += free
        if fitting is None or found is None:
            del found, free  # what is too small is freed before more is allocated
            found = AllocationHandle(self._lender, size_bytes, "copies of arguments")
        return found

    def release(self, handle: AllocationHandle) -> None:
        """Return memory to the pool; its launch must have ended, or be ordered before all that will use the memory."""
        self._free.append(handle)

    def __len__(self) -> int:
        return len(self._free)

    def clear(self) -> None:
        """Free all memory of the pool."""
        self._free.clear()


class OwnerNames:
    """Finds the owner of memory, for a device's errors."""

    def __init__(self, handles: WeakSet[AllocationHandle]) -> None:
        self._handles = handles

    def __call__(self, address: int) -> tuple[str, int] | None:
        """Return the owner of the allocation at `address` and the bytes of an element, None if there is none."""
        for handle in list(self._handles):
            if not handle.is_released and handle.allocation.address == address:
                return handle.owner, handle.item_bytes
        return None
