from typing import Any, TypeAlias, TypeVar

def SharedArray(shape: Any, dtype: Any) -> Any:
    """Memory that the threads of one block share: `SharedArray(64, ti.f32)`; kernels only, inside a parallel loop."""
def global_thread_idx() -> Any:
    """Return the number of this thread among all threads of the loop; kernels only."""
def mem_sync() -> Any:
    """Wait as `sync` does; kernels only."""
def sync() -> Any:
    """Wait for all threads of the block; their writes are visible afterwards; kernels only."""
def sync_all_nonzero(predicate: Any) -> Any:
    """Wait for the block; return 1 if the predicate of all threads is not 0, else 0; kernels only."""
def sync_any_nonzero(predicate: Any) -> Any:
    """Wait for the block; return 1 if the predicate of any thread is not 0, else 0; kernels only."""
def sync_count_nonzero(predicate: Any) -> Any:
    """Wait for the block; return how many threads have a predicate that is not 0; kernels only."""
def thread_idx() -> Any:
    """Return the number of this thread in its block; kernels only."""
