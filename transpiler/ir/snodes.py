"""SNode trees as data: nodes, and where the cells of each lie in memory.

In: nodes as a user stacked them. Out: sizes, offsets, and the `Digit`s an index is taken apart into. All who need an
address (the printers, the interpreter, Python scope) get it from here.

A dense node is an array of cells, row major in its axes, the lowest axis slowest. A cell with several children is a
struct of them in order of creation, aligned as in C:

    root.dense(i, 4).place(x, y)             x[i] at i * sizeof(cell) + offsetof(cell, x)
    root.dense(i, 4).dense(i, 8).place(x)    x[i] at i / 8 * 8 * sizeof(x) + i % 8 * sizeof(x), which is i * sizeof(x)

Source: measured on Taichi 1.7.4, arch cpu (tests/data/trees.json).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import NamedTuple

from .types import Type, aligned, alignment_bytes


@dataclass(eq=False, slots=True)
class Node:
    """A node of a tree. kind: "dense", or "place" for the elements of a field.

    parent: None for the top of a tree, which has one allocation. axes: those it splits, in ascending order, with an
    extent each. element: of a place.
    """

    kind: str
    parent: Node | None
    axes: tuple[int, ...] = ()
    extents: tuple[int, ...] = ()
    element: Type | None = None
    children: list[Node] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class Tree:
    """A tree as one kernel sees it. names: what its Python calls nodes and fields, where it shows them.

    elements: the types of all places, structs under the names they have in the kernel.
    """

    top: Node
    names: dict[Node, str] = field(default_factory=dict)
    elements: dict[Node, Type] = field(default_factory=dict)


class Digit(NamedTuple):
    """One part of an index: index[dimension] // weight % extent, which moves memory by stride_bytes."""

    dimension: int
    extent: int
    weight: int
    stride_bytes: int


# --- the shape of a tree --------------------------------------------------------------------------------------------


def path_to(node: Node) -> list[Node]:
    """Return the nodes from the top of the tree to `node`."""
    found = [node]
    while found[-1].parent is not None:
        found.append(found[-1].parent)
    return found[::-1]


def top_of(node: Node) -> Node:
    """Return the top of the tree that `node` is in."""
    while node.parent is not None:
        node = node.parent
    return node


def places_of(node: Node) -> Iterator[Node]:
    """Yield the places at and below `node`, in order of memory."""
    if node.kind == "place":
        yield node
    for child in node.children:
        yield from places_of(child)


def axes_of(node: Node) -> list[int]:
    """Return the axes that `node` and the nodes above it split, in order: the dimensions of an index."""
    return sorted({axis for above in path_to(node) for axis in above.axes})


def shape_of(node: Node) -> tuple[int, ...]:
    """Return how many cells there are along each dimension: extents of one axis multiply."""
    extents: dict[int, int] = {}
    for above in path_to(node):
        for axis, extent in zip(above.axes, above.extents, strict=True):
            extents[axis] = extents.get(axis, 1) * extent
    return tuple(extents[axis] for axis in sorted(extents))


# --- sizes ----------------------------------------------------------------------------------------------------------


def node_alignment(node: Node) -> int:
    """Return what the address of a node is a multiple of [bytes]."""
    if node.element is not None:
        return alignment_bytes(node.element)
    return max((node_alignment(child) for child in node.children), default=1)


def node_size_bytes(node: Node) -> int:
    """Return the memory of a place, or of all cells of a node."""
    return node.element.size_bytes if node.element is not None else prod(node.extents) * cell_size_bytes(node)


def cell_size_bytes(node: Node) -> int:
    """Return the distance of two cells."""
    return member_offsets(node.children)[1]


def member_offsets(members: Sequence[Node]) -> tuple[list[int], int]:
    """Return where the nodes of one cell begin, and the size of the cell [bytes]."""
    offsets: list[int] = []
    end = 0
    for member in members:
        offsets.append(aligned(end, node_alignment(member)))
        end = offsets[-1] + node_size_bytes(member)
    return offsets, aligned(end, max((node_alignment(member) for member in members), default=1))


def offset_in_cell(node: Node) -> int:
    """Return where a node begins in the cell that holds it [bytes]; 0 for the top."""
    if node.parent is None:
        return 0
    return member_offsets(node.parent.children)[0][node.parent.children.index(node)]


# --- addresses ------------------------------------------------------------------------------------------------------


def begin_of(node: Node) -> int:
    """Return where the first cell or element of `node` begins in the memory of its tree [bytes]."""
    return sum(offset_in_cell(above) for above in path_to(node))


def digits_of(node: Node) -> tuple[Digit, ...]:
    """Return the parts an index of `node` is taken apart into, the slowest in memory first.

    Parts of one extent are left out, and neighbours of one dimension that move memory evenly are one.
    """
    axes = axes_of(node)
    found: list[Digit] = []
    weights = [1] * len(axes)
    for above in reversed(path_to(node)):
        stride = 0 if not above.axes else cell_size_bytes(above)
        for axis, extent in zip(reversed(above.axes), reversed(above.extents), strict=True):
            dimension = axes.index(axis)
            digit = Digit(dimension, extent, weights[dimension], stride)
            stride *= extent
            weights[dimension] *= extent
            if extent > 1:
                found.append(digit)
    return joined(found[::-1])


def joined(digits: Sequence[Digit]) -> tuple[Digit, ...]:
    """Return the parts with neighbours made one where they are parts of one index and move memory evenly."""
    found: list[Digit] = []
    for digit in digits:
        outer = found[-1] if found else None
        if (
            outer is not None
            and outer.dimension == digit.dimension
            and outer.stride_bytes == digit.extent * digit.stride_bytes
        ):
            found[-1] = Digit(digit.dimension, outer.extent * digit.extent, digit.weight, digit.stride_bytes)
        else:
            found.append(digit)
    return tuple(found)


def position_of(digits: Sequence[Digit], index: Sequence[int]) -> tuple[int, ...]:
    """Return the parts of an index, counted from 0 along each dimension."""
    return tuple(index[d.dimension] // d.weight % d.extent for d in digits)


def is_row_major(node: Node) -> bool:
    """Tell whether a place is alone in its tree, with its elements row by row and without gaps."""
    path = path_to(node)
    if any(len(above.children) > 1 for above in path):
        return False
    dimensions = [digit.dimension for digit in digits_of(node)]
    return dimensions == sorted(set(dimensions))
