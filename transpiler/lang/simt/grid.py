"""Collective operations of all threads of a launch."""

from __future__ import annotations

from typing import NoReturn

from .marks import kernel_only, means


@means("memory grid")
def memfence() -> NoReturn:
    """Order this thread's accesses to global memory for all threads; kernels only."""
    kernel_only("grid.memfence")
