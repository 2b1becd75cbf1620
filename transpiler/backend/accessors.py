"""Accessors: one macro an array, which holds all arithmetic of its addresses, so that the body reads like the Python.

#define x(i, j) args.x_data[(i) * 4 + (j)]
#define mass(i) args.particles[i].mass
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod
from typing import Any

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

    texts: of pointers by array or top of a tree, of extents by (array, axis), of strides by ("stride", array, axis).
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
    indices = clamped(array, less_offset(array, letters), texts)
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


def clamped(array: Array, indices: list[str], texts: Mapping[Any, str]) -> list[str]:
    """Return the texts of indices that stay within the extents, where the array is to be read so.

    texts: of extents by (array, axis).
    """
    if not array.clamped:
        return indices
    return [f"clamp_index({index}, {texts[array, axis]})" for axis, index in enumerate(indices)]


def factor(index: str) -> str:
    """Return the text of an index as an operand: a letter stands for any argument of a macro."""
    return index if index.startswith("clamp_index(") else f"({index})"


def strided(indices: list[str], strides: list[str], begin: str | None) -> str:
    """Return the number of an element from the texts of its indices and strides. begin: of the first element."""
    terms = [f"{index} * {stride}" for index, stride in zip(indices, strides, strict=True)]
    return " + ".join([begin, *terms] if begin else terms)


def row_major(array: Array, indices: list[str], target: Target, texts: Mapping[object, str]) -> str:
    """Return the number of an element, row by row or by the strides of the launch.

    It is 64 bits wide where 32 may not do and the language has pointers; strides are so by themselves.
    """
    if not indices:
        return "0"
    if array.strided:
        return strided(
            [factor(index) for index in indices],
            [texts["stride", array, axis] for axis in range(array.ndim)],
            texts.get(("begin", array)),
        )
    wide = target.has_pointers and (array.shape is None or prod(array.shape) >= 2**31) and array.ndim > 1
    text = f"(long){factor(indices[0])}" if wide else indices[0] if array.ndim == 1 else factor(indices[0])
    for axis in range(1, array.ndim):
        extent = texts[array, axis] if array.shape is None else str(array.shape[axis])
        text = f"({text})" if axis > 1 else text
        text = f"{text} * {extent} + {factor(indices[axis])}"
    return text
