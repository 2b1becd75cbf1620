"""Collective operations of the threads of a subgroup.

A subgroup is 32 threads of a block on CUDA, in C and in the interpreter, and a property of the device on Vulkan:
`ti.simt.subgroup.group_size()` in a kernel, `capabilities.subgroup_size` of the session's device outside.
"""

from __future__ import annotations

from typing import Any

from .marks import kernel_only, means


@means("barrier subgroup")
def barrier() -> Any:
    """Wait for all lanes of the subgroup; their writes are visible afterwards; kernels only.

    Example:
        >>> @ti.kernel
        ... def example(x: ti.types.ndarray(ti.i32, 1)):
        ...     ti.loop_config(block_dim=4)
        ...     for i in range(4):
        ...         x[i] = i
        ...         ti.simt.subgroup.barrier()
        >>> x = ti.ndarray(ti.i32, 4)
        >>> example(x)
        >>> x.to_numpy().tolist()
        [0, 1, 2, 3]
    """
    kernel_only("subgroup.barrier")


@means("memory subgroup")
def memory_barrier() -> Any:
    """Order this lane's accesses to memory for the subgroup, without waiting; kernels only.

    Example:
        >>> @ti.kernel
        ... def example(x: ti.types.ndarray(ti.i32, 1)):
        ...     ti.loop_config(block_dim=4)
        ...     for i in range(4):
        ...         x[i] = i
        ...         ti.simt.subgroup.memory_barrier()
        >>> x = ti.ndarray(ti.i32, 4)
        >>> example(x)
        >>> x.to_numpy().tolist()
        [0, 1, 2, 3]
    """
    kernel_only("subgroup.memory_barrier")


@means("collective elect")
def elect() -> Any:
    """Return 1 in the lowest active lane, 0 in the others; kernels only.

    Example:
        >>> @ti.kernel
        ... def example(x: ti.types.ndarray(ti.i32, 1)):
        ...     for i in range(4):
        ...         x[i] = ti.simt.subgroup.elect()
        >>> x = ti.ndarray(ti.i32, 4)
        >>> example(x)
        >>> x.to_numpy().tolist()
        [1, 0, 0, 0]
    """
    kernel_only("subgroup.elect")


@means("collective all")
def all_true(cond: Any) -> Any:
    """Return 1 if `cond` holds in all lanes, else 0; kernels only.

    Example:
        >>> @ti.kernel
        ... def example(x: ti.types.ndarray(ti.i32, 1)):
        ...     for i in range(4):
        ...         x[i] = ti.simt.subgroup.all_true(i < 4)
        >>> x = ti.ndarray(ti.i32, 4)
        >>> example(x)
        >>> x.to_numpy().tolist()
        [1, 1, 1, 1]
    """
    kernel_only("subgroup.all_true")


@means("collective any")
def any_true(cond: Any) -> Any:
    """Return 1 if `cond` holds in any lane, else 0; kernels only.

    Example:
        >>> @ti.kernel
        ... def example(x: ti.types.ndarray(ti.i32, 1)):
        ...     for i in range(4):
        ...         x[i] = ti.simt.subgroup.any_true(i > 4)
        >>> x = ti.ndarray(ti.i32, 4)
        >>> example(x)
        >>> x.to_numpy().tolist()
        [0, 0, 0, 0]
    """
    kernel_only("subgroup.any_true")


@means("collective all_equal")
def all_equal(value: Any) -> Any:
    """Return 1 if all lanes have the same value, else 0; kernels only.

    Example:
        >>> @ti.kernel
        ... def example(x: ti.types.ndarray(ti.i32, 1)):
        ...     for i in range(4):
        ...         x[i] = ti.simt.subgroup.all_equal(7)
        >>> x = ti.ndarray(ti.i32, 4)
        >>> example(x)
        >>> x.to_numpy().tolist()
        [1, 1, 1, 1]
    """
    kernel_only("subgroup.all_equal")


