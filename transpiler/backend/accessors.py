"""Accessors: one macro an array, which holds all arithmetic of its addresses, so that the body reads like the Python.

#define x(i, j) args.x_data[(i) * 4 + (j)]
#define mass(i) args.particles[i].mass
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod

from ..ir.snodes import Node, top_of
from ..ir.statements import Array
from .naming import Names
from .target import Target
from .trees import TreeText, place_text

INDEX_LETTERS = "ijklmnopqrst"


def accessors(
    arrays: Iterable[Array],
    shared: Iterable[Array],
    target: Target,
    texts: Mapping[object, str],
    trees: Mapping[Node, TreeText],
    taken: frozenset[str],
) -> tuple[dict[Array, str], dict[Array, str]]:
    """Return each array's name in the text and the definition of its macro; shared arrays have no macro.

    texts: of pointers by array or top of a tree, and of extents by (array, axis).
    """
    names: dict[Array, str] = {}
    lines: dict[Array, str] = {}
    free = Names(taken)
    for array in sorted(arrays, key=lambda a: a.slot):
        names[array] = free.declare(array.name)
        letters = list(INDEX_LETTERS[: array.ndim])
        parameters = f"({', '.join(letters)})"  # also for 0-D: an object-like macro would hit members of its name
        lines[array] = f"#define {names[array]}{parameters} {_place(array, letters, target, texts, trees)}"
    for array in sorted(shared, key=lambda a: a.slot):
        names[array] = free.declare(array.name or "tile")
    return names, lines


def _place(
    array: Array, letters: list[str], target: Target, texts: Mapping[object, str], trees: Mapping[Node, TreeText]
) -> str:
    """Return the text of an element whose indices are the arguments `letters` of a macro."""
    indices = less_offset(array, letters)
    if array.place is not None:
        top = top_of(array.place)
        return place_text(trees[top], array.place, texts[top], indices, target)
    data = texts[array] + ("" if target.has_pointers else ".v")
    return f"{data}[{row_major(array, indices, target, texts)}]"


def less_offset(array: Array, indices: list[str]) -> list[str]:
    """Return the texts of indices counted from 0; one that is moved is a sum."""
    if not array.offset:
        return indices
    moved = zip(indices, array.offset, strict=True)
    return [f"({index}) {'-' if begin > 0 else '+'} {abs(begin)}" if begin else index for index, begin in moved]


def row_major(array: Array, indices: list[str], target: Target, texts: Mapping[object, str]) -> str:
    """Return the number of an element, row by row; 64 bits wide where 32 may not do and the language has pointers."""
    if not indices:
        return "0"
    wide = target.has_pointers and (array.shape is None or prod(array.shape) >= 2**31) and array.ndim > 1
    text = f"(long)({indices[0]})" if wide else indices[0] if array.ndim == 1 else f"({indices[0]})"
    for axis in range(1, array.ndim):
        extent = texts[array, axis] if array.shape is None else str(array.shape[axis])
        text = f"({text})" if axis > 1 else text
        text = f"{text} * {extent} + ({indices[axis]})"
    return text
