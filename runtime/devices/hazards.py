"""Which launches of a recording have to wait for which: those that touch the same memory, unless all only read it.

In: what each launch touches, in order. Out: the launches that it must come after. Launches without such a relation may
run side by side; many small kernels fill a GPU only so.
"""

from __future__ import annotations

AccessSet = tuple[tuple[int, bool], ...] | None
"""Pieces of memory by a number of their own, and whether each is written; None: perhaps any memory."""


class Hazards:
    """Follows launches in order."""

    def __init__(self) -> None:
        self._writers: dict[int, int] = {}
        self._readers: dict[int, list[int]] = {}
        self._known: list[int] = []
        self._last_unknown: int | None = None

    def add(self, number: int, access_set: AccessSet) -> set[int]:
        """Return the numbers of the launches that launch `number` must come after; what those wait for is left out."""
        before = set() if self._last_unknown is None else {self._last_unknown}
        if access_set is None:
            found = before.union(self._known)
            self._writers, self._readers, self._known = {}, {}, []
            self._last_unknown = number
            return found
        self._known.append(number)
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
    """Return each piece once, as written where any of its places says so."""
    found: dict[int, bool] = {}
    for piece, is_written in access_set:
        found[piece] = is_written or found.get(piece, False)
    return found
