"""Loops over the cells of a tree run in the order of memory: indices from an iteration's number, or nested loops.

In: a parallel loop with an `order`. Out: expressions. For x in dense(ij, (8, 4)).dense(ij, 4) the indices of iteration
`index` are

    i = int(index / 64 * 4 + index / 4 % 4)    j = int(index / 16 % 4 * 4 + index % 4)

and in C there is a loop for each of the four components.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from ...ir.statements import Const, RangeFor


def index_of_iteration(loop: RangeFor, axis: int) -> tuple[str, bool]:
    """Return the index of iteration `index` along an axis, counted from 0; and whether it is a sum."""
    terms = []
    for number, component in enumerate(loop.order):
        if component.dimension != axis:
            continue
        inner = prod(other.extent for other in loop.order[number + 1 :])
        term = f"index / {inner}" if inner > 1 else "index"
        term = f"{term} % {component.extent}" if number > 0 else term
        terms.append(f"{term} * {component.weight}" if component.weight > 1 else term)
    return " + ".join(terms) or "0", len(terms) > 1


def first_index(loop: RangeFor, axis: int) -> int:
    """Return the first index along an axis of a loop over cells."""
    start = loop.starts[axis]
    assert isinstance(start, Const)
    return int(start.value)


def nested_loops(loop: RangeFor, names: list[str], head: Callable[[int], str]) -> tuple[list[str], list[str], str]:
    """Return the heads of C's loops, the index along each axis, and the number of an iteration.

    head: returns the head of a loop over a whole axis.
    """
    heads: list[str] = []
    parts: list[list[str]] = [[] for _ in names]
    linear = ""
    for component in loop.order:
        axis = component.dimension
        if component.extent == cells_along(loop, axis):
            heads.append(head(axis))
            start = first_index(loop, axis)
            counted = f"({names[axis]} {'-' if start > 0 else '+'} {abs(start)})" if start else names[axis]
        else:
            counted = part_name(names, axis, len(parts[axis]))
            heads.append(f"for (int {counted} = 0; {counted} < {component.extent}; {counted}++)")
            parts[axis].append(f"{counted} * {component.weight}" if component.weight > 1 else counted)
        linear = f"{f'({linear})' if ' ' in linear else linear} * {component.extent} + {counted}" if linear else counted
    indices = [_index(loop, axis, name, parts[axis]) for axis, name in enumerate(names)]
    return heads, indices, f"(uint32_t)({linear})"


def _index(loop: RangeFor, axis: int, name: str, parts: list[str]) -> str:
    start = first_index(loop, axis)
    if cells_along(loop, axis) == 1:
        return str(start)
    return " + ".join([*([str(start)] if start else []), *parts]) if parts else name


def cells_along(loop: RangeFor, axis: int) -> int:
    """Return the number of cells along an axis."""
    return prod(component.extent for component in loop.order if component.dimension == axis)


def part_name(names: list[str], axis: int, number: int) -> str:
    """Return the name of one component of an index in C: `i_0` for the slowest of i."""
    name = f"{names[axis]}_{number}"
    while name in names:
        name += "_"
    return name


def part_names(loop: RangeFor, names: list[str]) -> list[str]:
    """Return the names of all components that have a loop."""
    counts = [0] * len(names)
    names_of_loops: list[str] = []
    for component in loop.order:
        if component.extent != cells_along(loop, component.dimension):
            names_of_loops.append(part_name(names, component.dimension, counts[component.dimension]))
            counts[component.dimension] += 1
    return names_of_loops
