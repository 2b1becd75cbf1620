from typing import Any, TypeAlias, TypeVar

def active_mask() -> Any:
    """Return a bit for each active lane of the warp; kernels only."""
def all_nonzero(mask: Any, predicate: Any) -> Any:
    """Return 1 if the predicate of all lanes in `mask` is not 0, else 0; kernels only."""
def any_nonzero(mask: Any, predicate: Any) -> Any:
    """Return 1 if the predicate of any lane in `mask` is not 0, else 0; kernels only."""
def ballot(predicate: Any) -> Any:
    """Return a bit for each lane whose predicate is not 0; kernels only."""
def match_all(mask: Any, val: Any) -> Any:
    """Return the lanes in `mask` if all have one value of `val`, else 0; kernels only."""
def match_any(mask: Any, value: Any) -> Any:
    """Return a bit for each lane in `mask` that has this lane's value; kernels only."""
def shfl_down_f32(mask: Any, val: Any, offset: Any) -> Any:
    """Return `val` of the lane `offset` above this one, or its own where there is none; kernels only. mask: the lanes."""
def shfl_down_i32(mask: Any, val: Any, offset: Any) -> Any:
    """Return `val` of the lane `offset` above this one, or its own where there is none; kernels only. mask: the lanes."""
def shfl_sync_f32(mask: Any, val: Any, offset: Any) -> Any:
    """Return `val` of lane `offset`; kernels only. mask: the lanes that take part."""
def shfl_sync_i32(mask: Any, val: Any, offset: Any) -> Any:
    """Return `val` of lane `offset`; kernels only. mask: the lanes that take part."""
def shfl_up_f32(mask: Any, val: Any, offset: Any) -> Any:
    """Return `val` of the lane `offset` below this one, or its own where there is none; kernels only. mask: the lanes."""
def shfl_up_i32(mask: Any, val: Any, offset: Any) -> Any:
    """Return `val` of the lane `offset` below this one, or its own where there is none; kernels only. mask: the lanes."""
def shfl_xor_i32(mask: Any, val: Any, offset: Any) -> Any:
    """Return `val` of the lane whose number differs in the bits of `offset`; kernels only. mask: the lanes."""
def sync(mask: Any) -> Any:
    """Wait for the lanes in `mask`; their writes are visible afterwards; kernels only."""
def unique(mask: Any, predicate: Any) -> Any:
    """Return 1 if the predicate is 0 in all lanes in `mask` or in none, else 0; kernels only."""
