"""What all threads of a launch do together."""

from __future__ import annotations

from typing import NoReturn

from .marks import kernel_only, means


@means("memory grid")
def memfence() -> NoReturn:
    """Order this thread's accesses to global memory as all threads see them; kernels only."""
    kernel_only("grid.memfence")
