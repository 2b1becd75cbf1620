"""The arrays of cells in the memory of a tree: chains of nodes with one child each, and the steps between them.

In: a node. Out: what printers write structs and accessors from, and passes compute addresses from.
"""

from __future__ import annotations

from math import prod

from ..snodes import IndexComponent, Node, axes_of, merge_components, part_extents, path_in_part


def chain_of(node: Node) -> list[Node]:
    """Return `node` and the nodes below it that form one array of cells with it."""
    chain = [node]
    while len(inner := filled(chain[-1])) == 1 and inner[0].kind != "place":
        chain.append(inner[0])
    return chain


def filled(node: Node) -> list[Node]:
    """Return the children of `node` that occupy memory in its cells."""
    return [child for child in node.children if not child.has_pool and _holds_something(child)]


def _holds_something(node: Node) -> bool:
    return node.kind == "place" or bool(filled(node))


def single_place(chain: list[Node]) -> Node | None:
    """Return the place that the cells of an array consist of, None if they are structs."""
    inner = filled(chain[-1])
    return inner[0] if len(inner) == 1 else None


def cells_in(chain: list[Node]) -> int:
    """Return how many cells the array of a chain of nodes has."""
    return prod(extent for node in chain for extent in node.extents)


def steps_to(place: Node) -> list[tuple[list[Node], Node | None]]:
    """Return the arrays on the path to a place, each with the member of its cells that follows, None at the end."""
    path = path_in_part(place)
    steps: list[tuple[list[Node], Node | None]] = []
    while path[0] is not place:
        chain = chain_of(path[0])
        path = path[len(chain) :]
        steps.append((chain, None if single_place(chain) is path[0] else path[0]))
        if path[0].kind == "place":
            break
    return steps


def groups_of(chain: list[Node], place: Node) -> list[list[IndexComponent]]:
    """Return the index components that number the cells of a chain, node by node, slowest first."""
    axes = axes_of(place)
    weights = dict.fromkeys(axes, 1)
    of_node: dict[Node, list[IndexComponent]] = {}
    inside = set(chain)
    stride = 1
    path = path_in_part(place)
    for node in reversed(path):
        extents = node.extents if node is place else part_extents(node, path[0])
        for axis, extent in reversed(list(zip(node.axes, extents, strict=False))):
            if node in inside and extent > 1:
                component = IndexComponent(axes.index(axis), extent, weights[axis], stride)
                of_node.setdefault(node, []).insert(0, component)
                stride *= extent
            weights[axis] *= extent
    groups = [of_node[node] for node in chain if node in of_node]
    return _joined_groups(groups)


def _joined_groups(groups: list[list[IndexComponent]]) -> list[list[IndexComponent]]:
    """Join the last component of a node with the first of the next if both are of one index."""
    merged: list[list[IndexComponent]] = []
    for group in groups:
        if merged:
            joint = merge_components([merged[-1][-1], group[0]])
            if len(joint) == 1:
                merged[-1][-1], group = joint[0], group[1:]
        if group:
            merged.append(group)
    return merged