@means("collective broadcast_first")
def broadcast_first(value: Any) -> Any:
    """Return the value of the lowest lane; kernels only.

    Example:
        >>> @ti.kernel
        ... def example(x: ti.types.ndarray(ti.i32, 1)):
        ...     for i in range(4):
        ...         x[i] = ti.simt.subgroup.broadcast_first(i + 5)
        >>> x = ti.ndarray(ti.i32, 4)
        >>> example(x)
        >>> x.to_numpy().tolist()
        [5, 5, 5, 5]
    """
    kernel_only("subgroup.broadcast_first")


@means("collective shuffle")
def broadcast(value: Any, index: Any) -> Any:
    """Return the value of lane `index`, which is the same in all lanes; kernels only."""
    kernel_only("subgroup.broadcast")


@means("index size")
def group_size() -> Any:
    """Return the number of lanes of a subgroup; kernels only."""
    kernel_only("subgroup.group_size")


@means("index lane")
def invocation_id() -> Any:
    """Return the number of this lane in its subgroup; kernels only."""
    kernel_only("subgroup.invocation_id")


@means("collective shuffle")
def shuffle(value: Any, index: Any) -> Any:
    """Return the value of lane `index`; kernels only.

    Example:
        >>> @ti.kernel
        ... def example(x: ti.types.ndarray(ti.i32, 1)):
        ...     for i in range(4):
        ...         x[i] = ti.simt.subgroup.shuffle(i * 10, 2)
        >>> x = ti.ndarray(ti.i32, 4)
        >>> example(x)
        >>> x.to_numpy().tolist()
        [20, 20, 20, 20]
    """
    kernel_only("subgroup.shuffle")


@means("collective shuffle_xor")
def shuffle_xor(value: Any, mask: Any) -> Any:
    """Return the value of the lane whose number differs in the bits of `mask`; kernels only.

    Example:
        >>> @ti.kernel
        ... def example(x: ti.types.ndarray(ti.i32, 1)):
        ...     for i in range(4):
        ...         x[i] = ti.simt.subgroup.shuffle_xor(i * 10, 1)
        >>> x = ti.ndarray(ti.i32, 4)
        >>> example(x)
        >>> x.to_numpy().tolist()
        [10, 0, 30, 20]
    """
    kernel_only("subgroup.shuffle_xor")


@means("collective shuffle_up")
def shuffle_up(value: Any, offset: Any) -> Any:
    """Return the value of the lane `offset` below this one, or its own where there is none; kernels only.

    Example:
        >>> @ti.kernel
        ... def example(x: ti.types.ndarray(ti.i32, 1)):
        ...     for i in range(4):
        ...         x[i] = ti.simt.subgroup.shuffle_up(i * 10, 1)
        >>> x = ti.ndarray(ti.i32, 4)
        >>> example(x)
        >>> x.to_numpy().tolist()
        [0, 0, 10, 20]
    """
    kernel_only("subgroup.shuffle_up")


@means("collective shuffle_down")
def shuffle_down(value: Any, offset: Any) -> Any:
    """Return the value of the lane `offset` above this one, or its own where there is none; kernels only.

    Example:
        >>> @ti.kernel
        ... def example(x: ti.types.ndarray(ti.i32, 1)):
        ...     for i in range(4):
        ...         x[i] = ti.simt.subgroup.shuffle_down(i * 10, 1)
        >>> x = ti.ndarray(ti.i32, 4)
        >>> example(x)
        >>> x.to_numpy().tolist()
        [10, 20, 30, 30]
    """
    kernel_only("subgroup.shuffle_down")


@means("collective reduce_add")
def reduce_add(value: Any) -> Any:
    """Return the sum of `value` in all lanes; kernels only.

    Example:
        >>> @ti.kernel
        ... def example(x: ti.types.ndarray(ti.i32, 1)):
        ...     for i in range(4):
        ...         x[i] = ti.simt.subgroup.reduce_add(i + 1)
        >>> x = ti.ndarray(ti.i32, 4)
        >>> example(x)
        >>> x.to_numpy().tolist()
        [10, 10, 10, 10]
    """
    kernel_only("subgroup.reduce_add")


