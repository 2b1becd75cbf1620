"""Loops over the cells of a tree take them in the order of memory: indices from the number of a turn, or nested loops.

In: a parallel loop with an `order`. Out: texts. For x in dense(ij, (8, 4)).dense(ij, 4) the indices of turn `index` are

    i = int(index / 64 * 4 + index / 4 % 4)    j = int(index / 16 % 4 * 4 + index % 4)

and in C there is a loop for each of the four parts.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from ...ir.statements import Const, RangeFor


def index_of_iteration(loop: RangeFor, axis: int) -> tuple[str, bool]:
    """Return the index along an axis, counted from 0, of the turn number `index`; and whether that is a sum."""
    terms = []
    for number, digit in enumerate(loop.order):
        if digit.dimension != axis:
            continue
        inner = prod(other.extent for other in loop.order[number + 1 :])
        text = f"index / {inner}" if inner > 1 else "index"
        text = f"{text} % {digit.extent}" if number > 0 else text
        terms.append(f"{text} * {digit.weight}" if digit.weight > 1 else text)
    return " + ".join(terms) or "0", len(terms) > 1


def begin_of_loop(loop: RangeFor, axis: int) -> int:
    """Return the first index along an axis of a loop over cells."""
    begin = loop.starts[axis]
    assert isinstance(begin, Const)
    return int(begin.value)


def nested_loops(loop: RangeFor, names: list[str], head: Callable[[int], str]) -> tuple[list[str], list[str], str]:
    """Return the heads of C's loops, the text of the index along each axis, and that of the number of a turn.

    head: gives the loop over all of an axis.
    """
    heads: list[str] = []
    parts: list[list[str]] = [[] for _ in names]
    linear = ""
    for digit in loop.order:
        axis = digit.dimension
        if digit.extent == whole(loop, axis):
            heads.append(head(axis))
            begin = begin_of_loop(loop, axis)
            counted = f"({names[axis]} {'-' if begin > 0 else '+'} {abs(begin)})" if begin else names[axis]
        else:
            counted = part_name(names, axis, len(parts[axis]))
            heads.append(f"for (int {counted} = 0; {counted} < {digit.extent}; {counted}++)")
            parts[axis].append(f"{counted} * {digit.weight}" if digit.weight > 1 else counted)
        linear = f"{f'({linear})' if ' ' in linear else linear} * {digit.extent} + {counted}" if linear else counted
    indices = [_index(loop, axis, name, parts[axis]) for axis, name in enumerate(names)]
    return heads, indices, f"(uint32_t)({linear})"


def _index(loop: RangeFor, axis: int, name: str, parts: list[str]) -> str:
    begin = begin_of_loop(loop, axis)
    if whole(loop, axis) == 1:
        return str(begin)
    return " + ".join([*([str(begin)] if begin else []), *parts]) if parts else name


def whole(loop: RangeFor, axis: int) -> int:
    """Return how many cells lie along an axis."""
    return prod(digit.extent for digit in loop.order if digit.dimension == axis)


def part_name(names: list[str], axis: int, number: int) -> str:
    """Return what C calls one part of an index: `i_0` for the slowest of i."""
    name = f"{names[axis]}_{number}"
    while name in names:
        name += "_"
    return name


def part_names(loop: RangeFor, names: list[str]) -> list[str]:
    """Return the names of all parts that have a loop of their own."""
    counts = [0] * len(names)
    found: list[str] = []
    for digit in loop.order:
        if digit.extent != whole(loop, digit.dimension):
            found.append(part_name(names, digit.dimension, counts[digit.dimension]))
            counts[digit.dimension] += 1
    return found
