"""Kernels with textures in archives."""

import json

import shadesmith as ti
from shadesmith.runtime.aot.archive import open_archive
from shadesmith.runtime.aot.container import write_container


@ti.kernel
def brighten(
    source: ti.types.texture(num_dimensions=2),
    target: ti.types.rw_texture(num_dimensions=2, fmt=ti.Format.rgba8),
    add: ti.f32,
):
    for i, j in ti.ndrange(8, 8):
        target.store(ti.Vector([i, j]), source.fetch(ti.Vector([i, j]), 0) + add)


def test_parameters_and_descriptors_are_in_the_manifest():
    ti.init(arch=ti.cpu)
    module = ti.aot.Module(ti.vulkan)
    module.add_kernel(brighten)
    members = module.members()
    kernel = json.loads(members["module.json"])["kernels"]["brighten"]
    assert kernel["parameters"] == [
        {"name": "source", "kind": "texture", "ndim": 2, "element": "f32"},
        {"name": "target", "kind": "rw_texture", "ndim": 2, "format": "rgba8", "lod": 0},
        {"name": "add", "kind": "scalar", "type": "f32"},
    ]
    assert [texture["binding"] for texture in kernel["module"]["interface"]["textures"]] == [0, 1]
    assert list(open_archive(write_container(members)).kernels) == ["brighten"]
