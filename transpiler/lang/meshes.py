"""Meshes in a kernel: `ti.mesh_local`, `ti.mesh_patch_idx`, and the description of the elements of a mesh.

A mesh of the runtime has four sets of elements (`mesh.verts`). To the compiler each describes itself, by its method
`describe_elements()`, as fields: those of its attributes, and those that lead from an element to others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..lazy_dataclasses import dataclass
from .hooks import kernel_only

ELEMENTS = ("verts", "edges", "faces", "cells")
"""The sets of elements, by their order: the number of axes of one element."""

INITIALS = "VEFC"
"""Letters of the sets in names of relations: "FV" leads from a face to its vertices."""


@dataclass(frozen=True, slots=True)
class RelationDescription:
    """How elements lead to others: those of element `i` are `neighbors[begins[i]]` to `neighbors[begins[i + 1] - 1]`.

    Attributes:
        neighbors: the field of their numbers; if each element has `count` of them, it has two axes.
        begins: field of one number more than there are elements, None if each element has `count` neighbours.
        count: of neighbours, 0 if elements differ in it.
        others: the set of elements to which the relation leads.
    """

    neighbors: Any
    begins: Any
    count: int
    others: Any


@dataclass(frozen=True, slots=True)
class ElementsDescription:
    """The elements of one order of a mesh.

    Attributes:
        order: 0 for vertices to 3 for cells.
        number: of elements.
        attributes: fields by name.
        relations: by the name of the set to which they lead.
        patches: the field of the patch of each element, None if there is one patch.
    """

    order: int
    number: int
    attributes: Mapping[str, Any]
    relations: Mapping[str, RelationDescription]
    patches: Any

    @property
    def singular(self) -> str:
        """What one of them is called in emitted sources."""
        return ELEMENTS[self.order][:-1]


def is_elements(value: Any) -> bool:
    """Return whether `value` is a set of elements of a mesh."""
    return hasattr(type(value), "describe_elements")


def mesh_local(*args: Any) -> Any:
    """Request a cache of attributes of a mesh for the next loop over its elements; kernels only.

    It does not change results, and has no effect.

    args: attributes such as `mesh.verts.x`.

    Example:
        >>> mesh = ti.Mesh.from_cells([[0, 0], [1, 0], [0, 1]], [[0, 1, 2]])
        >>> mesh.verts.place({"x": ti.f32})
        >>> @ti.kernel
        ... def fill():
        ...     ti.mesh_local(mesh.verts.x)
        ...     for v in mesh.verts:
        ...         v.x = v.verts.size
        >>> fill()
        >>> mesh.verts.x.to_numpy().tolist()
        [2.0, 2.0, 2.0]
    """
    kernel_only("mesh_local")


def mesh_patch_idx() -> Any:
    """Return the number of the patch of the element of the outermost loop over a mesh; kernels only.

    Example:
        >>> mesh = ti.Mesh.from_cells([[0, 0], [1, 0], [0, 1]], [[0, 1, 2]])
        >>> @ti.kernel
        ... def last() -> ti.i32:
        ...     patch = -1
        ...     for v in mesh.verts:
        ...         ti.atomic_max(patch, ti.mesh_patch_idx())
        ...     return patch
        >>> last()
        0
    """
    kernel_only("mesh_patch_idx")
