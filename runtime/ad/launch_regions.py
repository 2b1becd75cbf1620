"""The regions of arrays that a launch and its gradient access, from what is known of the gradient's instance.

In: the instance of a gradient, and the arguments of a launch. Out: `Region`s with their purposes, as in
`ElementAccess`. What is the same for all launches is found once: most indices are known only at a launch, but the
memory of a field is not asked for again, and a region without indices of arguments is one object.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..launch.derivatives import bindings_of
from .contents import Region, evaluated, memory_key

Entry = tuple[Any, int | None, Any, object, Region | None]
"""An access, the parameter of its array, or the captured array and its memory, and the region if it never differs."""


class LaunchRegions:
    """The regions of launches. It keeps the arrays that kernels capture alive, until `clear`."""

    def __init__(self) -> None:
        self._known: dict[Any, list[Entry]] = {}

    def clear(self) -> None:
        """Forget all kernels."""
        self._known.clear()

    def of(self, gradient: Any, arguments: Sequence[Any]) -> list[tuple[str, Region]]:
        """Return the regions of a launch in order, each with its purpose; of equal ones the first."""
        entries = self._known.get(gradient)
        if entries is None:
            entries = self._known[gradient] = _entries(gradient)
        found: list[tuple[str, Region]] = []
        keys: dict[int, object] = {}
        for access, parameter, array, key, region in entries:
            if region is None:
                if parameter is not None:
                    array = arguments[parameter]
                    if parameter not in keys:
                        keys[parameter] = memory_key(array)
                    key = keys[parameter]
                region = Region(array, evaluated(access.indices, arguments), access.location, access.name, key)
            found.append((access.purpose, region))
        return found


def _entries(gradient: Any) -> list[Entry]:
    found: dict[object, Entry] = {}
    for access, parameter, array in bindings_of(gradient):
        key = memory_key(array) if parameter is None else None
        is_same = parameter is None and not any(isinstance(index, tuple) for index in access.indices)
        region = Region(array, access.indices, access.location, access.name, key) if is_same else None
        found.setdefault((access.purpose, access.binding, access.indices), (access, parameter, array, key, region))
    return list(found.values())
