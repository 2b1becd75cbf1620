from typing import Any, TypeAlias, TypeVar

def all_equal(value: Any) -> Any:
    """Return 1 if all lanes have the same value, else 0; kernels only."""
def all_true(cond: Any) -> Any:
    """Return 1 if `cond` holds in all lanes, else 0; kernels only."""
def any_true(cond: Any) -> Any:
    """Return 1 if `cond` holds in any lane, else 0; kernels only."""
def barrier() -> Any:
    """Wait for all lanes of the subgroup; their writes are visible afterwards; kernels only."""
def broadcast_first(value: Any) -> Any:
    """Return the value of the lowest lane; kernels only."""
def elect() -> Any:
    """Return 1 in the lowest active lane, 0 in the others; kernels only."""
def exclusive_add(value: Any) -> Any:
    """Return the sum of `value` in the lanes below this one; kernels only."""
def exclusive_and(value: Any) -> Any:
    """Return the bitwise and of `value` in the lanes below this one; kernels only."""
def exclusive_max(value: Any) -> Any:
    """Return the greatest of `value` in the lanes below this one; kernels only."""
def exclusive_min(value: Any) -> Any:
    """Return the least of `value` in the lanes below this one; kernels only."""
def exclusive_mul(value: Any) -> Any:
    """Return the product of `value` in the lanes below this one; kernels only."""
def exclusive_or(value: Any) -> Any:
    """Return the bitwise or of `value` in the lanes below this one; kernels only."""
def exclusive_xor(value: Any) -> Any:
    """Return the bitwise exclusive or of `value` in the lanes below this one; kernels only."""
def inclusive_add(value: Any) -> Any:
    """Return the sum of `value` in the lanes up to this one; kernels only."""
def inclusive_and(value: Any) -> Any:
    """Return the bitwise and of `value` in the lanes up to this one; kernels only."""
def inclusive_max(value: Any) -> Any:
    """Return the greatest of `value` in the lanes up to this one; kernels only."""
def inclusive_min(value: Any) -> Any:
    """Return the least of `value` in the lanes up to this one; kernels only."""
def inclusive_mul(value: Any) -> Any:
    """Return the product of `value` in the lanes up to this one; kernels only."""
def inclusive_or(value: Any) -> Any:
    """Return the bitwise or of `value` in the lanes up to this one; kernels only."""
def inclusive_xor(value: Any) -> Any:
    """Return the bitwise exclusive or of `value` in the lanes up to this one; kernels only."""
def memory_barrier() -> Any:
    """Order this lane's accesses to memory for the subgroup, without waiting; kernels only."""
def reduce_add(value: Any) -> Any:
    """Return the sum of `value` in all lanes; kernels only."""
def reduce_and(value: Any) -> Any:
    """Return the bitwise and of `value` in all lanes; kernels only."""
def reduce_max(value: Any) -> Any:
    """Return the greatest of `value` in all lanes; kernels only."""
def reduce_min(value: Any) -> Any:
    """Return the least of `value` in all lanes; kernels only."""
def reduce_mul(value: Any) -> Any:
    """Return the product of `value` in all lanes; kernels only."""
def reduce_or(value: Any) -> Any:
    """Return the bitwise or of `value` in all lanes; kernels only."""
def reduce_xor(value: Any) -> Any:
    """Return the bitwise exclusive or of `value` in all lanes; kernels only."""
def shuffle(value: Any, index: Any) -> Any:
    """Return the value of lane `index`; kernels only."""
def shuffle_down(value: Any, offset: Any) -> Any:
    """Return the value of the lane `offset` above this one, or its own where there is none; kernels only."""
def shuffle_up(value: Any, offset: Any) -> Any:
    """Return the value of the lane `offset` below this one, or its own where there is none; kernels only."""
def shuffle_xor(value: Any, mask: Any) -> Any:
    """Return the value of the lane whose number differs in the bits of `mask`; kernels only."""
