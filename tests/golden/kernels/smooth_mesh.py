# a loop over the vertices of a mesh, and one over the neighbours of each, whose numbers are fields
from described import described

import shadesmith as ti
from shadesmith.transpiler.ir.types import Tensor
from shadesmith.transpiler.lang.meshes import ElementsDescription, RelationDescription


class Verts:
    """The vertices of a mesh that no session has."""

    def __init__(self):
        begins = described(ti.i32, (101,), "field", "vert_verts_begin")
        around = RelationDescription(described(ti.i32, (588,), "field", "vert_verts"), begins, 0, self)
        fields = {name: described(Tensor((3,), ti.f32), (100,), "field", f"vert_{name}") for name in ("x", "smooth")}
        self.description = ElementsDescription(0, 100, fields, {"verts": around}, None)

    def describe_elements(self):
        return self.description


verts = Verts()


def smooth_mesh(weight: ti.f32):
    for v in verts:
        total = ti.math.vec3(0.0)
        for u in v.verts:
            total += u.x - v.x
        v.smooth = v.x + weight * total / v.verts.size


kernel, arguments = smooth_mesh, (ti.f32,)
