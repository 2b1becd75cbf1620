"""Collective operations of the threads of a subgroup.

A subgroup is 32 threads of a block on CUDA, in C and in the interpreter, and a property of the device on Vulkan:
`ti.simt.subgroup.group_size()` in a kernel, `capabilities.subgroup_size` of the session's device outside.
"""

from __future__ import annotations

from typing import Any, NoReturn

from .marks import kernel_only, means


@means("barrier subgroup")
def barrier() -> NoReturn:
    """Wait for all lanes of the subgroup; their writes are visible afterwards; kernels only."""
    kernel_only("subgroup.barrier")


@means("memory subgroup")
def memory_barrier() -> NoReturn:
    """Order this lane's accesses to memory for the subgroup, without waiting; kernels only."""
    kernel_only("subgroup.memory_barrier")


@means("collective elect")
def elect() -> NoReturn:
    """Return 1 in the lowest active lane, 0 in the others; kernels only."""
    kernel_only("subgroup.elect")


@means("collective all")
def all_true(cond: Any) -> NoReturn:
    """Return 1 if `cond` holds in all lanes, else 0; kernels only."""
    kernel_only("subgroup.all_true")


@means("collective any")
def any_true(cond: Any) -> NoReturn:
    """Return 1 if `cond` holds in any lane, else 0; kernels only."""
    kernel_only("subgroup.any_true")


@means("collective all_equal")
def all_equal(value: Any) -> NoReturn:
    """Return 1 if all lanes have the same value, else 0; kernels only."""
    kernel_only("subgroup.all_equal")


@means("collective broadcast_first")
def broadcast_first(value: Any) -> NoReturn:
    """Return the value of the lowest lane; kernels only."""
    kernel_only("subgroup.broadcast_first")


@means("collective shuffle")
def broadcast(value: Any, index: Any) -> NoReturn:
    """Return the value of lane `index`, which is the same in all lanes; kernels only."""
    kernel_only("subgroup.broadcast")


@means("index size")
def group_size() -> NoReturn:
    """Return the number of lanes of a subgroup; kernels only."""
    kernel_only("subgroup.group_size")


@means("index lane")
def invocation_id() -> NoReturn:
    """Return the number of this lane in its subgroup; kernels only."""
    kernel_only("subgroup.invocation_id")


@means("collective shuffle")
def shuffle(value: Any, index: Any) -> NoReturn:
    """Return the value of lane `index`; kernels only."""
    kernel_only("subgroup.shuffle")


@means("collective shuffle_xor")
def shuffle_xor(value: Any, mask: Any) -> NoReturn:
    """Return the value of the lane whose number differs in the bits of `mask`; kernels only."""
    kernel_only("subgroup.shuffle_xor")


@means("collective shuffle_up")
def shuffle_up(value: Any, offset: Any) -> NoReturn:
    """Return the value of the lane `offset` below this one, or its own where there is none; kernels only."""
    kernel_only("subgroup.shuffle_up")


@means("collective shuffle_down")
def shuffle_down(value: Any, offset: Any) -> NoReturn:
    """Return the value of the lane `offset` above this one, or its own where there is none; kernels only."""
    kernel_only("subgroup.shuffle_down")


@means("collective reduce_add")
def reduce_add(value: Any) -> NoReturn:
    """Return the sum of the values of all lanes; kernels only."""
    kernel_only("subgroup.reduce_add")


@means("collective reduce_mul")
def reduce_mul(value: Any) -> NoReturn:
    """Return the product of the values of all lanes; kernels only."""
    kernel_only("subgroup.reduce_mul")


@means("collective reduce_min")
def reduce_min(value: Any) -> NoReturn:
    """Return the least of the values of all lanes; kernels only."""
    kernel_only("subgroup.reduce_min")


@means("collective reduce_max")
def reduce_max(value: Any) -> NoReturn:
    """Return the greatest of the values of all lanes; kernels only."""
    kernel_only("subgroup.reduce_max")