@means("collective reduce_mul")
def reduce_mul(value: Any) -> Any:
    """Return the product of `value` in all lanes; kernels only.

    Example:
        >>> @ti.kernel
        ... def example(x: ti.types.ndarray(ti.i32, 1)):
        ...     for i in range(4):
        ...         x[i] = ti.simt.subgroup.reduce_mul(i + 1)
        >>> x = ti.ndarray(ti.i32, 4)
        >>> example(x)
        >>> x.to_numpy().tolist()
        [24, 24, 24, 24]
    """
    kernel_only("subgroup.reduce_mul")


@means("collective reduce_min")
def reduce_min(value: Any) -> Any:
    """Return the least of `value` in all lanes; kernels only.

    Example:
        >>> @ti.kernel
        ... def example(x: ti.types.ndarray(ti.i32, 1)):
        ...     for i in range(4):
        ...         x[i] = ti.simt.subgroup.reduce_min(i + 1)
        >>> x = ti.ndarray(ti.i32, 4)
        >>> example(x)
        >>> x.to_numpy().tolist()
        [1, 1, 1, 1]
    """
    kernel_only("subgroup.reduce_min")


@means("collective reduce_max")
def reduce_max(value: Any) -> Any:
    """Return the greatest of `value` in all lanes; kernels only.

    Example:
        >>> @ti.kernel
        ... def example(x: ti.types.ndarray(ti.i32, 1)):
        ...     for i in range(4):
        ...         x[i] = ti.simt.subgroup.reduce_max(i + 1)
        >>> x = ti.ndarray(ti.i32, 4)
        >>> example(x)
        >>> x.to_numpy().tolist()
        [4, 4, 4, 4]
    """
    kernel_only("subgroup.reduce_max")


@means("collective reduce_and")
def reduce_and(value: Any) -> Any:
    """Return the bitwise and of `value` in all lanes; kernels only.

    Example:
        >>> @ti.kernel
        ... def example(x: ti.types.ndarray(ti.i32, 1)):
        ...     for i in range(4):
        ...         x[i] = ti.simt.subgroup.reduce_and(i + 1)
        >>> x = ti.ndarray(ti.i32, 4)
        >>> example(x)
        >>> x.to_numpy().tolist()
        [0, 0, 0, 0]
    """
    kernel_only("subgroup.reduce_and")


@means("collective reduce_or")
def reduce_or(value: Any) -> Any:
    """Return the bitwise or of `value` in all lanes; kernels only.

    Example:
        >>> @ti.kernel
        ... def example(x: ti.types.ndarray(ti.i32, 1)):
        ...     for i in range(4):
        ...         x[i] = ti.simt.subgroup.reduce_or(i + 1)
        >>> x = ti.ndarray(ti.i32, 4)
        >>> example(x)
        >>> x.to_numpy().tolist()
        [7, 7, 7, 7]
    """
    kernel_only("subgroup.reduce_or")


@means("collective reduce_xor")
def reduce_xor(value: Any) -> Any:
    """Return the bitwise exclusive or of `value` in all lanes; kernels only.

    Example:
        >>> @ti.kernel
        ... def example(x: ti.types.ndarray(ti.i32, 1)):
        ...     for i in range(4):
        ...         x[i] = ti.simt.subgroup.reduce_xor(i + 1)
        >>> x = ti.ndarray(ti.i32, 4)
        >>> example(x)
        >>> x.to_numpy().tolist()
        [4, 4, 4, 4]
    """
    kernel_only("subgroup.reduce_xor")


@means("collective inclusive_add")
def inclusive_add(value: Any) -> Any:
    """Return the sum of `value` in the lanes up to this one; kernels only.

    Example:
        >>> @ti.kernel
        ... def example(x: ti.types.ndarray(ti.i32, 1)):
        ...     for i in range(4):
        ...         x[i] = ti.simt.subgroup.inclusive_add(i + 1)
        >>> x = ti.ndarray(ti.i32, 4)
        >>> example(x)
        >>> x.to_numpy().tolist()
        [1, 3, 6, 10]
    """
    kernel_only("subgroup.inclusive_add")


