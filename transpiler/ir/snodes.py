"""SNode trees as data: nodes, and where the cells of each are in memory.

Input: nodes as a user stacked them. Output: sizes, offsets, and the `IndexComponent`s of an index. Every user of an
address (the printers, the interpreter, Python scope) gets it from here.

A dense node is an array of cells, row-major in its axes, the lowest axis slowest. A cell with several children is a
struct of them in order of creation, aligned as in C:

    root.dense(i, 4).place(x, y)             x[i] at i * sizeof(cell) + offsetof(cell, x)
    root.dense(i, 4).dense(i, 8).place(x)    x[i] at i / 8 * 8 * sizeof(x) + i % 8 * sizeof(x), which is i * sizeof(x)

The cells of a pointer node and the chunks of a dynamic node are in a *pool*, a separate memory that is addressed by
cell numbers. So such a tree has several *parts*: the nodes above all pools, and each pool. Auxiliary arrays record
which cells are active; they are stored outside the cells (`ir/sparse.py`).

Source: measured on Taichi 1.7.4, arch cpu (tests/data/trees.json).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from math import prod
from typing import NamedTuple

from ..lazy_dataclasses import dataclass
from .types import Type, aligned, alignment_bytes


@dataclass(eq=False, slots=True)
class Node:
    """A node of a tree.

    Attributes:
        kind: "dense", "pointer", "bitmasked", "dynamic", or "place" for the elements of a field.
        parent: None for the top of a tree.
        axes: the axes that it splits, in ascending order.
        extents: one for each axis.
        element: type of a place.
        name: the name that the user gave a field.
        children: in order of creation.
        chunk: of a dynamic node, the number of its cells that are allocated together.
    """

    kind: str
    parent: Node | None
    axes: tuple[int, ...] = ()
    extents: tuple[int, ...] = ()
    element: Type | None = None
    name: str = ""
    children: list[Node] = field(default_factory=list)
    chunk: int = 0

    @property
    def has_pool(self) -> bool:
        """Whether its cells have memory only while they are active."""
        return self.kind in ("pointer", "dynamic")

    @property
    def is_sparse(self) -> bool:
        """Whether its cells can be inactive."""
        return self.kind in ("pointer", "bitmasked", "dynamic")


@dataclass(eq=False, slots=True)
class Tree:
    """A tree as one kernel sees it.

    Attributes:
        top: the top node.
        names: Python names of nodes and fields, if the kernel's source shows them.
        elements: the types of all places, with the names that structs have in the kernel.
    """

    top: Node
    names: dict[Node, str] = field(default_factory=dict)
    elements: dict[Node, Type] = field(default_factory=dict)


class IndexComponent(NamedTuple):
    """One component of an index: index[dimension] // weight % extent, with `stride_bytes` between values."""

    dimension: int
    extent: int
    weight: int
    stride_bytes: int


# --- the shape of a tree --------------------------------------------------------------------------------------------


def path_to(node: Node) -> list[Node]:
    """Return the nodes from the top of the tree to `node`."""
    path = [node]
    while path[-1].parent is not None:
        path.append(path[-1].parent)
    return path[::-1]


def top_of(node: Node) -> Node:
    """Return the top of the tree that `node` is in."""
    while node.parent is not None:
        node = node.parent
    return node


def memory_of(node: Node) -> Node:
    """Return the node whose memory contains `node`: the nearest node above it with a pool, else the top of the tree."""
    while node.parent is not None:
        node = node.parent
        if node.has_pool:
            break
    return node


def pool_above(node: Node) -> Node | None:
    """Return the nearest node above with a pool, None if there is none."""
    return owner if (owner := memory_of(node)).has_pool and owner is not node else None


def path_in_part(node: Node) -> list[Node]:
    """Return the nodes from the top of the part of the tree that contains `node` to `node`.

    The top of a part is the node whose cells are its pool, or the top of the tree. A top with a pool is its own part.
    """
    path = [node]
    while path[-1].parent is not None:
        path.append(path[-1].parent)
        if path[-1].has_pool:
            break
    return path[::-1]


def sparse_above(node: Node) -> list[Node]:
    """Return the sparse nodes from the top to `node`, itself included."""
    return [above for above in path_to(node) if above.is_sparse]


def is_sparse(node: Node) -> bool:
    """Return whether cells of `node` are active or not."""
    return bool(sparse_above(node))


def part_extents(node: Node, part: Node) -> tuple[int, ...]:
    """Return the extents of a node within a part of the tree.

    A pool cell of a pointer node has no axes, that of a dynamic node has the extent of its chunk.
    """
    if node is not part or not node.has_pool:
        return node.extents
    return (node.chunk,) if node.kind == "dynamic" else ()


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
    """Return the alignment of a node's address [bytes]."""
    if node.element is not None:
        return alignment_bytes(node.element)
    return max((node_alignment(child) for child in node.children if not child.has_pool), default=1)


def node_size_bytes(node: Node) -> int:
    """Return the memory of a place, or of all cells of a node; a node with a pool takes none of the cell above."""
    return node.element.size_bytes if node.element is not None else prod(node.extents) * cell_size_bytes(node)


def cell_size_bytes(node: Node) -> int:
    """Return the distance between two cells."""
    return member_offsets(node.children)[1]


