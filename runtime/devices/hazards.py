"""Dependencies between the launches of a recording: launches that access the same memory, unless all only read it.

In: the access set of each launch, in order. Out: the launches that it must wait for. Independent launches may run
concurrently, which many small kernels need to fill a GPU.
"""

from __future__ import annotations

AccessSet = tuple[tuple[int, bool], ...] | None
"""Pieces of memory by unique numbers, and whether each is written; None: possibly any memory."""


class Hazards:
    """Computes dependencies of launches that are added in order."""

    def __init__(self) -> None:
        self._writers: dict[int, int] = {}
        self._readers: dict[int, list[int]] = {}
        self._with_access_set: list[int] = []
        self._last_unknown: int | None = None

    def add(self, number: int, access_set: AccessSet) -> set[int]:
        """Return the numbers of the launches that launch `number` must wait for, without indirect dependencies."""
        before = set() if self._last_unknown is None else {self._last_unknown}
        if access_set is None:
            found = before.union(self._with_access_set)
            self._writers, self._readers, self._with_access_set = {}, {}, []
            self._last_unknown = number
            return found
        self._with_access_set.append(number)
        found = set()
        for piece, is_written in _merged(access_set).items():
            readers = self._readers.setdefault(piece, [])
            if is_written and readers:
                found.update(readers)
            elif piece in self._writers:
                found.add(self._writers[piece])
            if is_written:
                self._writers[piece], self._readers[piece] = number, []
            else:
                readers.append(number)
        return found or before


def _merged(access_set: tuple[tuple[int, bool], ...]) -> dict[int, bool]:
    """Return each piece once; it is written if any of its accesses writes."""
    found: dict[int, bool] = {}
    for piece, is_written in access_set:
        found[piece] = is_written or found.get(piece, False)
    return found
