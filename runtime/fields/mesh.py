"""`ti.Mesh`: meshes of edges, triangles and tetrahedra, whose elements kernels loop over.

In: an array of cells, or the data of Taichi's patcher. Out: `MeshInstance`, whose `verts`, `edges`, `faces` and `cells`
have attributes, which are fields, and lead to each other through fields of numbers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from ...transpiler.errors import TaichiRuntimeError, TaichiSyntaxError
from ...transpiler.ir.types import i32
from ...transpiler.lang.hooks import Layout
from ...transpiler.lang.meshes import ELEMENTS, ElementsDescription, RelationDescription
from . import mesh_topology
from .field import field
from .mesh_topology import Topology
from .snodes import axes, root


class MeshMetadata:
    """What is known of a mesh before it has attributes.

    Attributes:
        topology: its elements and relations.
        attrs: `attrs["x"]` has the positions of the vertices, (n, 3); missing if there are none.
        patcher: what the patcher keeps with it.
    """

    def __init__(self, data: Mapping[str, Any] | Topology) -> None:
        self.patcher: Any = None
        self.attrs: dict[str, Any] = {}
        if isinstance(data, Topology):
            self.topology = data
        else:
            self.topology, self.patcher = mesh_topology.from_patches(data), data.get("patcher")
            if "x" in data.get("attrs", {}):
                self.attrs["x"] = np.array(data["attrs"]["x"]).reshape(-1, 3)
        self.num_patches, self.num_elements = self.topology.num_patches, self.topology.numbers


class MeshElementField:
    """The elements of one order of a mesh: `mesh.verts`. `place` gives them attributes, which are fields."""

    def __init__(self, mesh: MeshInstance, order: int) -> None:
        self.mesh, self._order = mesh, order
        self.field_dict: dict[str, Any] = {}
        self._relations: dict[str, RelationDescription] = {}
        self._patches: Any = None
        self._description: ElementsDescription | None = None

    def place(
        self, members: Mapping[str, Any], reorder: bool = False, needs_grad: bool = False, layout: Layout = Layout.SOA
    ) -> None:
        """Give the elements attributes, fields with a number for each element.

        Args:
            members: types by name.
            reorder: accepted as Taichi's option, without effect: an attribute has the order of the elements.
            needs_grad: make gradients too.
            layout: `Layout.AOS` stores the attributes of an element together.

        Raises: TaichiSyntaxError for a name that is taken; TaichiRuntimeError if the mesh has no such elements.
        """
        if not len(self):
            raise TaichiRuntimeError(f"the mesh has no {ELEMENTS[self._order]}", "place attributes on others")
        for name in members:
            if name in ELEMENTS or name == "id":
                message = f"'{name}' cannot use as attribute name. It has been reserved as MeshTaichi's keyword."
                raise TaichiSyntaxError(message, "choose another name")
            if name in self.field_dict or hasattr(type(self), name):
                raise TaichiSyntaxError(f"'{name}' has already use as attribute name.", "choose another name")
        singular = ELEMENTS[self._order][:-1]
        shape = len(self) if layout is Layout.SOA else None
        made = {
            name: field(type, shape, name=f"{singular}_{name}", needs_grad=needs_grad) for name, type in members.items()
        }
        if layout is Layout.AOS and made:
            root.dense(axes(0), len(self)).place(*made.values())
            if needs_grad:
                root.dense(axes(0), len(self)).place(*(attribute.grad for attribute in made.values()))
        self.field_dict.update(made)
        self._description = None

    @property
    def keys(self) -> list[str]:
        """Names of the attributes."""
        return list(self.field_dict)

    def get_member_field(self, key: str) -> Any:
        """Return the field of an attribute. Raises: KeyError."""
        return self.field_dict[key]

    def __len__(self) -> int:
        return self.mesh.topology.numbers.get(self._order, 0)

    def __getattr__(self, name: str) -> Any:
        fields = self.__dict__.get("field_dict", {})
        if name in fields:
            return fields[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'", name=name, obj=self)

    def __iter__(self) -> NoReturn:
        raise TypeError(f"the {ELEMENTS[self._order]} of a mesh are looped over in kernels only")

    def __repr__(self) -> str:
        return f"<{len(self)} {ELEMENTS[self._order]} of a mesh: {', '.join(self.keys) or 'no attributes'}>"

    def describe_elements(self) -> ElementsDescription:
        """Return the description of the elements for the compiler."""
        if self._description is None:
            self._description = ElementsDescription(
                self._order, len(self), dict(self.field_dict), self._relations, self._patches
            )
        return self._description


class MeshInstance:
    """A mesh: `verts`, `edges`, `faces` and `cells` are its elements, for loops in kernels.

    Made by `ti.Mesh.from_cells`, and by Taichi's patcher.

    Attributes:
        topology: numbers of elements, and to which others they lead, as NumPy arrays.
        patcher: what Taichi's patcher keeps with the mesh.

    Example:
        >>> mesh = ti.Mesh.from_cells([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
        >>> mesh
        <mesh of 3 verts, 3 edges, 1 faces>
    """

    def __init__(self) -> None:
        self.topology, self.patcher = Topology({}), None
        self._vert_position: Any = None
        self._elements = [MeshElementField(self, order) for order in range(len(ELEMENTS))]
        self.verts, self.edges, self.faces, self.cells = self._elements

    def _take(self, metadata: MeshMetadata) -> MeshInstance:
        """Have the elements and relations that `metadata` has; return the mesh."""
        self.topology, self.patcher = metadata.topology, metadata.patcher
        self._vert_position = metadata.attrs.get("x")
        elements = self._elements
        for (from_order, to_order), relation in self.topology.relations.items():
            name = f"{ELEMENTS[from_order][:-1]}_{ELEMENTS[to_order]}"
            begins = None if relation.begins is None else _filled(f"{name}_begin", relation.begins)
            count = 0 if relation.begins is not None else relation.neighbors.shape[1]
            found = RelationDescription(_filled(name, relation.neighbors), begins, count, elements[to_order])
            elements[from_order]._relations[ELEMENTS[to_order]] = found
        for order, patches in self.topology.patches.items():
            elements[order]._patches = _filled(f"{ELEMENTS[order][:-1]}_patch", patches)
        return self

    def get_position_as_numpy(self) -> Any:
        """Return the positions of the vertices, (n, 3). Raises: TaichiSyntaxError if they are not known."""
        if self._vert_position is None:
            raise TaichiSyntaxError("Position info is not in the file.", "give positions to `ti.Mesh.from_cells`")
        return self._vert_position

    def __repr__(self) -> str:
        numbers = self.topology.numbers
        return f"<mesh of {', '.join(f'{numbers[order]} {ELEMENTS[order]}' for order in sorted(numbers))}>"


def _filled(name: str, values: Any) -> Any:
    """Return a field of i32 with these values; one zero if there are none."""
    values = values if values.size else np.zeros((1,) * values.ndim, np.int64)
    made = field(i32, values.shape, name=name)
    made.from_numpy(values.astype(np.int32))
    return made


class MeshElement:
    """The attributes of the elements of one order in meshes that a `MeshBuilder` makes.

    layout: how the attributes of an element are stored; set by `SOA` and `AOS`.
    """

    def __init__(self) -> None:
        self.layout = Layout.SOA
        self.attr_dict: dict[str, tuple[Any, bool]] = {}

    @property
    def SOA(self) -> bool:  # noqa: N802 - Taichi's name
        """Whether each attribute is stored in an array of its own."""
        return self.layout is Layout.SOA

    @SOA.setter
    def SOA(self, value: bool) -> None:  # noqa: N802
        self.layout = Layout.SOA if value else Layout.AOS

    @property
    def AOS(self) -> bool:  # noqa: N802 - Taichi's name
        """Whether the attributes of an element are stored together."""
        return self.layout is Layout.AOS

    @AOS.setter
    def AOS(self, value: bool) -> None:  # noqa: N802
        self.layout = Layout.AOS if value else Layout.SOA

    def place(self, members: Mapping[str, Any], reorder: bool = False, needs_grad: bool = False) -> None:
        """Declare attributes, types by name, as `MeshElementField.place` does."""
        self.attr_dict.update({name: (type, needs_grad) for name, type in members.items()})

    def build(self, elements: MeshElementField) -> None:
        """Give the elements of a mesh the attributes."""
        for needs_grad in (False, True):
            members = {name: type for name, (type, has_grad) in self.attr_dict.items() if has_grad is needs_grad}
            if members:
                elements.place(members, needs_grad=needs_grad, layout=self.layout)


class MeshBuilder:
    """Makes meshes with the same attributes, which are placed before: `ti.TriMesh()` and `ti.TetMesh()`.

    Example:
        >>> builder = ti.TetMesh()
        >>> builder.verts.place({"x": ti.f32})
        >>> builder.verts.SOA, builder.verts.AOS
        (True, False)
    """

    def __init__(self) -> None:
        self.verts, self.edges, self.faces, self.cells = (MeshElement() for _ in ELEMENTS)

    def build(self, metadata: MeshMetadata) -> MeshInstance:
        """Return a mesh with the declared attributes."""
        made = MeshInstance()._take(metadata)
        for name in ELEMENTS:
            getattr(self, name).build(getattr(made, name))
        return made


class Mesh:
    """Makes meshes: `from_cells` from arrays, `load_meta` and `generate_meta` from the data of Taichi's patcher.

    Example:
        >>> mesh = ti.Mesh.from_cells([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 1, 2, 3]])
        >>> mesh.verts.place({"degree": ti.i32})
        >>> @ti.kernel
        ... def count():
        ...     for c in mesh.cells:
        ...         for v in c.verts:
        ...             v.degree += 1
        >>> count()
        >>> mesh.verts.degree.to_numpy().tolist()
        [1, 1, 1, 1]
    """

    @staticmethod
    def from_cells(positions: Any, cells: Any, relations: Iterable[str] | None = None) -> MeshInstance:
        """Return the mesh of cells given by the numbers of their vertices. Taichi has no such function.

        Args:
            positions: of the vertices, (n, axes); or their number.
            cells: (m, 2) for edges, (m, 3) for triangles, (m, 4) for tetrahedra.
            relations: those that kernels use, such as ["FV", "VV"]; all if it is None.

        Raises: TaichiRuntimeError for arrays that are no mesh.

        Example:
            >>> mesh = ti.Mesh.from_cells(3, [[0, 1, 2]], relations=["FV", "FE"])
            >>> len(mesh.verts), len(mesh.edges), len(mesh.faces), len(mesh.cells)
            (3, 3, 1, 0)
        """
        known = None if isinstance(positions, (int, np.integer)) else np.asarray(positions)
        number = int(positions) if known is None else len(known)
        metadata = MeshMetadata(mesh_topology.from_cells(number, cells, relations))
        if known is not None:
            metadata.attrs["x"] = known
        return MeshInstance()._take(metadata)

    @staticmethod
    def load_meta(filename: str | Path) -> MeshMetadata:
        """Return the metadata in a file of JSON of Taichi's patcher.

        Raises: TaichiRuntimeError if it has none.
        """
        text = Path(filename).read_text()
        try:
            return MeshMetadata(json.loads(text))
        except ValueError as error:
            raise TaichiRuntimeError(f"`{filename}` is no file of JSON: {error}", "write it with the patcher") from None

    @staticmethod
    def generate_meta(data: Mapping[str, Any]) -> MeshMetadata:
        """Return the metadata in the data of Taichi's patcher.

        Raises: TaichiRuntimeError if it has none.
        """
        return MeshMetadata(data)

    @staticmethod
    def _create_instance(metadata: MeshMetadata) -> MeshInstance:
        return MeshInstance()._take(metadata)


_TriMesh = _TetMesh = MeshBuilder
"""Taichi's deprecated functions."""