def member_offsets(members: Sequence[Node]) -> tuple[list[int], int]:
    """Return the offsets of the nodes of one cell, and the size of the cell [bytes]."""
    offsets: list[int] = []
    end = 0
    for member in members:
        own = not member.has_pool
        offsets.append(aligned(end, node_alignment(member)) if own else end)
        end = offsets[-1] + (node_size_bytes(member) if own else 0)
    return offsets, aligned(end, max((node_alignment(member) for member in members if not member.has_pool), default=1))


def offset_in_cell(node: Node) -> int:
    """Return the offset of a node in the cell that contains it [bytes]; 0 for the top."""
    if node.parent is None:
        return 0
    return member_offsets(node.parent.children)[0][node.parent.children.index(node)]


# --- addresses ------------------------------------------------------------------------------------------------------


def start_offset(node: Node) -> int:
    """Return the offset of the first cell or element of `node` in the memory of its tree, or in a cell of a pool."""
    return sum(offset_in_cell(above) for above in path_in_part(node)[1:])


def index_components_of(node: Node) -> tuple[IndexComponent, ...]:
    """Return the components of an index of `node`, the slowest in memory first; in a pool, within a cell.

    Components with extent 1 are omitted, and adjacent components of one dimension with a common stride are merged.
    """
    axes = axes_of(node)
    components: list[IndexComponent] = []
    weights = [1] * len(axes)
    path = path_in_part(node)
    for above in reversed(path):
        stride = 0 if not above.axes else cell_size_bytes(above)
        pairs = list(zip(above.axes, part_extents(above, path[0]), strict=False))
        for axis, extent in reversed(pairs):
            dimension = axes.index(axis)
            component = IndexComponent(dimension, extent, weights[dimension], stride)
            stride *= extent
            weights[dimension] *= extent
            if extent > 1:
                components.append(component)
    return merge_components(components[::-1])


def merge_components(components: Sequence[IndexComponent]) -> tuple[IndexComponent, ...]:
    """Return the components, merging neighbours of one index that have a common stride."""
    merged: list[IndexComponent] = []
    for component in components:
        outer = merged[-1] if merged else None
        if (
            outer is not None
            and outer.dimension == component.dimension
            and outer.stride_bytes == component.extent * component.stride_bytes
        ):
            merged[-1] = IndexComponent(
                component.dimension, outer.extent * component.extent, component.weight, component.stride_bytes
            )
        else:
            merged.append(component)
    return tuple(merged)


def position_of(components: Sequence[IndexComponent], index: Sequence[int]) -> tuple[int, ...]:
    """Return the values of the components of an index, which counts from 0 along each dimension."""
    return tuple(index[d.dimension] // d.weight % d.extent for d in components)


def memory_order(node: Node) -> tuple[IndexComponent, ...]:
    """Return the index components in the order in which a loop over all cells iterates; () for row-major."""
    if pool_above(node) is not None:
        return ()
    components: list[IndexComponent] = []
    for component in index_components_of(node):
        if components and components[-1].dimension == component.dimension:
            component = component._replace(extent=components.pop().extent * component.extent)
        components.append(component)
    dimensions = [component.dimension for component in components]
    return () if dimensions == sorted(set(dimensions)) else tuple(components)


def index_at(order: Sequence[IndexComponent], iteration: int, dimensions: int) -> list[int]:
    """Return the index, from 0 along each dimension, of an iteration of a loop with such an order."""
    index = [0] * dimensions
    for component in reversed(order):
        iteration, part = divmod(iteration, component.extent)
        index[component.dimension] += part * component.weight
    return index


def cell_components(node: Node) -> tuple[IndexComponent, ...]:
    """Return the components of an index of `node` that number its cells within a cell of the pool above it.

    Strides count cells. A dynamic node counts its chunks.
    """
    axes = axes_of(node)
    path = path_in_part(node)
    components: list[IndexComponent] = []
    weights = [1] * len(axes)
    stride = 1
    for above in reversed(path):
        extents = above.extents if above is node else part_extents(above, path[0])
        pairs = list(zip(above.axes, extents, strict=False))
        for axis, extent in reversed(pairs):
            dimension, weight = axes.index(axis), weights[axes.index(axis)]
            weights[dimension] *= extent
            if above is node and node.kind == "dynamic":
                weight, extent = node.chunk, chunks_of(node)
            components.append(IndexComponent(dimension, extent, weight, stride))
            stride *= extent
    return tuple(components[::-1])


def chunks_of(node: Node) -> int:
    """Return the maximum number of chunks of a list of a dynamic node."""
    return -(-node.extents[0] // node.chunk)


def pool_cell_bytes(node: Node) -> int:
    """Return the size of one cell of a pool: a cell of a pointer node, or a chunk of a dynamic node."""
    return cell_size_bytes(node) * (node.chunk if node.kind == "dynamic" else 1)


def is_row_major(node: Node) -> bool:
    """Return whether a place is alone in its tree, with its elements in row-major order and without gaps."""
    path = path_to(node)
    if [above for above in path if above.is_sparse or len(above.children) > 1]:
        return False
    splitting = [above for above in path if above.axes]
    if len(splitting) == 1:  # most
        axes = [axis for axis, extent in zip(splitting[0].axes, splitting[0].extents) if extent > 1]
        return axes == sorted(set(axes))
    dimensions = [component.dimension for component in index_components_of(node)]
    return dimensions == sorted(set(dimensions))


def nodes_of(node: Node) -> list[Node]:
    """Return `node` and all nodes below it."""
    return [node, *(inner for child in node.children for inner in nodes_of(child))]


def is_sparse_tree(top: Node) -> bool:
    """Return whether a tree has sparse nodes."""
    return any(node.is_sparse for node in nodes_of(top))
