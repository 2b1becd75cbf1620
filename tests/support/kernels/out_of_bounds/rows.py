"""The table of accesses out of bounds, and how a row is written; `where.py` and `what.py` hold the rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

LAST, MANY = 3, 10**6


class Row(NamedTuple):
    """make: takes the fields, gives a call that fails at the line ending with `# out`. The rest is to be reported.

    array: its Python name. chain: functions from the kernel to the access. iteration: indices of the parallel loop.
    """

    make: Callable[[Any], Callable[[], Any]]
    array: str
    index: tuple[int, ...]
    shape: tuple[int, ...]
    chain: tuple[str, ...]
    iteration: dict[str, int]


ROWS: dict[str, Row] = {}


def outside(
    array: str, index: tuple[int, ...], shape: tuple[int, ...], chain: tuple[str, ...] = ("run",), **iteration: int
) -> Callable[[Callable[[Any], Callable[[], Any]]], Callable[[Any], Callable[[], Any]]]:
    """Register the decorated function as a row."""

    def register(make: Callable[[Any], Callable[[], Any]]) -> Callable[[Any], Callable[[], Any]]:
        assert make.__name__ not in ROWS
        ROWS[make.__name__] = Row(make, array, index, shape, chain, iteration)
        return make

    return register
