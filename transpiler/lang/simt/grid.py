"""Collective operations of all threads of a launch."""

from __future__ import annotations

from typing import Any

from .marks import kernel_only, means


@means("memory grid")
def memfence() -> Any:
    """Order this thread's accesses to global memory for all threads; kernels only.

    Example:
        >>> @ti.kernel
        ... def example(x: ti.types.ndarray(ti.i32, 1)):
        ...     ti.loop_config(block_dim=4)
        ...     for i in range(4):
        ...         x[i] = i
        ...         ti.simt.grid.memfence()
        >>> x = ti.ndarray(ti.i32, 4)
        >>> example(x)
        >>> x.to_numpy().tolist()
        [0, 1, 2, 3]
    """
    kernel_only("grid.memfence")
