"""Kernels on meshes: normals, energies, Laplacians against NumPy, relations against a search, Taichi's patches."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import shadesmith as ti

pytestmark = [pytest.mark.sampled(3), pytest.mark.one_target]  # the rest in `make test-all`

PATCHES = Path(__file__).parents[2] / "data/mesh_patches.json"
"""Made by meshtaichi_patcher 0.0.19, with what Taichi 1.7.4 computes under "taichi"."""
SIZES = {"V": 0, "E": 1, "F": 2, "C": 3}


def sheet(n: int = 5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return a bumpy sheet of triangles with its vertices in random order."""
    order = np.random.default_rng(seed).permutation(n * n)
    places = np.array([[x, y, np.sin(x * y + 0.3)] for x in range(n) for y in range(n)])
    squares = [x * n + y for x in range(n - 1) for y in range(n - 1)]
    triangles = [triangle for a in squares for triangle in ([a, a + n, a + 1], [a + n, a + n + 1, a + 1])]
    positions = np.empty_like(places)
    positions[order] = places
    return positions, order[np.array(triangles)]


def made() -> tuple[ti.MeshInstance, np.ndarray, np.ndarray]:
    positions, triangles = sheet()
    mesh = ti.Mesh.from_cells(positions, triangles)
    mesh.verts.place({"x": ti.math.vec3})
    mesh.verts.x.from_numpy(positions.astype(np.float32))
    return mesh, positions, triangles


def test_normals_and_areas(target: str) -> None:
    mesh, positions, triangles = made()
    mesh.verts.place({"normal": ti.math.vec3})
    mesh.faces.place({"area": ti.f32})

    @ti.func
    def corner(face, k):
        return face.verts[k].x

    @ti.kernel
    def normals():
        for f in mesh.faces:
            n = ti.math.cross(corner(f, 1) - corner(f, 0), corner(f, 2) - corner(f, 0))
            f.area = 0.5 * n.norm()
            for v in f.verts:
                v.normal += n
        for v in mesh.verts:
            v.normal = v.normal.normalized()

    normals()
    a, b, c = (positions[triangles[:, k]] for k in range(3))
    n = np.cross(b - a, c - a)
    total = np.zeros_like(positions)
    for k in range(3):
        np.add.at(total, triangles[:, k], n)
    np.testing.assert_allclose(mesh.faces.area.to_numpy(), 0.5 * np.linalg.norm(n, axis=1), rtol=1e-6)
    expected = total / np.linalg.norm(total, axis=1)[:, None]
    np.testing.assert_allclose(mesh.verts.normal.to_numpy(), expected, atol=1e-6)


def test_energy_of_springs_and_its_gradient(target: str) -> None:
    positions, triangles = sheet()
    mesh = ti.Mesh.from_cells(positions, triangles, relations=["EV"])
    mesh.verts.place({"x": ti.types.vector(3, ti.f64)}, needs_grad=True)
    mesh.edges.place({"rest": ti.f64})
    energy = ti.field(ti.f64, (), needs_grad=True)
    mesh.verts.x.from_numpy(positions)

    @ti.kernel
    def rest(mesh: ti.template()):
        for e in mesh.edges:
            e.rest = (e.verts[0].x - e.verts[1].x).norm() * 0.75

    @ti.kernel
    def stretch(mesh: ti.template()):
        for e in mesh.edges:
            energy[None] += 0.5 * ((e.verts[0].x - e.verts[1].x).norm() - e.rest) ** 2

    rest(mesh)
    with ti.ad.Tape(energy):
        stretch(mesh)
    pairs = np.unique(np.sort(triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1), axis=0)
    along = positions[pairs[:, 0]] - positions[pairs[:, 1]]
    length = np.linalg.norm(along, axis=1)
    force = (0.25 * length / length)[:, None] * along
    expected = np.zeros_like(positions)
    np.add.at(expected, pairs[:, 0], force)
    np.add.at(expected, pairs[:, 1], -force)
    assert len(mesh.edges) == len(pairs)
    np.testing.assert_allclose(energy[None], 0.5 * ((0.25 * length) ** 2).sum(), rtol=1e-12)
    np.testing.assert_allclose(mesh.verts.x.grad.to_numpy(), expected, atol=1e-12)


