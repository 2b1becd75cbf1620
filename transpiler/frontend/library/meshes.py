"""Elements of meshes in a kernel: their numbers, their attributes, and the elements to which they lead.

An element is a number, known at run time, in a set of elements known at compile time (`MeshElement`).

    v.x                 vert_x[v]
    f.verts[1]          face_verts[f, 1]
    v.faces.size        vert_faces_begin[v + 1] - vert_faces_begin[v]
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from ...errors import TaichiIndexError, TaichiNameError, TaichiSyntaxError
from ...ir.nodes import Statement
from ...ir.statements import GlobalPtr
from ...ir.types import i32
from ...lang.meshes import (
    ELEMENTS,
    INITIALS,
    ElementsDescription,
    RelationDescription,
    is_elements,
    mesh_local,
    mesh_patch_idx,
)
from ..context.context import Context, NeedsInlining
from ..context.spelling_hints import missing_attribute_hint
from ..context.values import Lvalue, MeshElement, MeshRelation
from .slices import check_bounds, index_statement


def mesh_functions() -> dict[Any, Callable[..., Any]]:
    """Return the handlers of the functions of `lang.meshes`, with loaded arguments."""
    return {mesh_local: _mesh_local, mesh_patch_idx: _mesh_patch_idx}


def _mesh_local(context: Context, *fields: Any) -> None:
    """Has no effect: the caches of a device serve the attributes."""


def _mesh_patch_idx(context: Context) -> Any:
    if any(frame.returns is not None for frame in context.frames):
        raise NeedsInlining
    element = context.nesting.mesh_element
    if element is None:
        message = "`ti.mesh_patch_idx()` needs a loop over the elements of a mesh around it"
        raise context.error(TaichiSyntaxError, message, "write `for v in mesh.verts:`")
    patches = element.elements.describe_elements().patches
    return context.builder.const(0) if patches is None else _read(context, patches, [element.index])


def attribute_name(owner: Any, name: str) -> str:
    """Return the name of an attribute in emitted sources: `vert_x` if its owner is `mesh.verts`, else `name`."""
    return f"{owner.describe_elements().singular}_{name}" if is_elements(owner) else name


def element_attribute(context: Context, element: MeshElement | MeshRelation, node: ast.Attribute) -> Any:
    """Return `v.id`, `v.faces` or an attribute of an element, or `v.faces.size`.

    Raises: TaichiNameError if there is none such.
    """
    if isinstance(element, MeshRelation):
        return _relation_attribute(context, element, node)
    name, description = node.attr, element.elements.describe_elements()
    if name == "id":
        return element.index
    if name in ELEMENTS:
        return MeshRelation(element, name)
    field = description.attributes.get(name)
    if field is None:
        owner = f"an element of `{ELEMENTS[description.order]}`"
        known = [*description.attributes, *description.relations, "id"]
        hint = missing_attribute_hint(ast.unparse(node.value), name, known)
        raise context.error(TaichiNameError, f"{owner} has no attribute `{name}`", hint)
    return Lvalue(_pointer(context, field, [element.index]))


def _relation_attribute(context: Context, relation: MeshRelation, node: ast.Attribute) -> Any:
    """Return `v.faces.size`. Raises: TaichiNameError for other names."""
    if node.attr != "size":
        message = f"`{ast.unparse(node.value)}` has no attribute `{node.attr}`"
        raise context.error(TaichiNameError, message, "it has `size`; its items have attributes")
    begin, end = relation_bounds(context, relation)
    return end if isinstance(end, int) else context.builder.op("sub", end, begin)


def relation_item(context: Context, relation: MeshRelation, node: ast.Subscript) -> MeshElement:
    """Return `v.faces[k]`."""
    found = described(context, relation)
    index = context.value(node.slice)
    size = f"{ast.unparse(node.value)}.size"
    check_bounds(context, index, found.count or None, node, f"axis 0 of `{ast.unparse(node.value)}`", size, 0)
    position = index_statement(context, index, node.slice)
    if found.begins is not None:
        position = context.builder.op("add", relation_bounds(context, relation)[0], position)
    return neighbor(context, relation, position)


def element_at(context: Context, elements: Any, node: ast.Subscript) -> MeshElement:
    """Return `mesh.verts[i]`."""
    index = context.value(node.slice)
    number = elements.describe_elements().number
    source = ast.unparse(node.value)
    check_bounds(context, index, number, node, f"axis 0 of `{source}`", f"len({source})", 0)
    return MeshElement(elements, index_statement(context, index, node.slice))


def relation_bounds(context: Context, relation: MeshRelation) -> tuple[Any, Any]:
    """Return the position of the first neighbour and that behind the last: ints or statements."""
    found, index = described(context, relation), relation.element.index
    if found.begins is None:
        return 0, found.count
    build = context.builder
    after = build.op("add", index, build.const(1))
    return _read(context, found.begins, [index]), _read(context, found.begins, [after])


def neighbor(context: Context, relation: MeshRelation, position: Statement) -> MeshElement:
    """Return the element at a position, which begins at 0 in each element if all have as many neighbours."""
    found = described(context, relation)
    indices = [relation.element.index, position] if found.begins is None else [position]
    return MeshElement(found.others, _read(context, found.neighbors, indices))


def described(context: Context, relation: MeshRelation) -> RelationDescription:
    """Return the description of a relation. Raises: TaichiIndexError if the mesh was made without it."""
    description: ElementsDescription = relation.element.elements.describe_elements()
    found = description.relations.get(relation.name)
    if found is None:
        letters = INITIALS[description.order] + INITIALS[ELEMENTS.index(relation.name)]
        message = f"the mesh was made without the relation from {ELEMENTS[description.order]} to {relation.name}"
        raise context.error(TaichiIndexError, message, f"make it with it: `relations=[..., '{letters}']`")
    return found


def _pointer(context: Context, field: Any, indices: list[Statement]) -> Statement:
    array = context.arrays.find(field)
    assert array is not None
    return context.builder.add(GlobalPtr(array, indices, type=array.element))


def _read(context: Context, field: Any, indices: list[Statement]) -> Statement:
    return context.builder.cast(context.builder.load(_pointer(context, field, indices)), i32)