@means("collective inclusive_mul")
def inclusive_mul(value: Any) -> Any:
    """Return the product of `value` in the lanes up to this one; kernels only.

    Example:
        >>> @ti.kernel
        ... def example(x: ti.types.ndarray(ti.i32, 1)):
        ...     for i in range(4):
        ...         x[i] = ti.simt.subgroup.inclusive_mul(i + 1)
        >>> x = ti.ndarray(ti.i32, 4)
        >>> example(x)
        >>> x.to_numpy().tolist()
        [1, 2, 6, 24]
    """
    kernel_only("subgroup.inclusive_mul")


@means("collective inclusive_min")
def inclusive_min(value: Any) -> Any:
    """Return the least of `value` in the lanes up to this one; kernels only.

    Example:
        >>> @ti.kernel
        ... def example(x: ti.types.ndarray(ti.i32, 1)):
        ...     for i in range(4):
        ...         x[i] = ti.simt.subgroup.inclusive_min(i + 1)
        >>> x = ti.ndarray(ti.i32, 4)
        >>> example(x)
        >>> x.to_numpy().tolist()
        [1, 1, 1, 1]
    """
    kernel_only("subgroup.inclusive_min")


@means("collective inclusive_max")
def inclusive_max(value: Any) -> Any:
    """Return the greatest of `value` in the lanes up to this one; kernels only.

    Example:
        >>> @ti.kernel
        ... def example(x: ti.types.ndarray(ti.i32, 1)):
        ...     for i in range(4):
        ...         x[i] = ti.simt.subgroup.inclusive_max(i + 1)
        >>> x = ti.ndarray(ti.i32, 4)
        >>> example(x)
        >>> x.to_numpy().tolist()
        [1, 2, 3, 4]
    """
    kernel_only("subgroup.inclusive_max")


@means("collective inclusive_and")
def inclusive_and(value: Any) -> Any:
    """Return the bitwise and of `value` in the lanes up to this one; kernels only.

    Example:
        >>> @ti.kernel
        ... def example(x: ti.types.ndarray(ti.i32, 1)):
        ...     for i in range(4):
        ...         x[i] = ti.simt.subgroup.inclusive_and(i + 1)
        >>> x = ti.ndarray(ti.i32, 4)
        >>> example(x)
        >>> x.to_numpy().tolist()
        [1, 0, 0, 0]
    """
    kernel_only("subgroup.inclusive_and")


@means("collective inclusive_or")
def inclusive_or(value: Any) -> Any:
    """Return the bitwise or of `value` in the lanes up to this one; kernels only.

    Example:
        >>> @ti.kernel
        ... def example(x: ti.types.ndarray(ti.i32, 1)):
        ...     for i in range(4):
        ...         x[i] = ti.simt.subgroup.inclusive_or(i + 1)
        >>> x = ti.ndarray(ti.i32, 4)
        >>> example(x)
        >>> x.to_numpy().tolist()
        [1, 3, 3, 7]
    """
    kernel_only("subgroup.inclusive_or")


@means("collective inclusive_xor")
def inclusive_xor(value: Any) -> Any:
    """Return the bitwise exclusive or of `value` in the lanes up to this one; kernels only.

    Example:
        >>> @ti.kernel
        ... def example(x: ti.types.ndarray(ti.i32, 1)):
        ...     for i in range(4):
        ...         x[i] = ti.simt.subgroup.inclusive_xor(i + 1)
        >>> x = ti.ndarray(ti.i32, 4)
        >>> example(x)
        >>> x.to_numpy().tolist()
        [1, 3, 0, 4]
    """
    kernel_only("subgroup.inclusive_xor")


@means("collective exclusive_add")
def exclusive_add(value: Any) -> Any:
    """Return the sum of `value` in the lanes below this one; kernels only.

    Example:
        >>> @ti.kernel
        ... def example(x: ti.types.ndarray(ti.i32, 1)):
        ...     for i in range(4):
        ...         x[i] = ti.simt.subgroup.exclusive_add(i + 1)
        >>> x = ti.ndarray(ti.i32, 4)
        >>> example(x)
        >>> x.to_numpy().tolist()
        [0, 1, 3, 6]
    """
    kernel_only("subgroup.exclusive_add")


