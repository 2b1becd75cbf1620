"""Kernels with textures in archives."""

import json

import numpy as np
import pytest
from PIL import Image

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


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_loaded_kernels_take_textures(target):
    if target == "python":
        pytest.skip("the interpreter has nothing to archive")
    module = ti.aot.Module()
    module.add_kernel(brighten)
    loaded = ti.aot.load(write_container(module.members()))
    image = np.arange(8 * 8 * 3, dtype=np.uint8).reshape(8, 8, 3)
    source, own, theirs = (ti.Texture(ti.Format.rgba8, (8, 8)) for _ in range(3))
    source.from_image(Image.fromarray(image))
    brighten(source, own, 0.25)
    loaded.brighten(source, theirs, 0.25)
    np.testing.assert_array_equal(np.asarray(theirs.to_image()), np.asarray(own.to_image()))
    assert np.asarray(theirs.to_image()).max() == 255
    with pytest.raises(ti.TaichiRuntimeTypeError, match="archived for one that gives f32"):
        loaded.brighten(ti.Texture(ti.Format.rgba8u, (8, 8)), theirs, 0.25)
