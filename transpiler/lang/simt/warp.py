"""Collective operations of the threads of a warp: 32 lanes on CUDA, a subgroup on Vulkan.

`mask` has a bit for each participating lane; it must include every lane that executes the call.
"""

from __future__ import annotations

from typing import Any, NoReturn

from .marks import kernel_only, means


@means("collective active_mask")
def active_mask() -> NoReturn:
    """Return a bit for each active lane of the warp; kernels only."""
    kernel_only("warp.active_mask")


@means("collective all")
def all_nonzero(mask: Any, predicate: Any) -> NoReturn:
    """Return 1 if the predicate of all lanes in `mask` is not 0, else 0; kernels only."""
    kernel_only("warp.all_nonzero")


@means("collective any")
def any_nonzero(mask: Any, predicate: Any) -> NoReturn:
    """Return 1 if the predicate of any lane in `mask` is not 0, else 0; kernels only."""
    kernel_only("warp.any_nonzero")


@means("collective unique")
def unique(mask: Any, predicate: Any) -> NoReturn:
    """Return 1 if the predicate is 0 in all lanes in `mask` or in none, else 0; kernels only."""
    kernel_only("warp.unique")


@means("collective ballot")
def ballot(predicate: Any) -> NoReturn:
    """Return a bit for each lane whose predicate is not 0; kernels only."""
    kernel_only("warp.ballot")


@means("collective match_any")
def match_any(mask: Any, value: Any) -> NoReturn:
    """Return a bit for each lane in `mask` that has this lane's value; kernels only."""
    kernel_only("warp.match_any")


@means("collective match_all")
def match_all(mask: Any, val: Any) -> NoReturn:
    """Return the lanes in `mask` if all have one value, else 0; kernels only."""
    kernel_only("warp.match_all")


@means("barrier subgroup")
def sync(mask: Any) -> NoReturn:
    """Wait for the lanes in `mask`; their writes are visible afterwards; kernels only."""
    kernel_only("warp.sync")


@means("collective shuffle")
def shfl_sync_i32(mask: Any, val: Any, offset: Any) -> NoReturn:
    """Return the value of lane `offset`; kernels only."""
    kernel_only("warp.shfl_sync_i32")


@means("collective shuffle_up")
def shfl_up_i32(mask: Any, val: Any, offset: Any) -> NoReturn:
    """Return the value of the lane `offset` below this one, or its own where there is none; kernels only."""
    kernel_only("warp.shfl_up_i32")


@means("collective shuffle_down")
def shfl_down_i32(mask: Any, val: Any, offset: Any) -> NoReturn:
    """Return the value of the lane `offset` above this one, or its own where there is none; kernels only."""
    kernel_only("warp.shfl_down_i32")


@means("collective shuffle")
def shfl_sync_f32(mask: Any, val: Any, offset: Any) -> NoReturn:
    """Return the value of lane `offset`; kernels only."""
    kernel_only("warp.shfl_sync_f32")


@means("collective shuffle_up")
def shfl_up_f32(mask: Any, val: Any, offset: Any) -> NoReturn:
    """Return the value of the lane `offset` below this one, or its own where there is none; kernels only."""
    kernel_only("warp.shfl_up_f32")


@means("collective shuffle_down")
def shfl_down_f32(mask: Any, val: Any, offset: Any) -> NoReturn:
    """Return the value of the lane `offset` above this one, or its own where there is none; kernels only."""
    kernel_only("warp.shfl_down_f32")


@means("collective shuffle_xor")
def shfl_xor_i32(mask: Any, val: Any, offset: Any) -> NoReturn:
    """Return the value of the lane whose number differs in the bits of `offset`; kernels only."""
    kernel_only("warp.shfl_xor_i32")


__all__ = [
    "active_mask", "all_nonzero", "any_nonzero", "ballot", "match_all", "match_any", "shfl_down_f32",
    "shfl_down_i32", "shfl_sync_f32", "shfl_sync_i32", "shfl_up_f32", "shfl_up_i32", "shfl_xor_i32", "sync",
    "unique",
]  # fmt: skip
