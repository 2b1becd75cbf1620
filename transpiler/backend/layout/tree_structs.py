"""The source of SNode trees: structs for cells with several members, and the path from a tree's pointer to an element.

In: the trees of a kernel. Out: `TreeSource`s: the type behind each pointer, the structs to declare, and the expression
of each field's elements. A chain of nodes with one child each is one array with one index:

    root.dense(i, n).place(mass, velocity)          struct Particle { float mass; vec2 velocity; };
                                                    args.particles[i].mass
    root.dense(ij, (8, 4)).dense(ij, 4).place(x)    args.x_data[(i / 4 * 4 + j / 4) * 16 + i % 4 * 4 + j % 4]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from math import prod

from ...ir.elements.tree_arrays import cells_in, chain_of, filled, groups_of, single_place, steps_to
from ...ir.snodes import (
    IndexComponent,
    Node,
    Tree,
    axes_of,
    cell_size_bytes,
    member_offsets,
    memory_of,
    node_size_bytes,
    places_of,
    shape_of,
)
from ...ir.types import Type, scalars_of, u1, u8
from ...lazy_dataclasses import dataclass
from ..languages.common.naming import Names
from ..languages.common.one_line import INDENT, on_one_line
from ..languages.common.syntax import type_name
from ..languages.common.syntax_forms import PRIMARY
from ..languages.common.target import Target
from .structs import Structs

CELL = "cell"
"""The parameter of a macro for the cell of a pool."""
UNKNOWN_MEMBER = "other"
"""The name of a member whose field has no name in the kernel's Python."""
UNKNOWN_CELLS, UNKNOWN_BLOCKS = "cells", "blocks"
"""The name of an array of cells whose nodes have no name in the kernel's Python: without and with inner arrays."""


@dataclass(slots=True)
class TreeSource:
    """A part of a tree in one language: the memory outside all pools, or a pool.

    pointer: preliminary name of the member of `Args`.
    element: name of the type that it points to.
    structs: declarations, inner structs first.
    names: of these structs.
    members: names of fields and nodes in the cells that contain them.
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
        """The place whose elements the pointer points to, None if it points to structs."""
        return single_place(chain_of(self.part))


def write_tree(
    tree: Tree, part: Node, target: Target, structs: Structs, types: Names, members: frozenset[str]
) -> TreeSource:
    """Return the source of a part of a tree.

    Args:
        part: the top of the tree, or the node with the pool.
        types: names of types, to which those of the structs are added.
        members: names that no member may have.
    """
    source = TreeSource(tree, part, "", "")
    chain = chain_of(part)
    single = single_place(chain)
    source.pointer = f"{_name(tree, single)}_data" if single is not None else _array_name(tree, chain)
    source.element = _write_cells(source, chain, target, structs, types, members)
    return source


def _name(tree: Tree, place: Node) -> str:
    return tree.names.get(place) or UNKNOWN_MEMBER


def _array_name(tree: Tree, chain: list[Node]) -> str:
    """Return the name of an array of cells: that of its innermost node with a name in Python."""
    names = [tree.names[node] for node in reversed(chain) if node in tree.names]
    has_blocks = any(child.kind != "place" for child in filled(chain[-1]))
    return names[0] if names else UNKNOWN_BLOCKS if has_blocks else UNKNOWN_CELLS


def struct_name(array: str) -> str:
    """Return the type name of an array's cells: `Particle` for `particles`, `GridCell` for `grid`."""
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
    source: TreeSource, chain: list[Node], target: Target, structs: Structs, types: Names, taken: frozenset[str]
) -> str:
    """Declare the struct of an array's cells, if they are structs; return the name of their type."""
    tree, single = source.tree, single_place(chain)
    if single is not None:
        return structs.name_of_type(tree.elements[single], True)
    names = Names(taken)
    inner = filled(chain[-1])
    lines = []
    for child in inner:
        if child.kind == "place":
            source.members[child] = names.declare(_name(tree, child))
            lines.append(f"{structs.name_of_type(tree.elements[child], True)} {source.members[child]};")
            continue
        below = chain_of(child)
        alone = single_place(below)
        source.members[child] = names.declare(_name(tree, alone) if alone is not None else _array_name(tree, below))
        element = _write_cells(source, below, target, structs, types, taken)
        lines.append(f"{element} {source.members[child]}[{cells_in(below)}];")
    lines += _padding(chain[-1], names, target)
    array = _array_name(tree, chain)
    is_one = cells_in(chain) == 1 and _camel(array) != array  # in C++ no member may have the name of its type
    name = types.declare(_camel(array) if is_one else struct_name(array))
    source.names.append(name)
    source.structs.append(_declaration(name, lines, cell_size_bytes(chain[-1]), target))
    return name


def _declaration(name: str, lines: list[str], size_bytes: int, target: Target) -> str:
    body = "\n".join(INDENT + line for line in lines)
    declared, check = target.language.struct_declaration.format(name=name, body=body), target.language.size_check
    declared = on_one_line(declared)
    if not check:
        return declared
    return f'{declared}\n{check}(sizeof({name}) == {size_bytes}, "must match the cell size on the host");'


