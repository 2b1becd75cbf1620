"""Accessors: one macro per array with all its address arithmetic, so that the body of a task reads like the Python.

#define x(i, j) args.x_data[(i) * 4 + (j)]
#define mass(i) args.particles[i].mass
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from math import prod
from typing import Any

from ...ir.elements.tree_arrays import steps_to
from ...ir.nodes import Statement
from ...ir.snodes import Node, memory_of, pool_above
from ...ir.sparse import CELL_MEMBERS, NodeUse
from ...ir.sparse_storage import COUNTERS, needed_indices
from ...ir.statements import Array, GlobalPtr, Temporary
from ...ir.textures import Texture
from ...lazy_dataclasses import dataclass
from ..languages.common.naming import Names
from ..languages.common.reserved import NAMES_IN_BLOCKS
from ..languages.common.target import Target
from .constants import NamedConstants
from .sparse_functions import SparseSource
from .tree_structs import CELL, TreeSource, place_source
from .whole_loads import helpers_of, load_function

INDEX_LETTERS = "ijklmnopqrst"


@dataclass(slots=True)
class MemoryExpressions:
    """The expressions by which a source reaches memory.

    expressions: of pointers by array or part of a tree, of extents by (array, axis), of strides by
    ("stride", array, axis).
    """

    target: Target
    expressions: Mapping[object, str]
    trees: Mapping[Node, TreeSource]
    cells: SparseSource | None
    constants: NamedConstants = field(default_factory=NamedConstants)
    wide: Mapping[Array, tuple[str, int]] = field(default_factory=dict)
    """For arrays of which several neighbours are accessed together: the name of their type, and how many they are."""
    flat: frozenset[Array] = frozenset()
    """Arrays of which elements are accessed by number."""
    read_only: frozenset[Array] = frozenset()
    """Arrays of numbers that nothing writes while the kernel runs, of which a thread has several loads in flight."""
    words: Mapping[Array, str] = field(default_factory=dict)
    """For arrays whose elements are stored in parts: the name of the type of these."""
    rows: Mapping[Array, str] = field(default_factory=dict)
    """For arrays whose elements functions load: the name of the type of what they load at a time."""
    by_rows: frozenset[Array] = frozenset()
    """Fields of which a thread loads neighbours one after another, which the compiler may do together."""
    by_elements: frozenset[Array] = frozenset()
    """Fields whose elements are aligned to more than their type."""
    apart: frozenset[Statement] = frozenset()
    """Loads of what nothing writes while the task runs."""
    variables: Mapping[Array, str] = field(default_factory=dict)
    """Fields that nothing writes, and which each task reaches through a variable: its name."""

    def loaded(self, load: Statement, source: str) -> str:
        """Return how a load is written. source: of what it loads."""
        return self.target.language.read_only_load.format(source) if load in self.apart else source


@dataclass(slots=True)
class Accessors:
    """How arrays are accessed in the source.

    names: of all arrays; shared arrays have no macro.
    lines: definitions of macros.
    inside: name and definition of the macro that takes the cell of a pool before the indices.
    copies: name and definition of the macro of the copy that a block of threads has of an array.
    wide: name and definition of the macro of several neighbours.
    flat, wide_flat: name and definition of the macro of an element, and of several neighbours, by the number.
    words: name and definition of the macro of a number in memory.
    loads: functions in place of macros, and the keys of what they need.
    """

    names: dict[Array, str] = field(default_factory=dict)
    lines: dict[Array, str] = field(default_factory=dict)
    inside: dict[Array, tuple[str, str]] = field(default_factory=dict)
    copies: dict[Array, tuple[str, str]] = field(default_factory=dict)
    wide: dict[Array, tuple[str, str]] = field(default_factory=dict)
    flat: dict[Array, tuple[str, str]] = field(default_factory=dict)
    wide_flat: dict[Array, tuple[str, str]] = field(default_factory=dict)
    words: dict[Array, tuple[str, str]] = field(default_factory=dict)
    loads: dict[Array, tuple[str, tuple[str, ...]]] = field(default_factory=dict)

    def name_of(self, pointer: GlobalPtr) -> str:
        """Return the macro of an element, or of several neighbours."""
        if pointer.by_word:
            return self.words[pointer.array][0]
        if pointer.lanes == 1:
            return self.flat[pointer.array][0] if pointer.is_flat else self.names[pointer.array]
        return (self.wide_flat if pointer.is_flat else self.wide)[pointer.array][0]


@dataclass(slots=True)
class UsedMemory:
    """What a source accesses: arrays, several neighbours in arrays, arrays by the numbers of elements or of what these
    consist of, arrays by the cell of a pool, textures, properties of sparse nodes, named numbers, and temporaries."""

    arrays: dict[Array, None] = field(default_factory=dict)
    wide: dict[Array, None] = field(default_factory=dict)
    flat: dict[Array, None] = field(default_factory=dict)
    wide_flat: dict[Array, None] = field(default_factory=dict)
    words: dict[Array, None] = field(default_factory=dict)
    inside: dict[Array, None] = field(default_factory=dict)
    cells: dict[NodeUse, None] = field(default_factory=dict)
    textures: dict[Texture, None] = field(default_factory=dict)
    constants: dict[str, None] = field(default_factory=dict)
    temporaries: dict[Temporary, None] = field(default_factory=dict)
    passed: dict[str, None] = field(default_factory=dict)
    """Macros of arrays that are parameters of functions."""

    def __bool__(self) -> bool:
        """Return whether it accesses anything."""
        arrays = self.arrays or self.wide or self.flat or self.wide_flat or self.words or self.inside or self.passed
        return bool(arrays or self.cells or self.textures or self.constants or self.temporaries)

    def add(self, pointer: GlobalPtr) -> None:
        """Record an access of an element, or of several neighbours."""
        if pointer.by_word:
            self.words[pointer.array] = None
        elif pointer.lanes == 1:
            (self.flat if pointer.is_flat else self.arrays)[pointer.array] = None
        else:
            (self.wide_flat if pointer.is_flat else self.wide)[pointer.array] = None

    def with_all(self, others: Iterable[UsedMemory]) -> UsedMemory:
        """Return what this and others access."""
        union = UsedMemory()
        for used in (self, *others):
            union.arrays |= used.arrays
            union.wide |= used.wide
            union.flat |= used.flat
            union.wide_flat |= used.wide_flat
            union.words |= used.words
            union.inside |= used.inside
            union.cells |= used.cells
            union.textures |= used.textures
            union.constants |= used.constants
            union.temporaries |= used.temporaries
            union.passed |= used.passed
        return union


def definitions(
    names: Accessors, used: UsedMemory, cells: SparseSource | None, copied: Sequence[Array] = ()
) -> tuple[list[str], list[str], list[str]]:
    """Return the macros and functions that a source needs for its accesses, and the helpers that these call.

    copied: arrays whose macro is that of the copy.
    """
    macros, functions, helpers = ([], [], []) if cells is None else cells.lines(used.cells)
    every = {**used.arrays, **used.inside, **used.wide, **used.flat, **used.wide_flat, **used.words}
    arrays = sorted(every, key=lambda array: array.binding)
    for array in (array for array in arrays if not array.is_shared):
        macros += [names.inside[array][1]] if array in names.inside else []
        line = names.copies[array][1] if array in copied else names.lines[array]
        if array in used.arrays:
            text, needed = names.loads.get(array, ("", ()))
            macros += [] if text else [line]
            functions += [text] if text else []
            helpers += needed
        macros += [names.wide[array][1]] if array in used.wide else []
        macros += [names.flat[array][1]] if array in used.flat else []
        macros += [names.wide_flat[array][1]] if array in used.wide_flat else []
        macros += [names.words[array][1]] if array in used.words else []
    return [*macros, *used.passed], functions, helpers


def accessors(
    arrays: Iterable[Array],
    shared: Iterable[Array],
    memory: MemoryExpressions,
    taken: frozenset[str],
    copied: Iterable[Array] = (),
) -> Accessors:
    """Return the macros of arrays, and the names of all. taken: names that no macro may have.

    copied: arrays of which blocks of threads have copies.
    """
    macros = Accessors()
    free = Names(taken | frozenset(memory.cells.identifiers() if memory.cells is not None else ()))
    for array in sorted(arrays, key=lambda a: a.binding):
        name = macros.names[array] = free.declare(array.name)
        letters = list(INDEX_LETTERS[: array.ndim])
        parameters = ", ".join(letters)  # also for 0-D: an object-like macro would replace members of its name
        element = _element(array, letters, memory)
        if array.place is not None and pool_above(array.place) is not None:
            inside = free.declare(f"{name}_in")
            needed = [letters[dimension] for dimension in needed_indices(array.place)]
            macros.inside[array] = (inside, f"#define {inside}({', '.join([CELL, *needed])}) {element}")
            cell = cell_of(array.place, clamped(array, less_offset(array, letters), memory.expressions), memory.cells)
            element = f"{inside}({', '.join([cell, *needed])})"
        macros.lines[array] = f"#define {name}({parameters}) {element}"
        if array in memory.rows:
            macros.loads[array] = _load(array, name, letters, memory)
        if array in memory.wide:
            wide = free.declare(f"{name}{memory.wide[array][1]}")
            if array.place is None:
                macros.wide[array] = wide, f"#define {wide}({parameters}) {_neighbours(array, letters, memory)}"
        if array in memory.flat:
            by_number = free.declare(f"{name}_at")
            macros.flat[array] = by_number, f"#define {by_number}(n) {_numbered(array, 'n', memory)}"
        if array in memory.flat and array in memory.wide:
            by_number = free.declare(f"{name}{memory.wide[array][1]}_at")
            macros.wide_flat[array] = by_number, f"#define {by_number}(n) {_numbered_neighbours(array, 'n', memory)}"
        if array in memory.words:
            word = free.declare(f"{name}_word")
            source = memory.target.language.word_access.format(
                type=memory.words[array], data=memory.expressions[array], number="n"
            )
            macros.words[array] = word, f"#define {word}(n) {source}"
    free.reserved |= NAMES_IN_BLOCKS if not memory.target.language.shared_qualifier else frozenset()
    for array in sorted(shared, key=lambda a: a.binding):
        macros.names[array] = free.declare(array.name or "tile")
    for array in sorted(copied, key=lambda a: a.binding):
        copy, letters = free.declare(f"{array.name}_copy"), list(INDEX_LETTERS[: array.ndim])
        number = row_major(array, letters, memory.target, memory.expressions, memory.constants)
        macros.copies[array] = copy, f"#define {macros.names[array]}({', '.join(letters)}) {copy}[{number}]"
    return macros


def _load(array: Array, name: str, letters: list[str], memory: MemoryExpressions) -> tuple[str, tuple[str, ...]]:
    """Return the function that loads an element, and the keys of what it needs."""
    language = memory.target.language
    number = row_major(array, less_offset(array, letters), memory.target, memory.expressions, memory.constants)
    text = load_function(array, name, letters, number, memory.expressions[array], memory.rows[array], language)
    return text, helpers_of(array, language)


def passed_accessor(array: Array, name: str, memory: MemoryExpressions) -> str:
    """Return the macro of an array that is the parameter `name` of a function: `#define f(i) f[i]`."""
    letters = list(INDEX_LETTERS[: array.ndim])
    passed = replace(memory, expressions={**memory.expressions, array: name}, variables={})
    element = _element(array, letters, passed)
    return f"#define {name}({', '.join(letters)}) {element}"


def _element(array: Array, letters: list[str], memory: MemoryExpressions) -> str:
    """Return the element whose indices `letters`, and cell of a pool, are the parameters of a macro."""
    target, expressions = memory.target, memory.expressions
    indices = clamped(array, less_offset(array, letters), expressions)
    if array.place is not None:
        part = memory_of(array.place)
        cell = CELL if pool_above(array.place) is not None else ""
        element = place_source(memory.trees[part], array.place, expressions[part], indices, target, cell)
        return target.language.read_only_load.format(element) if array in memory.read_only else element
    if memory.cells is not None and array.node is not None and (array.role in COUNTERS or array.role == "cells"):
        return memory.cells.of_pool(array.node, array.role) + (f"[{letters[0]}]" if letters else "")
    key: object = (array.role, array.node) if array.role in CELL_MEMBERS else array
    data = memory.variables.get(array) or expressions.get(key, expressions.get(array, ""))
    data += "" if target.language.has_pointers else ".v"
    number = row_major(array, indices, target, expressions, memory.constants)
    if array in memory.by_rows:  # NVRTC finds neighbours among sums that it may not take for negative
        data = data if array in memory.variables else target.language.field_start.format(data)
        number = target.language.as_unsigned(number)
    elif array in memory.by_elements:
        data = target.language.field_start.format(data)
    element = f"{data}[{number}]"
    is_read_only = array in memory.read_only and array not in memory.variables
    return target.language.read_only_load.format(element) if is_read_only else element


def _neighbours(array: Array, letters: list[str], memory: MemoryExpressions) -> str:
    """Return several neighbours along the last axis, from the element whose indices are the parameters of a macro."""
    number = row_major(array, less_offset(array, letters), memory.target, memory.expressions, memory.constants)
    return _numbered_neighbours(array, number, memory)


def _numbered_neighbours(array: Array, number: str, memory: MemoryExpressions) -> str:
    """Return several neighbours, from the element with a number."""
    kind, lanes = memory.wide[array]
    data = memory.expressions[array if array.place is None else memory_of(array.place)]
    return memory.target.language.wide_access.format(
        type=kind, data=data, number=number, factor=factor(number), lanes=lanes
    )


def _numbered(array: Array, number: str, memory: MemoryExpressions) -> str:
    """Return the element with a number, which is the parameter of a macro."""
    language = memory.target.language
    part = array if array.place is None else memory_of(array.place)
    element = f"{memory.expressions[part]}{'' if language.has_pointers else '.v'}[{number}]"
    if array.place is not None:
        _, member = steps_to(array.place)[0]
        return element if member is None else f"{element}.{memory.trees[memory_of(array.place)].members[member]}"
    return language.read_only_load.format(element) if array in memory.read_only else element


def cell_of(place: Node, indices: Sequence[str], cells: SparseSource | None) -> str:
    """Return the number of the pool's cell that contains an element, "" without a pool."""
    pool = pool_above(place)
    if pool is None or cells is None or ("number", pool) not in cells.needs:
        return ""
    return f"{cells.identifier('number', pool)}({', '.join(cells.scaled(place, pool, indices))})"


