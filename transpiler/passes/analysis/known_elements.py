"""Known values of array elements, indexed by address: a store is compared only with elements that it may change.

Input: pointers and values of stores, in program order. Output: values of loads. Without the index, a kernel that stores
to hundreds of elements of one array would compare each with all others.
"""

from __future__ import annotations

from ...ir.nodes import Statement
from ...ir.statements import GlobalPtr, base_pointer
from .aliasing import MemoryObject, may_conflict, may_overlap, split_indices, underlying_object

Bases = tuple[Statement | None, ...]
Offsets = tuple[int, ...]


class KnownElements:
    """Values by pointer; pointers by array and run-time part of the indices, then by constant part of the indices."""

    def __init__(self) -> None:
        self.values: dict[Statement, Statement] = {}
        self.groups: dict[tuple[MemoryObject, Bases], dict[Offsets, list[Statement]]] = {}

    def get(self, pointer: Statement) -> Statement | None:
        """Return the value of the element at `pointer`, None if it is not known."""
        return self.values.get(pointer)

    def remember(self, pointer: Statement, value: Statement) -> None:
        """Record that the element at `pointer`, which was unknown, has the value `value`."""
        target = underlying_object(pointer)
        if target is not None:
            bases, offsets = _split(pointer)
            self.groups.setdefault((target, bases), {}).setdefault(offsets, []).append(pointer)
            self.values[pointer] = value

    def forget(self, written: Statement) -> None:
        """Forget all elements that a write through `written` may change."""
        target = underlying_object(written)
        if target is None or not self.values:
            return
        bases, offsets = _split(written)
        for (other, other_bases), elements in self.groups.items():
            if not may_overlap(target, other):
                continue
            is_near = other is target and other_bases == bases  # then other constants are other elements
            for key in [offsets] if is_near else list(elements):
                self._retain(elements, key, [p for p in elements.get(key, ()) if not may_conflict(written, p)])

    def forget_objects(self, written: list[MemoryObject]) -> None:
        """Forget all elements of arrays that may share memory with one of `written`."""
        for (target, _), elements in self.groups.items():
            if any(may_overlap(target, other) for other in written):
                for key in list(elements):
                    self._retain(elements, key, [])

    def _retain(self, elements: dict[Offsets, list[Statement]], key: Offsets, retained: list[Statement]) -> None:
        for pointer in elements.pop(key, ()):
            if pointer not in retained:
                del self.values[pointer]
        if retained:
            elements[key] = retained


def _split(pointer: Statement) -> tuple[Bases, Offsets]:
    base = base_pointer(pointer)
    parts = split_indices(base) if isinstance(base, GlobalPtr) else []
    return tuple(b for b, _ in parts), tuple(offset for _, offset in parts)
