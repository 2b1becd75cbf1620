"""What gradients need of arrays, found by what a launch is about to overwrite.

In: the regions that recorded calls need. Out: those that overlap a region, in the order in which they were recorded.
Regions are found by the memory, the array and the indices that the launch knows, so that a tape of n launches takes
time in n, also if each of them needs and overwrites another part of one array: `x[t + 1, i] = f(x[t, i])`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .contents import Region

Values = tuple[int, ...]
Waiting = tuple[int, Any, Region]
"""A number that counts up, the record of the call, and what it needs."""


class NeededRegions:
    """Regions that calls need and nothing has overwritten yet."""

    def __init__(self) -> None:
        self._arrays: dict[object, dict[int, _OfArray]] = {}  # by memory, then by the identity of the array
        self._count = 0

    def add(self, record: Any, region: Region) -> None:
        """Add a region."""
        arrays = self._arrays.get(region.key)
        if arrays is None:
            arrays = self._arrays[region.key] = {}
        known = arrays.get(id(region.array))
        if known is None:
            known = arrays[id(region.array)] = _OfArray(region.array)
        self._count += 1
        known.add((self._count, record, region))

    def overlapping(self, region: Region) -> list[tuple[Any, Region]]:
        """Return the regions that may have an element in common with a region, each with its record, in order."""
        arrays = self._arrays.get(region.key)
        if arrays is None:
            return []
        found = [bucket for known in arrays.values() for bucket in known.overlapping(region)]
        waiting = found[0] if len(found) == 1 else sorted((each for bucket in found for each in bucket), key=_number)
        return [(record, needed) for _, record, needed in waiting]

    def remove_overlapping(self, region: Region) -> None:
        """Remove what `overlapping` returns."""
        arrays = self._arrays.get(region.key)
        if arrays is None:
            return
        for known in list(arrays.values()):
            known.remove_overlapping(region)
            if not known.by_axes:
                del arrays[id(known.array)]


def _number(waiting: Waiting) -> int:
    return waiting[0]


class _OfArray:
    """The regions of one array. by_axes: by the axes whose index they know."""

    __slots__ = ("array", "by_axes")

    def __init__(self, array: Any) -> None:
        self.array = array
        self.by_axes: dict[tuple[int, ...], _OfAxes] = {}

    def add(self, waiting: Waiting) -> None:
        """Add a region."""
        axes = known_axes(waiting[2])
        found = self.by_axes.get(axes)
        if found is None:
            found = self.by_axes[axes] = _OfAxes(axes)
        found.add(waiting)

    def overlapping(self, region: Region) -> Iterator[list[Waiting]]:
        """Yield the lists of regions that overlap one of the same memory."""
        for known in self.by_axes.values():
            for values in known.overlapping(region if region.array is self.array else None):
                yield known.lists[values]

    def remove_overlapping(self, region: Region) -> None:
        """Remove what `overlapping` yields."""
        for axes, known in list(self.by_axes.items()):
            known.remove(known.overlapping(region if region.array is self.array else None))
            if not known.lists:
                del self.by_axes[axes]


class _OfAxes:
    """The regions of one array that know the indices of the same axes.

    lists: by these indices. _by_part: by some of these axes, and by the indices of these, the keys of `lists`: for
    regions that know these axes only.
    """

    __slots__ = ("axes", "lists", "_by_part")

    def __init__(self, axes: tuple[int, ...]) -> None:
        self.axes = axes
        self.lists: dict[Values, list[Waiting]] = {}
        self._by_part: dict[tuple[int, ...], dict[Values, dict[Values, None]]] = {}

    def add(self, waiting: Waiting) -> None:
        """Add a region."""
        indices: Any = waiting[2].indices
        values = tuple([indices[axis] for axis in self.axes])
        found = self.lists.get(values)
        if found is None:
            found = self.lists[values] = []
            for axes, parts in self._by_part.items():
                parts.setdefault(self._part(values, axes), {})[values] = None
        found.append(waiting)

    def overlapping(self, region: Region | None) -> list[Values]:
        """Return the keys of the regions that overlap one of the same array; None: one that may be anywhere."""
        indices: Any = () if region is None else region.indices
        axes = tuple([axis for axis in self.axes if axis < len(indices) and indices[axis] is not None])
        if not axes:
            return list(self.lists)
        wanted = tuple([indices[axis] for axis in axes])
        if axes == self.axes:
            return [wanted] if wanted in self.lists else []
        if axes not in self._by_part:
            parts: dict[Values, dict[Values, None]] = {}
            for values in self.lists:
                parts.setdefault(self._part(values, axes), {})[values] = None
            self._by_part[axes] = parts
        return list(self._by_part[axes].get(wanted, ()))

    def remove(self, keys: list[Values]) -> None:
        """Remove the regions with these keys."""
        for values in keys:
            del self.lists[values]
            for axes, parts in self._by_part.items():
                part = self._part(values, axes)
                del parts[part][values]
                if not parts[part]:
                    del parts[part]

    def _part(self, values: Values, axes: tuple[int, ...]) -> Values:
        return tuple([value for axis, value in zip(self.axes, values, strict=True) if axis in axes])


def known_axes(region: Region) -> tuple[int, ...]:
    """Return the axes whose index a region knows."""
    return tuple([axis for axis, index in enumerate(region.indices) if index is not None])
