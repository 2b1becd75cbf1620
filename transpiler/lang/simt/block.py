"""Collective operations of the threads of a block: shared memory, barriers, votes.

Iteration k of a parallel loop, in serial order, is thread k % block_dim of block k // block_dim. The last block of a
loop may have fewer iterations than threads. Threads without an iteration reach the barriers and do nothing else: the
elements of a shared array that they would have set are undefined, and they do not vote. A barrier must be reached by
all threads of a block: one under a condition that may differ between them is rejected when the kernel is compiled.
"""

from __future__ import annotations

from typing import Any

from .marks import kernel_only, means


class SharedArray:
    """Memory that the threads of one block share: `SharedArray(64, ti.f32)`; kernels only, inside a parallel loop.

    shape: an integer or a tuple of integers. dtype: a number type, or a vector or matrix type. The elements are
    initially undefined.

    Example:
        >>> @ti.kernel
        ... def reverse(x: ti.types.ndarray(ti.i32, 1)):
        ...     ti.loop_config(block_dim=4)
        ...     for i in range(4):
        ...         tile = ti.simt.block.SharedArray(4, ti.i32)
        ...         tile[i] = x[i]
        ...         ti.simt.block.sync()
        ...         x[i] = tile[3 - i]
        >>> x = ti.ndarray(ti.i32, 4)
        >>> x.from_numpy(np.array([1, 2, 3, 4], np.int32))
        >>> reverse(x)
        >>> x.to_numpy().tolist()
        [4, 3, 2, 1]
    """

    def __init__(self, shape: Any, dtype: Any) -> None:
        kernel_only("block.SharedArray")


@means("barrier block")
def sync() -> Any:
    """Wait for all threads of the block; their writes are visible afterwards; kernels only.

    Example:
        >>> @ti.kernel
        ... def example(x: ti.types.ndarray(ti.i32, 1)):
        ...     ti.loop_config(block_dim=4)
        ...     for i in range(4):
        ...         x[i] = i
        ...         ti.simt.block.sync()
        ...         x[3 - i] += 10
        >>> x = ti.ndarray(ti.i32, 4)
        >>> example(x)
        >>> x.to_numpy().tolist()
        [10, 11, 12, 13]
    """
    kernel_only("block.sync")


@means("barrier block")
def mem_sync() -> Any:
    """Wait as `sync` does; kernels only.

    Taichi's CUDA backend waits here and its Vulkan backend only orders memory; waiting is right for programs of both.

    Example:
        >>> @ti.kernel
        ... def example(x: ti.types.ndarray(ti.i32, 1)):
        ...     ti.loop_config(block_dim=4)
        ...     for i in range(4):
        ...         x[i] = i
        ...         ti.simt.block.mem_sync()
        >>> x = ti.ndarray(ti.i32, 4)
        >>> example(x)
        >>> x.to_numpy().tolist()
        [0, 1, 2, 3]
    """
    kernel_only("block.mem_sync")


@means("collective block_all")
def sync_all_nonzero(predicate: Any) -> Any:
    """Wait for the block; return 1 if the predicate of all threads is not 0, else 0; kernels only.

    Example:
        >>> @ti.kernel
        ... def example(x: ti.types.ndarray(ti.i32, 1)):
        ...     ti.loop_config(block_dim=4)
        ...     for i in range(4):
        ...         x[i] = ti.simt.block.sync_all_nonzero(i < 3)
        >>> x = ti.ndarray(ti.i32, 4)
        >>> example(x)
        >>> x.to_numpy().tolist()
        [0, 0, 0, 0]
    """
    kernel_only("block.sync_all_nonzero")


@means("collective block_any")
def sync_any_nonzero(predicate: Any) -> Any:
    """Wait for the block; return 1 if the predicate of any thread is not 0, else 0; kernels only.

    Example:
        >>> @ti.kernel
        ... def example(x: ti.types.ndarray(ti.i32, 1)):
        ...     ti.loop_config(block_dim=4)
        ...     for i in range(4):
        ...         x[i] = ti.simt.block.sync_any_nonzero(i < 3)
        >>> x = ti.ndarray(ti.i32, 4)
        >>> example(x)
        >>> x.to_numpy().tolist()
        [1, 1, 1, 1]
    """
    kernel_only("block.sync_any_nonzero")


@means("collective block_count")
def sync_count_nonzero(predicate: Any) -> Any:
    """Wait for the block; return how many threads have a predicate that is not 0; kernels only.

    Example:
        >>> @ti.kernel
        ... def example(x: ti.types.ndarray(ti.i32, 1)):
        ...     ti.loop_config(block_dim=4)
        ...     for i in range(4):
        ...         x[i] = ti.simt.block.sync_count_nonzero(i < 3)
        >>> x = ti.ndarray(ti.i32, 4)
        >>> example(x)
        >>> x.to_numpy().tolist()
        [3, 3, 3, 3]
    """
    kernel_only("block.sync_count_nonzero")


@means("index thread")
def thread_idx() -> Any:
    """Return the number of this thread in its block; kernels only.

    Example:
        >>> @ti.kernel
        ... def example(x: ti.types.ndarray(ti.i32, 1)):
        ...     ti.loop_config(block_dim=4)
        ...     for i in range(4):
        ...         x[i] = ti.simt.block.thread_idx()
        >>> x = ti.ndarray(ti.i32, 4)
        >>> example(x)
        >>> x.to_numpy().tolist()
        [0, 1, 2, 3]
    """
    kernel_only("block.thread_idx")


@means("index global")
def global_thread_idx() -> Any:
    """Return the number of this thread among all threads of the loop; kernels only.

    Example:
        >>> @ti.kernel
        ... def example(x: ti.types.ndarray(ti.i32, 1)):
        ...     ti.loop_config(block_dim=4)
        ...     for i in range(4):
        ...         x[i] = ti.simt.block.global_thread_idx()
        >>> x = ti.ndarray(ti.i32, 4)
        >>> example(x)
        >>> x.to_numpy().tolist()
        [0, 1, 2, 3]
    """
    kernel_only("block.global_thread_idx")


__all__ = [
    "SharedArray", "global_thread_idx", "mem_sync", "sync", "sync_all_nonzero", "sync_any_nonzero",
    "sync_count_nonzero", "thread_idx",
]  # fmt: skip
