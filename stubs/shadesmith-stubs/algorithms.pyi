from typing import Any, TypeAlias, TypeVar

from shadesmith.runtime.algorithms.library import PrefixSumExecutor as PrefixSumExecutor
def argsort(keys: Any) -> Any:
    """Return the numbers of the elements of `keys` in their order, as an ndarray of i32; `keys` stays as it is."""
def histogram(x: Any, bins: Any, low: Any, high: Any) -> Any:
    """Return how many elements of `x` are in each of `bins` equal parts of [low, high], as an ndarray of i32."""
def parallel_sort(keys: Any, values: Any = ...) -> None:
    """Sort `keys` in place, and move `values` alike. Equal keys keep their order, and NaNs come last."""
def reduce(x: Any, op: Any = ...) -> Any:
    """Return all elements of `x` combined by `op`, "add", "mul", "max" or "min", in the type of the elements."""
def scan(x: Any, out: Any = ..., op: Any = ..., inclusive: Any = ...) -> Any:
    """Store in each element of `out` all elements of `x` up to it combined; without `inclusive`, those before it."""
def select(x: Any, mask: Any) -> Any:
    """Return the elements of `x` where `mask` is not 0, in their order, as a new ndarray."""
def sort_by_key(keys: Any, values: Any) -> None:
    """Sort `keys` in place, and move `values` alike."""
def unique(x: Any) -> Any:
    """Return the different elements of `x` in increasing order and how often each occurs, as new ndarrays."""