def test_laplacian(target: str) -> None:
    mesh, positions, triangles = made()
    mesh.verts.place({"laplacian": ti.math.vec3, "degree": ti.i32}, layout=ti.Layout.AOS)

    @ti.kernel
    def laplacian():
        ti.mesh_local(mesh.verts.x)
        for v in mesh.verts:
            total = ti.Vector([0.0, 0.0, 0.0])
            for u in v.verts:
                total += u.x - v.x
            v.degree = v.verts.size
            v.laplacian = total / v.verts.size

    laplacian()
    n = len(positions)
    adjacent = np.zeros((n, n), bool)
    for a, b in combinations(range(3), 2):
        adjacent[triangles[:, a], triangles[:, b]] = adjacent[triangles[:, b], triangles[:, a]] = True
    degree = adjacent.sum(1)
    expected = adjacent @ positions / degree[:, None] - positions
    np.testing.assert_array_equal(mesh.verts.degree.to_numpy(), degree)
    np.testing.assert_allclose(mesh.verts.laplacian.to_numpy(), expected, atol=1e-6)


def test_volumes_of_tetrahedra(target: str) -> None:
    positions = np.random.default_rng(1).random((6, 3))
    cells = np.array([[0, 1, 2, 3], [4, 1, 2, 3], [0, 5, 2, 3]])
    mesh = ti.Mesh.from_cells(positions, cells, relations=("CV", "VC", "CC"))
    mesh.verts.place({"x": ti.types.vector(3, ti.f64), "mass": ti.f64})
    mesh.cells.place({"volume": ti.f64, "beside": ti.i32})
    mesh.verts.x.from_numpy(positions)

    @ti.kernel
    def volumes():
        for c in mesh.cells:
            edges = ti.Matrix.cols([c.verts[k + 1].x - c.verts[0].x for k in ti.static(range(3))])
            c.volume = ti.abs(edges.determinant()) / 6
            for other in c.cells:
                c.beside += 1 << other.id
        for v in mesh.verts:
            for c in v.cells:
                v.mass += c.volume / 4

    volumes()
    edges = positions[cells[:, 1:]] - positions[cells[:, :1]]
    expected = np.abs(np.linalg.det(edges)) / 6
    np.testing.assert_allclose(mesh.cells.volume.to_numpy(), expected, rtol=1e-12)
    np.testing.assert_allclose(mesh.verts.mass.to_numpy().sum(), expected.sum(), rtol=1e-12)
    assert mesh.cells.beside.to_numpy().tolist() == [0b110, 0b001, 0b001]


def test_patches_of_taichi(target: str) -> None:
    mesh = ti.Mesh._create_instance(ti.Mesh.load_meta(PATCHES))
    positions = mesh.get_position_as_numpy()
    vec3, whole = ti.math.vec3, ti.i32
    mesh.verts.place({"x": vec3, "lap": vec3, "normal": vec3, "vf": whole, "ve": whole, "p": whole}, reorder=True)
    mesh.faces.place({"area": ti.f32, "ff": whole, "fe": whole, "p": whole})
    mesh.edges.place({"len": ti.f32, "ef": whole, "ee": whole, "v": whole})

    @ti.kernel
    def run(m: ti.template(), positions: ti.types.ndarray()):
        for v in m.verts:
            v.x = ti.Vector([positions[v.id, 0], positions[v.id, 1], positions[v.id, 2]])
        for f in m.faces:
            normal = (f.verts[1].x - f.verts[0].x).cross(f.verts[2].x - f.verts[0].x)
            f.area = normal.norm() * 0.5
            for v in f.verts:
                v.normal += normal
            for g in f.faces:
                f.ff += g.id
            for i in range(f.edges.size):
                f.fe += f.edges[i].id
            f.p = ti.mesh_patch_idx()
        for v in m.verts:
            total = ti.Vector([0.0, 0.0, 0.0])
            for u in v.verts:
                total += u.x - v.x
            v.lap = total / v.verts.size
            for f in v.faces:
                v.vf += f.id
            for e in v.edges:
                v.ve += e.id
            v.p = ti.mesh_patch_idx()
        for e in m.edges:
            e.len = (e.verts[0].x - e.verts[1].x).norm()
            e.ef = e.faces.size
            e.ee = e.edges.size
            e.v = e.verts[0].id * 1000 + e.verts[1].id

    run(mesh, positions.astype(np.float32))
    for name, expected in json.loads(PATCHES.read_text())["taichi"].items():
        elements, _, attribute = name.partition(".")
        found = getattr(getattr(mesh, elements), attribute).to_numpy()
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5, err_msg=name)


