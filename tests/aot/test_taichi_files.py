"""What `Module.save` writes for readers of Taichi's modules, and how Taichi's own modules are refused."""

from __future__ import annotations

import io
import json
import os
import subprocess
import zipfile
from pathlib import Path

import pytest

import shadesmith as ti


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A module with fields, a graph and two kernels, saved over one with another kernel."""
    return saved(tmp_path_factory.mktemp("module"))


def saved(folder: Path) -> Path:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    f, v = ti.field(ti.f32, (4, 5)), ti.Vector.field(3, ti.i32, 7)

    @ti.kernel
    def scale(x: ti.types.ndarray(ti.f32, 1), s: ti.f32, m: ti.math.vec3) -> ti.f32:
        for i in x:
            x[i] *= s + m[0]
        return x[0]

    @ti.kernel
    def clear():
        for i, j in f:
            f[i, j] = 0
        v[0] = 0

    module = ti.aot.Module("vulkan1.1", caps="portable")
    module.add_field("f", f)
    module.add_field("v", v)
    builder, kind = ti.graph.GraphBuilder(), ti.graph.ArgKind
    x, s = ti.graph.Arg(kind.NDARRAY, "x", ti.f32, ndim=1), ti.graph.Arg(kind.SCALAR, "s", ti.f32)
    builder.dispatch(scale, x, s, ti.graph.Arg(kind.MATRIX, "m", ti.math.vec3))
    module.add_graph("graph", builder.compile())
    module.save(folder)
    module.add_kernel(clear, name="Clear it")
    older = json.loads((folder / "metadata.json").read_text())
    older["kernels"].append({"tasks_attribs": [{"name": "gone_t00"}, {"name": "../mine"}]})
    (folder / "metadata.json").write_text(json.dumps(older))
    (folder / "gone_t00.spv").write_bytes(b"")
    module.save(folder)
    return folder


def test_metadata_and_shaders_of_all_tasks(folder: Path) -> None:
    metadata = json.loads((folder / "metadata.json").read_text())
    assert [kernel["name"] for kernel in metadata["kernels"]] == ["Clear it", "scale"]
    assert {field["field_name"]: field["shape"] for field in metadata["fields"]} == {"f": [4, 5], "v": [7]}
    assert sorted(field["mem_offset_in_parent"] for field in metadata["fields"]) == [0, 80]
    arguments = metadata["kernels"][1]["ctx_attribs"]["arg_attribs_vec_"]
    assert [(each["value"]["name"], each["value"]["ptype"]) for each in arguments] == [("x", 1), ("s", 0), ("m", 0)]
    names = [task["name"] for kernel in metadata["kernels"] for task in kernel["tasks_attribs"]]
    assert names == ["clear_it_t00", "clear_it_t01", "scale_t00", "scale_t01"]
    for name in names:
        originals = sorted((folder / "kernels" / name[:-4]).glob("*.spv"))
        assert (folder / f"{name}.spv").read_bytes() == originals[int(name[-1])].read_bytes()
    assert {path.stem for path in folder.glob("*.spv")} == set(names)  # those of an older module are gone
    assert {"key": "shadesmith_push_constants", "value": 1} in metadata["required_caps"]
    assert json.loads((folder / "graphs.json").read_text())[0]["key"] == "graph"


@pytest.mark.exhaustive
def test_taichi_reads_them(folder: Path) -> None:
    python = os.environ.get("FUZZ_TAICHI", "/work/taichi/bin/python")
    if not Path(python).exists():
        pytest.skip("there is no Taichi here")
    program = """
import sys
from taichi.aot.conventions.gfxruntime140 import GfxRuntime140
found = GfxRuntime140.from_module(sys.argv[1])
kernel = found.metadata.kernels["scale"]
print([(each.name, type(each).__name__) for each in kernel.context.args], kernel.context.ret.dtype.name)
print([(task.task_ty.name, task.launch_grid.grid_size) for task in found.metadata.kernels["Clear it"].tasks])
print(sorted(found.metadata.fields), [(graph.name, [each.name for each in graph.args]) for graph in found.graphs])
"""
    result = subprocess.run([python, "-c", program, folder], capture_output=True, text=True, check=True, timeout=100)
    assert result.stdout.splitlines()[-3:] == [
        "[('x', 'ArgumentNdArray'), ('s', 'ArgumentScalar'), ('m', 'ArgumentScalar')] f32",
        "[('RangeFor', 20), ('Serial', 1)]",
        "['f', 'v'] [('graph', ['x', 's', 'm'])]",
    ]


@pytest.mark.parametrize("form", ["archive", "folder"])
def test_modules_of_taichi_are_refused_by_name(tmp_path: Path, form: str) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    names = {"metadata.json": "{}", "graphs.json": "[]", "__content__": "", "__version__": "1.7.4", "k_t00.spv": ""}
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w") as archive:
        for name, text in names.items():
            archive.writestr(name, text)
            (tmp_path / name).write_text(text)
    with pytest.raises(ti.TaichiRuntimeError, match="it is a module of Taichi"):
        ti.aot.load(memory.getvalue() if form == "archive" else tmp_path)
