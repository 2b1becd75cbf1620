"""`Hold`: who has one keeps device memory; with the last reference it goes back at once.

In: a session, a size and words for the owner. Out: an allocation that lives as long as its holds do. Arrays hold their
memory, and so do launchers that know its address: a field that dies retires the kernels that captured it, and where one
of them is running in another thread, its memory goes when the launch ends.
"""

from __future__ import annotations

from typing import Protocol

from .devices.device import Allocation


class Lender(Protocol):
    """The session, as far as holds need it."""

    def allocate(self, size_bytes: int, owner: str) -> Allocation:
        """Give zeroed memory. Raises: TaichiRuntimeError where there is not that much."""

    def release(self, allocation: Allocation) -> None:
        """Take memory back; called at any moment."""


class Hold:
    """Keeps an allocation. owner: what it is for, as errors and reports say it: "field `x`"."""

    __slots__ = ("__weakref__", "_lender", "allocation", "is_released", "owner", "size_bytes")

    def __init__(self, lender: Lender, size_bytes: int, owner: str) -> None:
        self.is_released = True  # should `allocate` raise
        self.owner, self.size_bytes = owner, size_bytes
        self.allocation: Allocation = lender.allocate(size_bytes, owner)
        self._lender = lender
        self.is_released = False

    def release(self) -> None:
        """Give the memory back now, whoever else holds it."""
        if not self.is_released:
            self.is_released = True
            self._lender.release(self.allocation)

    def __del__(self) -> None:
        self.release()
