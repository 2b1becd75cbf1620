"""An auxiliary array of a sparse tree as compiled kernels take it: an address. `sparse_tree.py` makes them.

What every kernel has captured is compared with this class; the modules of sparse trees are for programs with some.
"""

from __future__ import annotations

from typing import Any

from ..arrays.memory import Memory


class AuxiliaryArray:
    """An auxiliary array, or a range of one, for compiled kernels. tree: a `SparseTree`. shape: for the interpreter."""

    __slots__ = ("_offset_bytes", "capacity", "memory", "shape", "tree")

    def __init__(
        self, tree: Any, memory: Memory, offset_bytes: int = 0, shape: tuple[int, ...] = (), capacity: int = 0
    ) -> None:
        self.tree, self.memory, self._offset_bytes = tree, memory, offset_bytes
        self.shape, self.capacity = shape, capacity

    @property
    def allocation(self) -> AuxiliaryArray:
        """The array itself, which has an address."""
        return self

    @property
    def address(self) -> int:
        """Start address on the device."""
        return self.memory.allocation.address + self._offset_bytes