@means("collective reduce_and")
def reduce_and(value: Any) -> NoReturn:
    """Return the bitwise and of the values of all lanes; kernels only."""
    kernel_only("subgroup.reduce_and")


@means("collective reduce_or")
def reduce_or(value: Any) -> NoReturn:
    """Return the bitwise or of the values of all lanes; kernels only."""
    kernel_only("subgroup.reduce_or")


@means("collective reduce_xor")
def reduce_xor(value: Any) -> NoReturn:
    """Return the bitwise exclusive or of the values of all lanes; kernels only."""
    kernel_only("subgroup.reduce_xor")


@means("collective inclusive_add")
def inclusive_add(value: Any) -> NoReturn:
    """Return the sum of the values up to this lane's; kernels only."""
    kernel_only("subgroup.inclusive_add")


@means("collective inclusive_mul")
def inclusive_mul(value: Any) -> NoReturn:
    """Return the product of the values up to this lane's; kernels only."""
    kernel_only("subgroup.inclusive_mul")


@means("collective inclusive_min")
def inclusive_min(value: Any) -> NoReturn:
    """Return the least of the values up to this lane's; kernels only."""
    kernel_only("subgroup.inclusive_min")


@means("collective inclusive_max")
def inclusive_max(value: Any) -> NoReturn:
    """Return the greatest of the values up to this lane's; kernels only."""
    kernel_only("subgroup.inclusive_max")


@means("collective inclusive_and")
def inclusive_and(value: Any) -> NoReturn:
    """Return the bitwise and of the values up to this lane's; kernels only."""
    kernel_only("subgroup.inclusive_and")


@means("collective inclusive_or")
def inclusive_or(value: Any) -> NoReturn:
    """Return the bitwise or of the values up to this lane's; kernels only."""
    kernel_only("subgroup.inclusive_or")


@means("collective inclusive_xor")
def inclusive_xor(value: Any) -> NoReturn:
    """Return the bitwise exclusive or of the values up to this lane's; kernels only."""
    kernel_only("subgroup.inclusive_xor")


@means("collective exclusive_add")
def exclusive_add(value: Any) -> NoReturn:
    """Return the sum of the values below this lane's; kernels only."""
    kernel_only("subgroup.exclusive_add")


@means("collective exclusive_mul")
def exclusive_mul(value: Any) -> NoReturn:
    """Return the product of the values below this lane's; kernels only."""
    kernel_only("subgroup.exclusive_mul")


@means("collective exclusive_min")
def exclusive_min(value: Any) -> NoReturn:
    """Return the least of the values below this lane's; kernels only."""
    kernel_only("subgroup.exclusive_min")


@means("collective exclusive_max")
def exclusive_max(value: Any) -> NoReturn:
    """Return the greatest of the values below this lane's; kernels only."""
    kernel_only("subgroup.exclusive_max")


@means("collective exclusive_and")
def exclusive_and(value: Any) -> NoReturn:
    """Return the bitwise and of the values below this lane's; kernels only."""
    kernel_only("subgroup.exclusive_and")


@means("collective exclusive_or")
def exclusive_or(value: Any) -> NoReturn:
    """Return the bitwise or of the values below this lane's; kernels only."""
    kernel_only("subgroup.exclusive_or")


@means("collective exclusive_xor")
def exclusive_xor(value: Any) -> NoReturn:
    """Return the bitwise exclusive or of the values below this lane's; kernels only."""
    kernel_only("subgroup.exclusive_xor")


__all__ = [
    "all_equal", "all_true", "any_true", "barrier", "broadcast_first", "elect", "exclusive_add",
    "exclusive_and", "exclusive_max", "exclusive_min", "exclusive_mul", "exclusive_or", "exclusive_xor",
    "inclusive_add", "inclusive_and", "inclusive_max", "inclusive_min", "inclusive_mul", "inclusive_or",
    "inclusive_xor", "memory_barrier", "reduce_add", "reduce_and", "reduce_max", "reduce_min", "reduce_mul",
    "reduce_or", "reduce_xor", "shuffle", "shuffle_down", "shuffle_up", "shuffle_xor",
]  # fmt: skip
