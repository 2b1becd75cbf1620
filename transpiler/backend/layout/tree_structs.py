"""SNode trees as text: structs for cells of several members, and the way from a tree's pointer to an element.

In: the trees of a kernel. Out: `TreeSource`s: what each pointer points to, the structs to declare, and the text of each
field's place. A chain of nodes with one child each is one array with one index:

    root.dense(i, n).place(mass, velocity)          struct Particle { float mass; vec2 velocity; };
                                                    args.particles[i].mass
    root.dense(ij, (8, 4)).dense(ij, 4).place(x)    args.x_data[(i / 4 * 4 + j / 4) * 16 + i % 4 * 4 + j % 4]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from ...ir.snodes import (
    IndexComponent,
    Node,
    Tree,
    axes_of,
    cell_size_bytes,
    joined,
    member_offsets,
    memory_of,
    node_size_bytes,
    part_extents,
    path_in_part,
    places_of,
    shape_of,
)
from ...ir.types import Type, scalars_of, u1, u8
from ..languages.common.naming import Names
from ..languages.common.syntax import type_name
from ..languages.common.syntax_forms import PRIMARY
from ..languages.common.target import Target
from .structs import INDENT, Structs

CELL = "cell"
"""What a macro calls the cell of a pool that it is given."""
UNKNOWN_MEMBER = "other"
"""What a member is called whose field the kernel's Python does not show."""
UNKNOWN_CELLS, UNKNOWN_BLOCKS = "cells", "blocks"
"""What an array of cells is called whose nodes the kernel's Python does not show: without and with arrays inside."""


@dataclass(slots=True)
class TreeSource:
    """A part of a tree in one language: what lies outside all pools, or a pool.

    pointer: the member of `Args`, before it has its final name. element: what it points to, by name. structs: their
    declarations, members before what holds them. names: of these structs. members: names of fields and nodes within the
    cells that hold them.
    """

    tree: Tree
    part: Node
    pointer: str
    element: str
    structs: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    members: dict[Node, str] = field(default_factory=dict)

    @property
    def single(self) -> Node | None:
        """The place whose elements the pointer points to, None where it points to structs."""
        return _single(_chain(self.part))


def write_tree(
    tree: Tree, part: Node, target: Target, structs: Structs, types: Names, members: frozenset[str]
) -> TreeSource:
    """Return how a part of a tree is written. part: its top, or the node whose pool it is.

    types: the names of types, to which its structs are added. members: names that no member may have.
    """
    text = TreeSource(tree, part, "", "")
    chain = _chain(part)
    single = _single(chain)
    text.pointer = f"{_name(tree, single)}_data" if single is not None else _array_name(tree, chain)
    text.element = _write_cells(text, chain, target, structs, types, members)
    return text


def _chain(node: Node) -> list[Node]:
    """Return `node` and the nodes below it that make one array of cells with it."""
    found = [node]
    while len(inner := filled(found[-1])) == 1 and inner[0].kind != "place":
        found.append(inner[0])
    return found


def filled(node: Node) -> list[Node]:
    """Return the children of `node` that hold something in its cells."""
    return [child for child in node.children if not child.has_pool and _holds_something(child)]


def _holds_something(node: Node) -> bool:
    return node.kind == "place" or bool(filled(node))


def _single(chain: list[Node]) -> Node | None:
    """Return the place that the cells of an array consist of, None where they are structs."""
    inner = filled(chain[-1])
    return inner[0] if len(inner) == 1 else None


def _name(tree: Tree, place: Node) -> str:
    return tree.names.get(place) or UNKNOWN_MEMBER


def _array_name(tree: Tree, chain: list[Node]) -> str:
    """Return what an array of cells is called: as Python calls the innermost of its nodes that has a name."""
    names = [tree.names[node] for node in reversed(chain) if node in tree.names]
    has_blocks = any(child.kind != "place" for child in filled(chain[-1]))
    return names[0] if names else UNKNOWN_BLOCKS if has_blocks else UNKNOWN_CELLS


def struct_name(array: str) -> str:
    """Return what a cell of an array is called: `particles` hold a `Particle`, a `grid` a `GridCell`."""
    name = _camel(array)
    if name.endswith("ies") and len(name) > 4:
        return f"{name[:-3]}y"
    if name.endswith("s") and not name.endswith(("ss", "us", "is")) and len(name) > 2:
        return name[:-1]
    return name if name.endswith("Cell") else f"{name}Cell"


