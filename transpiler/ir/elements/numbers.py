"""The number of an element in the memory of its array, as data: what each index contributes, the slowest first.

    x: 8 x 16, row-major            x[i, j] is element i * 16 + j
    x.mass in 32 particles          particles[i].mass is the member of cell i
    dense(ij, 4).dense(ij, 8)       x[i, j] is element (i / 8 * 4 + j / 8) * 64 + i % 8 * 8 + j % 8

In: an array. Out: its `FlatPart`s, or why its elements have no such number that a pass could compute.
"""

from __future__ import annotations

from typing import NamedTuple

from ..snodes import is_sparse, shape_of
from ..statements import Array
from .tree_arrays import cells_in, groups_of, steps_to


class FlatPart(NamedTuple):
    """One component of a number: index[axis] // weight % extent. extent: None of an ndarray, whose launch has it.

    is_whole: it is the index itself.
    """

    axis: int
    extent: int | None
    weight: int = 1
    is_whole: bool = True


def why_not_flat(array: Array) -> str:
    """Return why elements of an array have no flat number in the IR, "" if they have one."""
    if array.packing is not None or array.words is not None:
        return "its elements are bits of words"
    if array.is_shared:
        return "it is memory of one block of threads"
    if array.role or array.node is not None or (array.place is not None and is_sparse(array.place)):
        return "cells of a sparse tree are found when it runs"
    if array.strided:
        return "its strides come with each launch"
    if array.clamped:
        return "its indices are clamped one by one"
    if array.place is not None and len(steps_to(array.place)) > 1:
        return "it is an array within cells that contain others"
    return ""


def is_flat_already(array: Array) -> bool:
    """Return whether the indices are the number of the element already: one, which starts at 0, or none."""
    if array.place is not None:
        parts = flat_parts(array)
        return not parts or (len(parts) == 1 and parts[0].is_whole and not array.offset)
    return array.ndim == 0 or (array.ndim == 1 and not array.offset)


def flat_parts(array: Array) -> list[FlatPart]:
    """Return the parts of the number of an element, the slowest first; [] if there is only one element."""
    if array.place is None:
        extents = array.shape if array.shape is not None else (None,) * array.ndim
        return [FlatPart(axis, extent) for axis, extent in enumerate(extents)]
    chain, _ = steps_to(array.place)[0]
    if cells_in(chain) == 1:
        return []
    shape = shape_of(array.place)
    return [
        FlatPart(c.dimension, c.extent, c.weight, c.weight == 1 and c.extent == shape[c.dimension])
        for group in groups_of(chain, array.place)
        for c in group
    ]


def position_of_number(number: int, extents: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return the row-major position of an element among `extents`, None if there is none with that number."""
    position: list[int] = []
    for extent in reversed(extents):
        number, part = divmod(number, extent) if extent else (1, 0)
        position.append(part)
    return tuple(reversed(position)) if number == 0 else None