def less_offset(array: Array, indices: list[str]) -> list[str]:
    """Return the indices counted from 0; an index of an axis with an offset becomes a sum."""
    if not array.offset:
        return indices
    pairs = zip(indices, array.offset, strict=True)
    return [f"({index}) {'-' if start > 0 else '+'} {abs(start)}" if start else index for index, start in pairs]


def clamped(array: Array, indices: list[str], extents: Mapping[Any, str]) -> list[str]:
    """Return the indices, clamped to the extents if the array requires it. extents: by (array, axis)."""
    if not array.clamped:
        return indices
    return [f"clamp_index({index}, {extents[array, axis]})" for axis, index in enumerate(indices)]


def factor(index: str) -> str:
    """Return an index as an operand: a macro's parameter may be replaced by any expression."""
    return index if index.startswith("clamp_index(") else f"({index})"


def strided(indices: list[str], strides: list[str], first: str | None) -> str:
    """Return the number of an element from its indices and strides. first: number of the first element."""
    terms = [f"{index} * {stride}" for index, stride in zip(indices, strides, strict=True)]
    return " + ".join([first, *terms] if first else terms)


def row_major(
    array: Array, indices: list[str], target: Target, expressions: Mapping[object, str], constants: NamedConstants
) -> str:
    """Return the number of an element in row-major order, or by the strides of the launch.

    It has 64 bits if 32 may be too few and the language has pointers, and wherever a language wants that; strides have
    64 bits anyway where there are pointers.
    """
    if not indices:
        return "0"
    if array.strided:
        return strided(
            [factor(index) for index in indices],
            [expressions["stride", array, axis] for axis in range(array.ndim)],
            expressions.get(("begin", array)),
        )
    language = target.language
    wide = language.has_pointers and (array.shape is None or prod(array.shape) >= 2**31) or language.has_wide_indices
    wide = wide and array.ndim > 1
    number = f"(long long){factor(indices[0])}" if wide else indices[0] if array.ndim == 1 else factor(indices[0])
    for axis in range(1, array.ndim):
        extent = expressions[array, axis] if array.shape is None else constants.extent(array, axis)
        outer = f"({number})" if axis > 1 else number
        outer = f"{outer} * {extent}" if extent != "1" else outer
        number = f"{outer} + {factor(indices[axis])}"
    return number
