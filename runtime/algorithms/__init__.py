"""`ti.algorithms`: reductions, scans, sorting, selecting and counting, for fields and ndarrays on every target."""

from .library import (
    PrefixSumExecutor,
    argsort,
    histogram,
    parallel_sort,
    reduce,
    scan,
    select,
    sort_by_key,
    unique,
)

__all__ = [
    "PrefixSumExecutor", "argsort", "histogram", "parallel_sort", "reduce", "scan", "select", "sort_by_key", "unique",
]  # fmt: skip