def _camel(array: str) -> str:
    words = [word for word in array.replace(".", "_").split("_") if word]
    return "".join(word[:1].upper() + word[1:] for word in words)


def _write_cells(
    text: TreeSource, chain: list[Node], target: Target, structs: Structs, types: Names, taken: frozenset[str]
) -> str:
    """Declare the struct of an array's cells, if they are structs; return the name of their type."""
    tree, single = text.tree, _single(chain)
    if single is not None:
        return structs.type_text(tree.elements[single], True)
    names = Names(taken)
    inner = filled(chain[-1])
    lines = []
    for child in inner:
        if child.kind == "place":
            text.members[child] = names.declare(_name(tree, child))
            lines.append(f"{structs.type_text(tree.elements[child], True)} {text.members[child]};")
            continue
        below = _chain(child)
        alone = _single(below)
        text.members[child] = names.declare(_name(tree, alone) if alone is not None else _array_name(tree, below))
        element = _write_cells(text, below, target, structs, types, taken)
        lines.append(f"{element} {text.members[child]}[{cells_in(below)}];")
    lines += _padding(chain[-1], names, target)
    array = _array_name(tree, chain)
    is_one = cells_in(chain) == 1 and _camel(array) != array  # in C++ no member may be called as its type is
    name = types.declare(_camel(array) if is_one else struct_name(array))
    text.names.append(name)
    text.structs.append(_declaration(name, lines, cell_size_bytes(chain[-1]), target))
    return name


def _declaration(name: str, lines: list[str], size_bytes: int, target: Target) -> str:
    body = "\n".join(INDENT + line for line in lines)
    declared, check = target.language.struct_declaration.format(name=name, body=body), target.language.size_check
    if not check:
        return declared
    return f'{declared}\n{check}(sizeof({name}) == {size_bytes}, "the host lays cells out so");'


def _padding(node: Node, names: Names, target: Target) -> list[str]:
    """Return the member that fills up the end of a cell in GLSL, whose scalar block layout, unlike C, leaves it out."""
    if not target.language.pads_structs:
        return []
    offsets, size = member_offsets(node.children)
    inside = [(offset, child) for offset, child in zip(offsets, node.children, strict=True) if not child.has_pool]
    gap = size - max(offset + node_size_bytes(child) for offset, child in inside)
    elements = [place.element for _, child in inside for place in places_of(child) if place.element is not None]
    smallest = min((s for element in elements for s in scalars_of(element)), key=lambda scalar: scalar.size_bytes)
    count = gap // smallest.size_bytes
    filler = type_name(target.language, u8 if smallest == u1 else smallest)
    return [f"{filler} {names.declare('padding')}{f'[{count}]' if count > 1 else ''};"] if count else []


def cells_in(chain: list[Node]) -> int:
    """Return how many cells the array of a chain of nodes has."""
    return prod(extent for node in chain for extent in node.extents)


def elements_of(text: TreeSource) -> list[Type]:
    """Return the types of what lies in a part of a tree."""
    return [type for place, type in text.tree.elements.items() if memory_of(place) is text.part]


# --- places ---------------------------------------------------------------------------------------------------------


def place_source(
    text: TreeSource, place: Node, pointer: str, indices: Sequence[str], target: Target, cell: str = ""
) -> str:
    """Return the text of an element.

    pointer: the tree's. indices: texts of the user's indices, less the offset. cell: of the pool that it lies in.
    """
    found = pointer if target.language.has_pointers else f"{pointer}.v"
    for depth, (chain, member) in enumerate(_steps_to(place)):
        if depth == 0 and member is not None and not cell and cells_in(chain) == 1 and target.language.has_pointers:
            found += f"->{text.members[member]}"  # a pointer to one struct
            continue
        found += f"[{linear(chain, place, indices, target, cell)}]"
        cell = ""
        if member is not None:
            found += f".{text.members[member]}"
    return found


def place_number(place: Node, indices: Sequence[str], target: Target, unit_bytes: int, cell: str = "") -> str:
    """Return where an element begins in the memory of its tree, counted in units of `unit_bytes`, as a sum."""
    terms: list[str] = []
    constant = 0
    for chain, member in _steps_to(place):
        factor = cell_size_bytes(chain[-1]) // unit_bytes
        index = linear(chain, place, indices, target, cell)
        cell = ""
        if index != "0":
            is_alone = factor == 1 and (index.isidentifier() or index not in indices)
            terms.append(index if is_alone else f"({index})" if factor == 1 else f"({index}) * {factor}")
        if member is not None:
            parent = member.parent
            assert parent is not None
            constant += member_offsets(parent.children)[0][parent.children.index(member)] // unit_bytes
    return " + ".join([*terms, *([str(constant)] if constant or not terms else [])])


