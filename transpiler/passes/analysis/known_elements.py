"""What cells of arrays are known to hold, found by where they lie: a store asks only cells it may touch.

In: pointers and values, as a pass meets stores. Out: values of loads. A kernel that stores to hundreds of elements of
one array would otherwise compare each with all others.
"""

from __future__ import annotations

from ...ir.nodes import Statement
from ...ir.statements import GlobalPtr, base_pointer
from .aliasing import Place, may_conflict, may_overlap, place_of, split_indices

Bases = tuple[Statement | None, ...]
Offsets = tuple[int, ...]


class KnownElements:
    """Values by pointer; pointers by array and run-time part of the indices, then by constant part of the indices."""

    def __init__(self) -> None:
        self.values: dict[Statement, Statement] = {}
        self.groups: dict[tuple[Place, Bases], dict[Offsets, list[Statement]]] = {}

    def get(self, pointer: Statement) -> Statement | None:
        """Return what the cell at `pointer` holds, None if that is not known."""
        return self.values.get(pointer)

    def remember(self, pointer: Statement, value: Statement) -> None:
        """Note that the cell at `pointer`, of which nothing was known, holds `value`."""
        place = place_of(pointer)
        if place is not None:
            bases, offsets = _split(pointer)
            self.groups.setdefault((place, bases), {}).setdefault(offsets, []).append(pointer)
            self.values[pointer] = value

    def forget(self, written: Statement) -> None:
        """Forget all cells that a write through `written` may change."""
        place = place_of(written)
        if place is None or not self.values:
            return
        bases, offsets = _split(written)
        for (other, other_bases), cells in self.groups.items():
            if not may_overlap(place, other):
                continue
            is_near = other is place and other_bases == bases  # then other constants are other cells
            for key in [offsets] if is_near else list(cells):
                self._keep(cells, key, [p for p in cells.get(key, ()) if not may_conflict(written, p)])

    def forget_places(self, written: list[Place]) -> None:
        """Forget all cells of arrays that may share memory with one of `written`."""
        for (place, _), cells in self.groups.items():
            if any(may_overlap(place, other) for other in written):
                for key in list(cells):
                    self._keep(cells, key, [])

    def _keep(self, cells: dict[Offsets, list[Statement]], key: Offsets, kept: list[Statement]) -> None:
        for pointer in cells.pop(key, ()):
            if pointer not in kept:
                del self.values[pointer]
        if kept:
            cells[key] = kept


def _split(pointer: Statement) -> tuple[Bases, Offsets]:
    base = base_pointer(pointer)
    parts = split_indices(base) if isinstance(base, GlobalPtr) else []
    return tuple(b for b, _ in parts), tuple(offset for _, offset in parts)