def found_by_search(corners: dict[int, list[frozenset[int]]], a: int, b: int) -> list[set[int]]:
    """Return to which elements each element leads: those that contain it, that it contains, or that it shares with."""

    def leads(here: frozenset[int], there: frozenset[int]) -> bool:
        if a != b:
            return here < there or there < here
        return here != there and (here | there in corners[1] if a == 0 else len(here & there) == a)

    return [{k for k, there in enumerate(corners[b]) if leads(here, there)} for here in corners[a]]


CELLS = {
    "edges": [[0, 1], [1, 2], [2, 0], [2, 5]],
    "one triangle": [[2, 0, 1]],
    "triangles": [[0, 1, 2], [2, 1, 3], [3, 1, 0], [0, 4, 1]],
    "tetrahedra": [[0, 1, 2, 3], [1, 2, 3, 4], [5, 1, 2, 0], [6, 7, 8, 9]],
}


@pytest.mark.parametrize("kind", CELLS)
def test_relations_are_those_of_a_search(kind: str) -> None:
    ti.init(arch=ti.python)
    rows = np.array(CELLS[kind])
    top = rows.shape[1] - 1
    mesh = ti.Mesh.from_cells(int(rows.max()) + 2, rows)  # one vertex is in no cell
    topology = mesh.topology
    corners = {0: [frozenset([k]) for k in range(topology.numbers[0])]}
    for order in range(1, top + 1):
        given = rows if order == top else topology.relations[order, 0].neighbors
        corners[order] = [frozenset(row.tolist()) for row in given]
        parts = {frozenset(part) for row in rows.tolist() for part in combinations(row, order + 1)}
        assert len(corners[order]) == len(parts) and set(corners[order]) == parts
    assert len(topology.relations) == (top + 1) ** 2
    for (a, b), relation in topology.relations.items():
        if relation.begins is None:
            lists = relation.neighbors.tolist()
        else:
            lists = [relation.neighbors[i:j].tolist() for i, j in zip(relation.begins, relation.begins[1:])]
        assert all(len(set(items)) == len(items) for items in lists), (a, b)
        assert [set(items) for items in lists] == found_by_search(corners, a, b), (a, b)


def test_elements_by_number_in_functions_and_nested(target: str) -> None:
    mesh, positions, triangles = made()
    start, found = 3, ti.field(ti.i32, 4)

    @ti.func
    def degree(v):
        return v.verts.size

    @ti.kernel
    def walk():
        ti.loop_config(serialize=True)
        for _ in range(1):
            at = start
            for _ in range(4):  # to the neighbour with the largest number
                best = -1
                for u in mesh.verts[at].verts:
                    best = max(best, u.id)
                at = best
            found[0] = at
            found[1] = degree(mesh.verts[at])
        for v in mesh.verts:
            if v.id == start:
                for f in v.faces:
                    for e in f.edges:
                        if e.verts[0].id != v.id and e.verts[1].id != v.id:
                            found[2] += 1
                            continue
                        if e.id < 0:
                            break
                        found[3] += 1

    walk()
    neighbours = {
        k: sorted({int(b) for row in triangles for b in row if k in row and b != k}) for k in range(len(positions))
    }
    at = start
    for _ in range(4):
        at = neighbours[at][-1]
    faces = int((triangles == start).any(1).sum())
    assert found.to_numpy().tolist() == [at, len(neighbours[at]), faces, 2 * faces]


def test_meshes_of_a_builder(target: str) -> None:
    builder = ti.TetMesh()
    builder.verts.AOS = True
    builder.verts.place({"x": ti.f32, "n": ti.i32})
    builder.faces.place({"loss": ti.f32}, needs_grad=True)
    mesh = builder.build(ti.Mesh.load_meta(PATCHES))
    mesh.verts.n.fill(2)
    mesh.faces.loss.grad.fill(1.5)
    assert mesh.verts.keys == ["x", "n"] and mesh.verts.get_member_field("n")[3] == 2 and len(mesh.faces) == 18
    assert mesh.cells.keys == [] and len(mesh.cells) == 0 and mesh.faces.loss.grad[17] == 1.5
    other = ti.lang.mesh._TriMesh().build(ti.Mesh.load_meta(PATCHES))
    assert isinstance(other, ti.MeshInstance) and other.verts.keys == []


