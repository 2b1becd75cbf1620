"""Collective operations of the threads of a warp: 32 lanes on CUDA, a subgroup on Vulkan.

`mask` has a bit for each participating lane; it must include every lane that executes the call.
"""

from __future__ import annotations

from typing import Any

from .marks import kernel_only, means


@means("collective active_mask")
def active_mask() -> Any:
    """Return a bit for each active lane of the warp; kernels only.

    Example:
        >>> @ti.kernel
        ... def example(x: ti.types.ndarray(ti.i32, 1)):
        ...     for i in range(4):
        ...         x[i] = ti.cast(ti.simt.warp.active_mask() & 15, ti.i32)
        >>> x = ti.ndarray(ti.i32, 4)
        >>> example(x)
        >>> x.to_numpy().tolist()
        [15, 15, 15, 15]
    """
    kernel_only("warp.active_mask")


@means("collective all")
def all_nonzero(mask: Any, predicate: Any) -> Any:
    """Return 1 if the predicate of all lanes in `mask` is not 0, else 0; kernels only.

    Example:
        >>> @ti.kernel
        ... def example(x: ti.types.ndarray(ti.i32, 1)):
        ...     for i in range(4):
        ...         x[i] = ti.simt.warp.all_nonzero(0xFFFFFFFF, i >= 0)
        >>> x = ti.ndarray(ti.i32, 4)
        >>> example(x)
        >>> x.to_numpy().tolist()
        [1, 1, 1, 1]
    """
    kernel_only("warp.all_nonzero")


@means("collective any")
def any_nonzero(mask: Any, predicate: Any) -> Any:
    """Return 1 if the predicate of any lane in `mask` is not 0, else 0; kernels only.

    Example:
        >>> @ti.kernel
        ... def example(x: ti.types.ndarray(ti.i32, 1)):
        ...     for i in range(4):
        ...         x[i] = ti.simt.warp.any_nonzero(0xFFFFFFFF, i == 2)
        >>> x = ti.ndarray(ti.i32, 4)
        >>> example(x)
        >>> x.to_numpy().tolist()
        [1, 1, 1, 1]
    """
    kernel_only("warp.any_nonzero")


@means("collective unique")
def unique(mask: Any, predicate: Any) -> Any:
    """Return 1 if the predicate is 0 in all lanes in `mask` or in none, else 0; kernels only.

    Example:
        >>> @ti.kernel
        ... def example(x: ti.types.ndarray(ti.i32, 1)):
        ...     for i in range(4):
        ...         x[i] = ti.simt.warp.unique(0xFFFFFFFF, i >= 0)
        >>> x = ti.ndarray(ti.i32, 4)
        >>> example(x)
        >>> x.to_numpy().tolist()
        [1, 1, 1, 1]
    """
    kernel_only("warp.unique")


@means("collective ballot")
def ballot(predicate: Any) -> Any:
    """Return a bit for each lane whose predicate is not 0; kernels only.

    Example:
        >>> @ti.kernel
        ... def example(x: ti.types.ndarray(ti.i32, 1)):
        ...     for i in range(4):
        ...         x[i] = ti.cast(ti.simt.warp.ballot(i == 2), ti.i32)
        >>> x = ti.ndarray(ti.i32, 4)
        >>> example(x)
        >>> x.to_numpy().tolist()
        [4, 4, 4, 4]
    """
    kernel_only("warp.ballot")


@means("collective match_any")
def match_any(mask: Any, value: Any) -> Any:
    """Return a bit for each lane in `mask` that has this lane's value; kernels only.

    Example:
        >>> @ti.kernel
        ... def example(x: ti.types.ndarray(ti.i32, 1)):
        ...     for i in range(4):
        ...         x[i] = ti.cast(ti.simt.warp.match_any(0xFFFFFFFF, i), ti.i32)
        >>> x = ti.ndarray(ti.i32, 4)
        >>> example(x)
        >>> x.to_numpy().tolist()
        [1, 2, 4, 8]
    """
    kernel_only("warp.match_any")


@means("collective match_all")
def match_all(mask: Any, val: Any) -> Any:
    """Return the lanes in `mask` if all have one value of `val`, else 0; kernels only.

    Example:
        >>> @ti.kernel
        ... def example(x: ti.types.ndarray(ti.i32, 1)):
        ...     for i in range(4):
        ...         x[i] = ti.cast(ti.simt.warp.match_all(0xFFFFFFFF, i), ti.i32)
        >>> x = ti.ndarray(ti.i32, 4)
        >>> example(x)
        >>> x.to_numpy().tolist()
        [0, 0, 0, 0]
    """
    kernel_only("warp.match_all")


@means("barrier subgroup")
def sync(mask: Any) -> Any:
    """Wait for the lanes in `mask`; their writes are visible afterwards; kernels only.

    Example:
        >>> @ti.kernel
        ... def example(x: ti.types.ndarray(ti.i32, 1)):
        ...     for i in range(4):
        ...         x[i] = i
        ...         ti.simt.warp.sync(0xFFFFFFFF)
        >>> x = ti.ndarray(ti.i32, 4)
        >>> example(x)
        >>> x.to_numpy().tolist()
        [0, 1, 2, 3]
    """
    kernel_only("warp.sync")