def _steps_to(place: Node) -> list[tuple[list[Node], Node | None]]:
    """Return the arrays on the way to a place, each with the member of its cells that leads on, None where it ends."""
    path = path_in_part(place)
    found: list[tuple[list[Node], Node | None]] = []
    while path[0] is not place:
        chain = _chain(path[0])
        path = path[len(chain) :]
        found.append((chain, None if _single(chain) is path[0] else path[0]))
        if path[0].kind == "place":
            break
    return found


class Atom(str):
    """An index that is one name and needs no parentheses; the parameter of a macro stands for any expression."""

    __slots__ = ()


def grouped(index: str) -> str:
    """Return an index as an operand."""
    return index if isinstance(index, Atom) else f"({index})"


def linear(chain: list[Node], place: Node, indices: Sequence[str], target: Target, cell: str = "") -> str:
    """Return the number of a cell among those of a chain of nodes. cell: of the pool that they lie in."""
    return linear_sum(chain, place, indices, target, cell)[0]


def linear_sum(
    chain: list[Node], place: Node, indices: Sequence[str], target: Target, cell: str = ""
) -> tuple[str, bool]:
    """Return the number of a cell as `linear` does, and whether it is a sum."""
    groups = _groups(chain, place)
    alone = not cell and sum(map(len, groups)) == 1
    text, is_sum = cell, False
    for group in groups:
        own, own_is_sum = _row_major(group, indices, shape_of(place), alone, target)
        if not text:
            text, is_sum = own, own_is_sum
            continue
        cells = prod(digit.extent for digit in group)
        text = f"{f'({text})' if is_sum or text == CELL else text} * {cells} + {own}"
        is_sum = True
    return (text, is_sum) if text else (_only_index(chain, place, indices), False)


def _only_index(chain: list[Node], place: Node, indices: Sequence[str]) -> str:
    """Return the number of the one cell of a chain: an index whose axis has one cell, which uses it, or 0."""
    axes, shape = axes_of(place), shape_of(place)
    single = (axes.index(axis) for node in chain for axis in node.axes if shape[axes.index(axis)] == 1)
    return next((indices[dimension] for dimension in single), "0")


def _row_major(
    group: list[IndexComponent], indices: Sequence[str], shape: tuple[int, ...], alone: bool, target: Target
) -> tuple[str, bool]:
    """Return the number of a cell within one node, and whether the text is a sum. alone: nothing is done with it."""
    text, is_sum = "", False
    for digit in group:
        part = _part(digit, indices[digit.dimension], shape[digit.dimension], alone, target)
        if not text:
            text = part
            continue
        text = f"{f'({text})' if is_sum else text} * {digit.extent} + {part}"
        is_sum = True
    return text, is_sum


def _part(digit: IndexComponent, index: str, extent: int, alone: bool, target: Target) -> str:
    """Return one part of an index. Unsigned where it is divided: no compiler knows that it is not negative."""
    if digit.weight == 1 and digit.extent == extent:
        return index if alone or index.isdigit() else grouped(index)
    text = target.language.as_unsigned(index, PRIMARY if isinstance(index, Atom) else 0)
    if digit.weight > 1:
        text += f" / {digit.weight}"
    return text if digit.weight * digit.extent == extent else f"{text} % {digit.extent}"


def _groups(chain: list[Node], place: Node) -> list[list[IndexComponent]]:
    """Return the parts of an index that number the cells of a chain, node by node, slowest first."""
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
                digit = IndexComponent(axes.index(axis), extent, weights[axis], stride)
                of_node.setdefault(node, []).insert(0, digit)
                stride *= extent
            weights[axis] *= extent
    groups = [of_node[node] for node in chain if node in of_node]
    return _joined_groups(groups)


def _joined_groups(groups: list[list[IndexComponent]]) -> list[list[IndexComponent]]:
    """Join the last part of a node with the first of the next where they are parts of one index."""
    found: list[list[IndexComponent]] = []
    for group in groups:
        if found:
            joint = joined([found[-1][-1], group[0]])
            if len(joint) == 1:
                found[-1][-1], group = joint[0], group[1:]
        if group:
            found.append(group)
    return found
