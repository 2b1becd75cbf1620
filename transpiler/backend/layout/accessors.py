"""Accessors: one macro an array, which holds all arithmetic of its addresses, so that the body reads like the Python.

#define x(i, j) args.x_data[(i) * 4 + (j)]
#define mass(i) args.particles[i].mass
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from ...ir.snodes import Node, memory_of, pool_above
from ...ir.sparse import CELL_MEMBERS, COUNTERS, Need, needed_indices
from ...ir.statements import Array
from ...ir.textures import Texture
from ..languages.common.naming import Names
from ..languages.common.target import Target
from .sparse_functions import SparseSource
from .tree_structs import CELL, TreeSource, place_source

INDEX_LETTERS = "ijklmnopqrst"


@dataclass(slots=True)
class Reach:
    """How a text gets at memory.

    texts: of pointers by array or part of a tree, of extents by (array, axis), of strides by ("stride", array, axis).
    """

    target: Target
    texts: Mapping[object, str]
    trees: Mapping[Node, TreeSource]
    cells: SparseSource | None


@dataclass(slots=True)
class Accessors:
    """names: of arrays in the text; shared arrays have no macro. lines: definitions of macros.

    inside: name and definition of the macro that takes the cell of a pool before the indices.
    """

    names: dict[Array, str] = field(default_factory=dict)
    lines: dict[Array, str] = field(default_factory=dict)
    inside: dict[Array, tuple[str, str]] = field(default_factory=dict)


@dataclass(slots=True)
class UsedMemory:
    """What a text reaches: arrays, arrays by the cell of a pool, textures, and what it asks of sparse nodes."""

    arrays: dict[Array, None] = field(default_factory=dict)
    inside: dict[Array, None] = field(default_factory=dict)
    cells: dict[Need, None] = field(default_factory=dict)
    textures: dict[Texture, None] = field(default_factory=dict)

    def with_all(self, others: Iterable[UsedMemory]) -> UsedMemory:
        """Return what this and others reach."""
        found = UsedMemory(dict(self.arrays), dict(self.inside), dict(self.cells), dict(self.textures))
        for other in others:
            found.arrays |= other.arrays
            found.inside |= other.inside
            found.cells |= other.cells
            found.textures |= other.textures
        return found


def definitions(
    found: Accessors, used: UsedMemory, cells: SparseSource | None
) -> tuple[list[str], list[str], list[str]]:
    """Return the macros and the functions that a source needs for what it reaches, and the helpers that they call."""
    macros, functions, helpers = ([], [], []) if cells is None else cells.lines(used.cells)
    arrays = sorted({**used.arrays, **used.inside}, key=lambda a: a.slot)
    for array in (array for array in arrays if not array.is_shared):
        macros += [found.inside[array][1]] if array in found.inside else []
        macros += [found.lines[array]] if array in used.arrays else []
    return macros, functions, helpers


def accessors(arrays: Iterable[Array], shared: Iterable[Array], reach: Reach, taken: frozenset[str]) -> Accessors:
    """Return the macros of arrays, and the names of all. taken: words that no macro may be."""
    found = Accessors()
    free = Names(taken | frozenset(reach.cells.words() if reach.cells is not None else ()))
    for array in sorted(arrays, key=lambda a: a.slot):
        name = found.names[array] = free.declare(array.name)
        letters = list(INDEX_LETTERS[: array.ndim])
        parameters = ", ".join(letters)  # also for 0-D: an object-like macro would hit members of its name
        text = _place(array, letters, reach)
        if array.place is not None and pool_above(array.place) is not None:
            inside = free.declare(f"{name}_in")
            needed = [letters[dimension] for dimension in needed_indices(array.place)]
            found.inside[array] = (inside, f"#define {inside}({', '.join([CELL, *needed])}) {text}")
            cell = cell_of(array.place, clamped(array, less_offset(array, letters), reach.texts), reach.cells)
            text = f"{inside}({', '.join([cell, *needed])})"
        found.lines[array] = f"#define {name}({parameters}) {text}"
    for array in sorted(shared, key=lambda a: a.slot):
        found.names[array] = free.declare(array.name or "tile")
    return found


def _place(array: Array, letters: list[str], reach: Reach) -> str:
    """Return the text of an element whose indices `letters`, and cell of a pool, are the arguments of a macro."""
    target, texts = reach.target, reach.texts
    indices = clamped(array, less_offset(array, letters), texts)
    if array.place is not None:
        part = memory_of(array.place)
        cell = CELL if pool_above(array.place) is not None else ""
        return place_source(reach.trees[part], array.place, texts[part], indices, target, cell)
    if reach.cells is not None and array.node is not None and (array.role in COUNTERS or array.role == "cells"):
        return reach.cells.of_pool(array.node, array.role) + (f"[{letters[0]}]" if letters else "")
    key: object = (array.role, array.node) if array.role in CELL_MEMBERS else array
    data = texts.get(key, texts.get(array, "")) + ("" if target.language.has_pointers else ".v")
    return f"{data}[{row_major(array, indices, target, texts)}]"


def cell_of(place: Node, indices: Sequence[str], cells: SparseSource | None) -> str:
    """Return the number of the cell of a pool that an element lies in, "" without a pool."""
    pool = pool_above(place)
    if pool is None or cells is None or ("number", pool) not in cells.needs:
        return ""
    return f"{cells.word('number', pool)}({', '.join(cells.scaled(place, pool, indices))})"


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
    wide = target.language.has_pointers and (array.shape is None or prod(array.shape) >= 2**31) and array.ndim > 1
    text = f"(long){factor(indices[0])}" if wide else indices[0] if array.ndim == 1 else factor(indices[0])
    for axis in range(1, array.ndim):
        extent = texts[array, axis] if array.shape is None else str(array.shape[axis])
        text = f"({text})" if axis > 1 else text
        text = f"{text} * {extent} + {factor(indices[axis])}" if extent != "1" else f"{text} + {factor(indices[axis])}"
    return text