@means("collective exclusive_mul")
def exclusive_mul(value: Any) -> Any:
    """Return the product of `value` in the lanes below this one; kernels only.

    Example:
        >>> @ti.kernel
        ... def example(x: ti.types.ndarray(ti.i32, 1)):
        ...     for i in range(4):
        ...         x[i] = ti.simt.subgroup.exclusive_mul(i + 1)
        >>> x = ti.ndarray(ti.i32, 4)
        >>> example(x)
        >>> x.to_numpy().tolist()
        [1, 1, 2, 6]
    """
    kernel_only("subgroup.exclusive_mul")


@means("collective exclusive_min")
def exclusive_min(value: Any) -> Any:
    """Return the least of `value` in the lanes below this one; kernels only.

    Example:
        >>> @ti.kernel
        ... def example(x: ti.types.ndarray(ti.i32, 1)):
        ...     for i in range(4):
        ...         x[i] = ti.simt.subgroup.exclusive_min(i + 1)
        >>> x = ti.ndarray(ti.i32, 4)
        >>> example(x)
        >>> x.to_numpy().tolist()
        [2147483647, 1, 1, 1]
    """
    kernel_only("subgroup.exclusive_min")


@means("collective exclusive_max")
def exclusive_max(value: Any) -> Any:
    """Return the greatest of `value` in the lanes below this one; kernels only.

    Example:
        >>> @ti.kernel
        ... def example(x: ti.types.ndarray(ti.i32, 1)):
        ...     for i in range(4):
        ...         x[i] = ti.simt.subgroup.exclusive_max(i + 1)
        >>> x = ti.ndarray(ti.i32, 4)
        >>> example(x)
        >>> x.to_numpy().tolist()
        [-2147483648, 1, 2, 3]
    """
    kernel_only("subgroup.exclusive_max")


@means("collective exclusive_and")
def exclusive_and(value: Any) -> Any:
    """Return the bitwise and of `value` in the lanes below this one; kernels only.

    Example:
        >>> @ti.kernel
        ... def example(x: ti.types.ndarray(ti.i32, 1)):
        ...     for i in range(4):
        ...         x[i] = ti.simt.subgroup.exclusive_and(i + 1)
        >>> x = ti.ndarray(ti.i32, 4)
        >>> example(x)
        >>> x.to_numpy().tolist()
        [-1, 1, 0, 0]
    """
    kernel_only("subgroup.exclusive_and")


@means("collective exclusive_or")
def exclusive_or(value: Any) -> Any:
    """Return the bitwise or of `value` in the lanes below this one; kernels only.

    Example:
        >>> @ti.kernel
        ... def example(x: ti.types.ndarray(ti.i32, 1)):
        ...     for i in range(4):
        ...         x[i] = ti.simt.subgroup.exclusive_or(i + 1)
        >>> x = ti.ndarray(ti.i32, 4)
        >>> example(x)
        >>> x.to_numpy().tolist()
        [0, 1, 3, 3]
    """
    kernel_only("subgroup.exclusive_or")


@means("collective exclusive_xor")
def exclusive_xor(value: Any) -> Any:
    """Return the bitwise exclusive or of `value` in the lanes below this one; kernels only.

    Example:
        >>> @ti.kernel
        ... def example(x: ti.types.ndarray(ti.i32, 1)):
        ...     for i in range(4):
        ...         x[i] = ti.simt.subgroup.exclusive_xor(i + 1)
        >>> x = ti.ndarray(ti.i32, 4)
        >>> example(x)
        >>> x.to_numpy().tolist()
        [0, 1, 3, 0]
    """
    kernel_only("subgroup.exclusive_xor")


__all__ = [
    "all_equal", "all_true", "any_true", "barrier", "broadcast_first", "elect", "exclusive_add",
    "exclusive_and", "exclusive_max", "exclusive_min", "exclusive_mul", "exclusive_or", "exclusive_xor",
    "inclusive_add", "inclusive_and", "inclusive_max", "inclusive_min", "inclusive_mul", "inclusive_or",
    "inclusive_xor", "memory_barrier", "reduce_add", "reduce_and", "reduce_max", "reduce_min", "reduce_mul",
    "reduce_or", "reduce_xor", "shuffle", "shuffle_down", "shuffle_up", "shuffle_xor",
]  # fmt: skip