@means("collective shuffle")
def shfl_sync_i32(mask: Any, val: Any, offset: Any) -> Any:
    """Return `val` of lane `offset`; kernels only. mask: the lanes that take part.

    Example:
        >>> @ti.kernel
        ... def example(x: ti.types.ndarray(ti.i32, 1)):
        ...     for i in range(4):
        ...         x[i] = ti.simt.warp.shfl_sync_i32(0xFFFFFFFF, i * 10, 2)
        >>> x = ti.ndarray(ti.i32, 4)
        >>> example(x)
        >>> x.to_numpy().tolist()
        [20, 20, 20, 20]
    """
    kernel_only("warp.shfl_sync_i32")


@means("collective shuffle_up")
def shfl_up_i32(mask: Any, val: Any, offset: Any) -> Any:
    """Return `val` of the lane `offset` below this one, or its own where there is none; kernels only. mask: the lanes.

    Example:
        >>> @ti.kernel
        ... def example(x: ti.types.ndarray(ti.i32, 1)):
        ...     for i in range(4):
        ...         x[i] = ti.simt.warp.shfl_up_i32(0xFFFFFFFF, i * 10, 1)
        >>> x = ti.ndarray(ti.i32, 4)
        >>> example(x)
        >>> x.to_numpy().tolist()
        [0, 0, 10, 20]
    """
    kernel_only("warp.shfl_up_i32")


@means("collective shuffle_down")
def shfl_down_i32(mask: Any, val: Any, offset: Any) -> Any:
    """Return `val` of the lane `offset` above this one, or its own where there is none; kernels only. mask: the lanes.

    Example:
        >>> @ti.kernel
        ... def example(x: ti.types.ndarray(ti.i32, 1)):
        ...     for i in range(4):
        ...         x[i] = ti.simt.warp.shfl_down_i32(0xFFFFFFFF, i * 10, 1)
        >>> x = ti.ndarray(ti.i32, 4)
        >>> example(x)
        >>> x.to_numpy().tolist()
        [10, 20, 30, 30]
    """
    kernel_only("warp.shfl_down_i32")


@means("collective shuffle")
def shfl_sync_f32(mask: Any, val: Any, offset: Any) -> Any:
    """Return `val` of lane `offset`; kernels only. mask: the lanes that take part.

    Example:
        >>> @ti.kernel
        ... def example(x: ti.types.ndarray(ti.f32, 1)):
        ...     for i in range(4):
        ...         x[i] = ti.simt.warp.shfl_sync_f32(0xFFFFFFFF, i * 0.5, 2)
        >>> x = ti.ndarray(ti.f32, 4)
        >>> example(x)
        >>> x.to_numpy().tolist()
        [1.0, 1.0, 1.0, 1.0]
    """
    kernel_only("warp.shfl_sync_f32")


@means("collective shuffle_up")
def shfl_up_f32(mask: Any, val: Any, offset: Any) -> Any:
    """Return `val` of the lane `offset` below this one, or its own where there is none; kernels only. mask: the lanes.

    Example:
        >>> @ti.kernel
        ... def example(x: ti.types.ndarray(ti.f32, 1)):
        ...     for i in range(4):
        ...         x[i] = ti.simt.warp.shfl_up_f32(0xFFFFFFFF, i * 0.5, 1)
        >>> x = ti.ndarray(ti.f32, 4)
        >>> example(x)
        >>> x.to_numpy().tolist()
        [0.0, 0.0, 0.5, 1.0]
    """
    kernel_only("warp.shfl_up_f32")


@means("collective shuffle_down")
def shfl_down_f32(mask: Any, val: Any, offset: Any) -> Any:
    """Return `val` of the lane `offset` above this one, or its own where there is none; kernels only. mask: the lanes.

    Example:
        >>> @ti.kernel
        ... def example(x: ti.types.ndarray(ti.f32, 1)):
        ...     for i in range(4):
        ...         x[i] = ti.simt.warp.shfl_down_f32(0xFFFFFFFF, i * 0.5, 1)
        >>> x = ti.ndarray(ti.f32, 4)
        >>> example(x)
        >>> x.to_numpy().tolist()
        [0.5, 1.0, 1.5, 1.5]
    """
    kernel_only("warp.shfl_down_f32")


@means("collective shuffle_xor")
def shfl_xor_i32(mask: Any, val: Any, offset: Any) -> Any:
    """Return `val` of the lane whose number differs in the bits of `offset`; kernels only. mask: the lanes.

    Example:
        >>> @ti.kernel
        ... def example(x: ti.types.ndarray(ti.i32, 1)):
        ...     for i in range(4):
        ...         x[i] = ti.simt.warp.shfl_xor_i32(0xFFFFFFFF, i * 10, 1)
        >>> x = ti.ndarray(ti.i32, 4)
        >>> example(x)
        >>> x.to_numpy().tolist()
        [10, 0, 30, 20]
    """
    kernel_only("warp.shfl_xor_i32")


__all__ = [
    "active_mask", "all_nonzero", "any_nonzero", "ballot", "match_all", "match_any", "shfl_down_f32",
    "shfl_down_i32", "shfl_sync_f32", "shfl_sync_i32", "shfl_up_f32", "shfl_up_i32", "shfl_xor_i32", "sync",
    "unique",
]  # fmt: skip
