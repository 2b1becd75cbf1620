"""Runs the statements on cells of sparse nodes for the interpreter, as defined in `ir.sparse_storage`.

In: the arrays of a kernel, by binding; auxiliary arrays are found by node and role. Out: the result of each statement.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...ir import sparse_storage
from ...ir.snodes import Node, pool_above
from ...ir.sparse import (
    Activate,
    Append,
    CellIndex,
    CellNumber,
    Deactivate,
    DeactivateEntry,
    IsActive,
    Length,
    PoolCount,
)
from ...ir.tasks import Kernel


class Cells:
    """The auxiliary arrays of a kernel's trees; see `ir.sparse_storage.WordAccess`."""

    def __init__(self, kernel: Kernel, arrays: Sequence[np.ndarray[Any, Any]]) -> None:
        self.arrays = {(a.node, a.role): arrays[a.binding] for a in kernel.arrays if a.node is not None}

    def get(self, node: Node, role: str, position: int = 0) -> int:
        """Return a word."""
        return int(self.arrays[node, role].reshape(-1)[position])

    def set(self, node: Node, role: str, value: int, position: int = 0) -> None:
        """Change a word."""
        self.arrays[node, role].reshape(-1)[position] = value

    def capacity(self, pool: Node) -> int:
        """Return the capacity of a pool."""
        return self.arrays[pool, "cells"].size // 2

    def number(self, node: Node, index: Sequence[int]) -> int:
        """Return the cell of the pool that contains an element."""
        pool = pool_above(node)
        assert pool is not None
        return sparse_storage.number_of(self, pool, sparse_storage.scaled(node, pool, index))


class PresentCell:
    """The number of the pool cell that contains an element, at each access: it may be activated after the pointer."""

    __slots__ = ("_cells", "_index", "_node")

    def __init__(self, cells: Cells, node: Node, index: Sequence[int]) -> None:
        self._cells, self._node, self._index = cells, node, index

    def __index__(self) -> int:
        return int(self._cells.number(self._node, self._index))


def cell_table(machine: Any) -> dict[type, Callable[[Any], Any]]:
    """Return the function that evaluates each class of statement. machine: has `values` of operands and `cells`."""

    def index(statement: Any) -> list[int]:
        return [int(machine.values[operand]) for operand in statement.indices]

    def call(function: Callable[..., Any], type: Any) -> Callable[[Any], Any]:
        return lambda s: type(function(machine.cells, s.node, index(s)))

    def count(statement: PoolCount) -> Any:
        if statement.counter == "capacity":
            return np.int32(machine.cells.capacity(statement.node))
        return np.int32(machine.cells.get(statement.node, statement.counter))

    return {
        Activate: call(sparse_storage.activate, np.uint32),
        Deactivate: call(sparse_storage.deactivate, np.bool_),
        DeactivateEntry: lambda s: sparse_storage.deactivate_entry(machine.cells, s.node, int(machine.values[s.entry])),
        IsActive: call(sparse_storage.is_active, np.bool_),
        CellNumber: call(sparse_storage.number_of, np.uint32),
        Append: call(sparse_storage.append, np.int32),
        Length: call(sparse_storage.length_of, np.int32),
        PoolCount: count,
        CellIndex: lambda s: machine.values[s.value],
    }
