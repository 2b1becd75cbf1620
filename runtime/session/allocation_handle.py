"""`Hold`: who has one keeps device memory; with the last reference it goes back at once.

In: a session, a size and words for the owner. Out: an allocation that lives as long as its holds do. Arrays hold their
memory, and so do launchers that know its address: a field that dies retires the kernels that captured it, and where one
of them is running in another thread, its memory goes when the launch ends. `Stages` keeps some for later launches.
"""

from __future__ import annotations

from typing import Protocol

from ..devices.device import Allocation

CLOSED = -1
"""The epoch of a session that has ended: its memory is gone."""


class Lender(Protocol):
    """The session, as far as holds need it."""

    def allocate(self, size_bytes: int, owner: str, lazily: bool = False) -> Allocation:
        """Give zeroed memory. Raises: TaichiRuntimeError where there is not that much."""

    def release(self, allocation: Allocation) -> None:
        """Take memory back; called at any moment."""

    def register_handle(self, handle: AllocationHandle) -> None:
        """Remember, without keeping it alive, who holds how much."""


class AllocationHandle:
    """Keeps an allocation. owner: what it is for, as errors and reports say it: "field `x`".

    lazily: as `Device.allocate` takes it.
    """

    __slots__ = ("__weakref__", "_lender", "allocation", "is_released", "owner", "size_bytes")

    def __init__(self, lender: Lender, size_bytes: int, owner: str, lazily: bool = False) -> None:
        self.is_released = True  # should `allocate` raise
        self.owner, self.size_bytes = owner, size_bytes
        self.allocation: Allocation = lender.allocate(size_bytes, owner, lazily)
        self._lender = lender
        self.is_released = False
        lender.register_handle(self)

    def release(self) -> None:
        """Give the memory back now, whoever else holds it."""
        if not self.is_released:
            self.is_released = True
            self._lender.release(self.allocation)

    def __del__(self) -> None:
        self.release()


class StagingPool:
    """Memory that launches borrow for copies of arguments. What comes back waits here for the next launch."""

    __slots__ = ("_free", "_lender")

    def __init__(self, lender: Lender) -> None:
        self._lender = lender
        self._free: list[AllocationHandle] = []

    def acquire(self, size_bytes: int) -> AllocationHandle:
        """Return memory of at least this size: the smallest there is, or newly made in place of the largest."""
        free, self._free = sorted(self._free, key=lambda handle: handle.size_bytes), []
        fitting = next((k for k, handle in enumerate(free) if handle.size_bytes >= size_bytes), None)
        found = free.pop(-1 if fitting is None else fitting) if free else None
        self._free += free
        if fitting is None or found is None:
            del found, free  # what is too small goes back before more is asked for
            found = AllocationHandle(self._lender, size_bytes, "copies of arguments")
        return found

    def release(self, handle: AllocationHandle) -> None:
        """Take memory back, whose launch has ended or is ordered before all that will use it."""
        self._free.append(handle)

    def __len__(self) -> int:
        return len(self._free)

    def clear(self) -> None:
        """Keep nothing for later."""
        self._free.clear()