MISTAKES = {
    "for e in mesh.edges: e.len = e.faces.size": "the mesh was made without the relation from edges to faces",
    "for v in mesh.verts: v.y = 1": "an element of `verts` has no attribute `y`",
    "for v in mesh.verts: v.x = v.verts.number": "`v.verts` has no attribute `number`",
    "for f in mesh.faces: f.id = 3": "Cannot assign to",
    "for f in mesh.faces: print(f.verts[3].id)": "is out of range [0, 3)",
    "for f in mesh.faces: x = f + 1": "An element of a mesh cannot be used as a value in a kernel",
    "print(ti.mesh_patch_idx())": "needs a loop over the elements of a mesh",
    "for a, b in mesh.verts: pass": "The loop gives 1 indices, found 2 names",
    "for I in ti.grouped(mesh.verts): pass": "`ti.grouped` takes an array",
    "for v in mesh: pass": "Cannot loop over",
    "for f in mesh.faces: f = f.verts[0]": "Loop variable `f` cannot be assigned",
    "u = mesh.verts[0]\n    for k in range(3): u = u.verts[0]": "`u` is an element of a mesh, and cannot become another",
    "print(mesh.verts[3].x)": "is out of range [0, 3)",
}


@pytest.mark.parametrize("statement", MISTAKES)
def test_mistakes_in_kernels(statement: str, tmp_path: Path) -> None:
    ti.init(arch=ti.python)
    mesh = ti.Mesh.from_cells(3, [[0, 1, 2]], relations=["FV", "VV", "EV"])
    mesh.verts.place({"x": ti.f32})
    mesh.edges.place({"len": ti.f32})
    path = tmp_path / "program.py"
    path.write_text(f"@ti.kernel\ndef run():\n    {statement}\n")
    scope = {"ti": ti, "mesh": mesh}
    exec(compile(path.read_text(), path, "exec"), scope)
    with pytest.raises(ti.TaichiCompilationError) as error:
        scope["run"]()
    assert MISTAKES[statement] in str(error.value)


def test_mistakes_outside(tmp_path: Path) -> None:
    ti.init(arch=ti.python)
    make = ti.Mesh.from_cells
    (tmp_path / "text.json").write_text("{")
    mesh = make(3, [[0, 1, 2]])
    mesh.verts.place({"x": ti.f32})
    for mistake, sentence in [
        (lambda: make(3, [[0, 1]], relations=["FV"]), "has no relation `FV`"),
        (lambda: make(3, [[0, 1]], relations=["XV"]), "names no relation"),
        (lambda: make(3, [[0, 1, 3]]), "name the vertices 0 to 3, and there are 3"),
        (lambda: make(3, [[0, -1, 2]]), "name the vertices -1 to 2"),
        (lambda: make(3, [[0, 1, 1]]), "cell 0 has a vertex twice"),
        (lambda: make(3, [[0.0, 1.0]]), "are no mesh"),
        (lambda: make(3, []), "are no mesh"),
        (lambda: make(8, [[0, 1, 2, 3, 4]]), "are no mesh"),
        (lambda: ti.Mesh.generate_meta({"elements": []}), "KeyError: 'num_patches'"),
        (lambda: ti.Mesh.load_meta(tmp_path / "text.json"), "is no file of JSON"),
        (lambda: mesh.verts.place({"verts": ti.f32}), "cannot use as attribute name"),
        (lambda: mesh.verts.place({"x": ti.f32}), "has already use"),
        (lambda: mesh.verts.place({"place": ti.f32}), "has already use"),
        (lambda: mesh.cells.place({"x": ti.f32}), "the mesh has no cells"),
        (lambda: make(3, [[0, 1, 2]]).verts.x, "no attribute 'x'"),
        (lambda: list(mesh.verts), "in kernels only"),
        (lambda: make(3, [[0, 1]]).get_position_as_numpy(), "Position info is not in the file"),
        (lambda: ti.mesh_patch_idx(), "cannot be called in Python-scope"),
    ]:
        with pytest.raises(Exception, match=sentence.replace("(", r"\(")):
            mistake()
