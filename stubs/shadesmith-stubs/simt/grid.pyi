from typing import Any, TypeAlias, TypeVar

def memfence() -> Any:
    """Order this thread's accesses to global memory for all threads; kernels only."""