def _padding(node: Node, names: Names, target: Target) -> list[str]:
    """Return the padding member at the end of a cell in GLSL, where scalar block layout has none, unlike C."""
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


def elements_of(source: TreeSource) -> list[Type]:
    """Return the types of the fields in a part of a tree."""
    return [type for place, type in source.tree.elements.items() if memory_of(place) is source.part]


# --- addresses ------------------------------------------------------------------------------------------------------


def place_source(
    source: TreeSource, place: Node, pointer: str, indices: Sequence[str], target: Target, cell: str = ""
) -> str:
    """Return the expression of an element.

    Args:
        pointer: that of the tree.
        indices: the user's indices, counted from 0.
        cell: of the pool that contains the element.
    """
    element = pointer if target.language.has_pointers else f"{pointer}.v"
    for depth, (chain, member) in enumerate(steps_to(place)):
        if depth == 0 and member is not None and not cell and cells_in(chain) == 1 and target.language.has_pointers:
            element += f"->{source.members[member]}"  # a pointer to one struct
            continue
        element += f"[{linear(chain, place, indices, target, cell)}]"
        cell = ""
        if member is not None:
            element += f".{source.members[member]}"
    return element


def place_number(place: Node, indices: Sequence[str], target: Target, unit_bytes: int, cell: str = "") -> str:
    """Return the offset of an element in the memory of its tree, in units of `unit_bytes`, as a sum."""
    terms: list[str] = []
    constant = 0
    for chain, member in steps_to(place):
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


def numbered_place(place: Node, number: str, unit_bytes: int) -> list[str]:
    """Return the terms of the offset of the element with a number in the memory of its tree, in units."""
    chain, member = steps_to(place)[0]
    factor = cell_size_bytes(chain[-1]) // unit_bytes
    number = number if number.isidentifier() else f"({number})"
    terms = [f"{number} * {factor}" if factor > 1 else number]
    if member is None or member.parent is None:
        return terms
    constant = member_offsets(member.parent.children)[0][member.parent.children.index(member)] // unit_bytes
    return [*terms, str(constant)] if constant else terms


class Atom(str):
    """An index that is one name and needs no parentheses; a macro's parameter may be replaced by any expression."""

    __slots__ = ()


def grouped(index: str) -> str:
    """Return an index as an operand."""
    return index if isinstance(index, Atom) else f"({index})"


def linear(chain: list[Node], place: Node, indices: Sequence[str], target: Target, cell: str = "") -> str:
    """Return the number of a cell among those of a chain of nodes. cell: of the pool that contains them."""
    return linear_sum(chain, place, indices, target, cell)[0]


def linear_sum(
    chain: list[Node], place: Node, indices: Sequence[str], target: Target, cell: str = ""
) -> tuple[str, bool]:
    """Return the number of a cell as `linear` does, and whether it is a sum."""
    groups = groups_of(chain, place)
    alone = not cell and sum(map(len, groups)) == 1
    number, is_sum = cell, False
    for group in groups:
        inner, inner_is_sum = _row_major(group, indices, shape_of(place), alone, target)
        if not number:
            number, is_sum = inner, inner_is_sum
            continue
        cells = prod(component.extent for component in group)
        number = f"{f'({number})' if is_sum or number == CELL else number} * {cells} + {inner}"
        is_sum = True
    return (number, is_sum) if number else (_only_index(chain, place, indices), False)


def _only_index(chain: list[Node], place: Node, indices: Sequence[str]) -> str:
    """Return the number of the only cell of a chain: an index along an axis with one cell, so that it is used, or 0."""
    axes, shape = axes_of(place), shape_of(place)
    single = (axes.index(axis) for node in chain for axis in node.axes if shape[axes.index(axis)] == 1)
    return next((indices[dimension] for dimension in single), "0")


def _row_major(
    group: list[IndexComponent], indices: Sequence[str], shape: tuple[int, ...], alone: bool, target: Target
) -> tuple[str, bool]:
    """Return the number of a cell within one node, and whether it is a sum. alone: it is no operand of anything."""
    number, is_sum = "", False
    for component in group:
        part = _part(component, indices[component.dimension], shape[component.dimension], alone, target)
        if not number:
            is_wide = (
                len(group) > 1 and target.language.has_wide_indices and part == f"({indices[component.dimension]})"
            )
            number = f"(long long){part}" if is_wide else part
            continue
        number = f"{f'({number})' if is_sum else number} * {component.extent} + {part}"
        is_sum = True
    return number, is_sum


def _part(component: IndexComponent, index: str, extent: int, alone: bool, target: Target) -> str:
    """Return a component of an index. Dividends are unsigned: no compiler knows that they are not negative."""
    if component.weight == 1 and component.extent == extent:
        return index if alone or index.isdigit() else grouped(index)
    part = target.language.as_unsigned(index, PRIMARY if isinstance(index, Atom) else 0)
    if component.weight > 1:
        part += f" / {component.weight}"
    return part if component.weight * component.extent == extent else f"{part} % {component.extent}"
