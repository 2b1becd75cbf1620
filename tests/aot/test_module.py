"""What `ti.aot.Module` writes, and what it does not depend on."""

import hashlib
import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import shadesmith as ti
from shadesmith.runtime.aot.archive import open_archive
from shadesmith.runtime.aot.container import write_container
from shadesmith.runtime.aot.fits import codes_for
from shadesmith.runtime.targets.c.archive import fits_host
from shadesmith.transpiler.backend.module.read_module import read_module
from shadesmith.transpiler.options import Capabilities

JULIA = """
import sys
import shadesmith as ti

def compile_aot(path, run=False):
    ti.init(arch=getattr(ti, sys.argv[1]))

    @ti.kernel
    def paint(pixels: ti.types.ndarray(dtype=ti.f32, ndim=2), n: ti.u32, t: ti.f32):
        for i, j in pixels:  # Parallelized over all pixels
            c = ti.Vector([-0.8, ti.cos(t) * 0.2])
            z = ti.Vector([i / n - 1, j / n - 0.5]) * 2
            iterations = 0
            while z.norm() < 20 and iterations < 50:
                z = ti.Vector([z[0]**2 - z[1]**2, z[1] * z[0] * 2]) + c
                iterations += 1
            pixels[i, j] = 1 - iterations * 0.02

    n = 16
    pixels = ti.ndarray(shape=(n * 2, n), dtype=ti.f32)
    if run:
        for t in range(3):
            paint(pixels, n, t * 0.03)
        pixels.to_numpy()
    mod = ti.aot.Module(getattr(ti, sys.argv[1]))
    mod.add_kernel(paint, template_args={"pixels": pixels})
    mod.archive(path)

for run in (False, True):
    compile_aot(f"{sys.argv[2]}/{run}.tcm", run)
"""


def digest(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def archive_of(module):
    return write_container(module.members())


def manifest_of(module):
    return json.loads(module.members()["module.json"])


@ti.kernel
def fill(x: ti.types.ndarray(ti.i32, 1), value: ti.i32):
    for i in x:
        x[i] = value


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_archive_is_a_zip_with_text_and_binary(target, tmp_path):
    if target == "python":
        pytest.skip("interprets")
    module = ti.aot.Module()
    module.add_kernel(fill)
    path = tmp_path / "missing" / "folders" / "module.tcm"
    module.archive(str(path))
    with zipfile.ZipFile(path) as file:
        assert file.testzip() is None
        names = file.namelist()
        assert names == sorted(names)
        assert {info.date_time for info in file.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        source = next(name for name in names if name.endswith((".comp", ".c", ".cu")))
        assert "void" in file.read(source).decode()
        assert "module.json" in names and any(name.endswith((".spv", ".so", ".cubin")) for name in names)


@pytest.mark.exhaustive
@pytest.mark.one_target
def test_archives_do_not_depend_on_what_ran(target, tmp_path):
    if target == "python":
        pytest.skip("interprets")
    digests = set()
    for number, seed in enumerate(("0", "1234")):
        folder = tmp_path / str(number)
        folder.mkdir()
        script = folder / "julia.py"
        script.write_text(JULIA)
        command = [sys.executable, str(script), target, str(folder)]
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        subprocess.run(command, check=True, env=environment, cwd=folder, timeout=300)
        digests |= {digest(folder / "True.tcm"), digest(folder / "False.tcm")}
    assert len(digests) == 1


def test_what_is_archived_is_what_was_asked_for():
    """Taichi 1.7.4 archives 222 here: the specialization that ran last."""
    ti.init(arch=ti.cpu)

    @ti.kernel
    def f(k: ti.template(), x: ti.types.ndarray(ti.i32, 1)):
        for i in x:
            x[i] = k

    x = ti.ndarray(ti.i32, 4)
    f(111, x)
    f(222, x)
    module = ti.aot.Module(ti.vulkan)
    module.add_kernel(f, {"k": 111, "x": x})
    text = next(data for name, data in module.members().items() if name.endswith(".comp")).decode()
    assert "111" in text and "222" not in text


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_modules_in_archives_read_back(target):
    if target == "python":
        pytest.skip("interprets")
    module = ti.aot.Module()
    module.add_kernel(fill)
    data = manifest_of(module)
    kernel = data["kernels"]["fill"]["module"]
    members = module.members()
    for file in kernel["files"]:
        file["text"] = members[file.pop("source")].decode()
        del file["binary"], file["translations"]
    assert read_module(kernel).kernel == "fill"


def test_order_of_adding_does_not_matter():
    def build(names):
        ti.init(arch=ti.cpu)
        fields = {name: ti.field(ti.i32, shape=size, name=name) for name, size in [("a", 4), ("b", 8)]}
        a, b = fields["a"], fields["b"]

        @ti.kernel
        def use_a():
            a[0] = 1

        @ti.kernel
        def use_b():
            b[1] = 2

        module = ti.aot.Module()
        for name in names:
            if name in fields:
                module.add_field(name, fields[name])
            else:
                module.add_kernel({"use_a": use_a, "use_b": use_b}[name])
        return archive_of(module)

    assert build(["a", "b", "use_a", "use_b"]) == build(["use_b", "b", "use_a", "a"])


def test_fields_lie_in_trees():
    ti.init(arch=ti.cpu)
    x = ti.Vector.field(3, ti.f32, shape=(4, 5), offset=(1, -2))
    s, v = ti.field(ti.f32), ti.Vector.field(2, ti.f64)
    ti.root.dense(ti.i, 6).place(s, v)

    @ti.kernel
    def work():
        for i in s:
            s[i] = ti.cast(v[i][0], ti.f32)
        x[1, -2] = 1.0

    module = ti.aot.Module()
    module.add_field("x", x)
    module.add_field("s", s)
    module.add_field("v", v)
    module.add_kernel(work)
    data = manifest_of(module)
    assert data["fields"]["x"] | {"tree": 0} == {
        "tree": 0, "offset_bytes": 0, "element": "f32", "element_shape": [3], "members": None, "shape": [4, 5],
        "element_size_bytes": 12,
        "strides_bytes": [60, 12], "offset": [1, -2],
    }  # fmt: skip
    assert data["fields"]["s"]["tree"] == data["fields"]["v"]["tree"] != data["fields"]["x"]["tree"]
    assert data["fields"]["s"]["strides_bytes"] == data["fields"]["v"]["strides_bytes"] == [24]
    assert data["fields"]["v"]["offset_bytes"] == 8
    assert sorted(tree["size_bytes"] for tree in data["trees"]) == [144, 240]
    members = data["kernels"]["work"]["module"]["interface"]["members"]
    constants = data["kernels"]["work"]["constants"]
    assert [c for m, c in zip(members, constants, strict=True) if m["source"][0] == "pointer"]
    assert all(set(c) == {"tree", "offset_bytes"} for c in constants if c is not None)


def test_instances_of_a_template_are_named_by_their_arguments():
    ti.init(arch=ti.cpu)
    x, y = ti.field(ti.i32, 4), ti.field(ti.i32, 8)

    @ti.kernel
    def bar_tmpl(a: ti.template(), k: ti.template()):
        for i in a:
            a[i] = k

    module = ti.aot.Module(ti.vulkan)
    module.add_field("x", x)
    module.add_field("y", y)
    with module.add_kernel_template(bar_tmpl) as kt:
        kt.instantiate(a=x, k=1)
        kt.instantiate(a=y, k=2)
    data = manifest_of(module)
    assert set(data["kernels"]) == {"bar_tmpl(a=x, k=1)", "bar_tmpl(a=y, k=2)"}
    assert data["kernels"]["bar_tmpl(a=x, k=1)"]["template"] == {"of": "bar_tmpl", "arguments": {"a": "x", "k": "1"}}


def test_mistakes_are_named():
    ti.init(arch=ti.cpu)
    module = ti.aot.Module()
    module.add_kernel(fill)
    with pytest.raises(ti.TaichiRuntimeError, match="there is a kernel `fill` already"):
        module.add_kernel(fill)
    with pytest.raises(ti.TaichiRuntimeError, match="did you mean `value`"):
        module.add_kernel(fill, {"valeu": 1}, name="other")
    with pytest.raises(AssertionError, match=".tcm"):
        module.archive("module.zip")
    with pytest.raises(ti.TaichiRuntimeError, match="not a target"):
        ti.aot.Module(ti.metal)
    with pytest.raises(ti.TaichiRuntimeError, match="not a capability"):
        ti.aot.Module(ti.vulkan, caps=["fly"])

    @ti.kernel
    def needs(k: ti.template()):
        print(k)

    with pytest.raises(ti.TaichiRuntimeError, match="`k` of kernel `needs` is a template"):
        module.add_kernel(needs)
    with pytest.raises(ti.TaichiRuntimeError, match="takes a field"):
        module.add_field("x", ti.ndarray(ti.i32, 3))


@pytest.mark.parametrize("name", [3, None, "", "a\nb", "x" * 257])
def test_fields_and_graphs_have_names_that_a_loader_takes(name):
    ti.init(arch=ti.cpu)
    module = ti.aot.Module(ti.cpu)
    with pytest.raises(ti.TaichiRuntimeError, match="is not a name of a field: 1 to 256 printable characters"):
        module.add_field(name, ti.field(ti.f32, 2))
    with pytest.raises(ti.TaichiRuntimeError, match="is not a name of a graph: 1 to 256 printable characters"):
        module.add_graph(name, ti.graph.GraphBuilder().compile())


def test_a_field_of_several_arrays_is_refused_when_it_is_added(tmp_path):
    ti.init(arch=ti.cpu)
    module = ti.aot.Module(ti.cpu)
    apart = ti.Vector.field(2, ti.f32, 4, layout=ti.Layout.SOA)
    with pytest.raises(ti.TaichiRuntimeError, match="field `v` is split into several arrays"):
        module.add_field("v", apart)
    module.add_field("v0", apart.get_scalar_field(0))
    module.archive(tmp_path / "v.tcm")
    assert list(ti.aot.load(tmp_path / "v.tcm").fields) == ["v0"]


def test_targets_and_capabilities_that_cannot_be_are_named():
    ti.init(arch=ti.cpu)
    for arch, message in [
        (
            ti.opengl,
            '<Arch.opengl> is not a target of a module. Hint: ti.vulkan, ti.cuda, ti.cpu, or one of "vulkan1.1"',
        ),
        (ti.gpu, "a module is for one target, and several were given. Hint: one of ti.cuda, ti.vulkan$"),
    ]:
        with pytest.raises(ti.TaichiRuntimeError, match=message):
            ti.aot.Module(arch)
    with pytest.raises(ti.TaichiRuntimeError, match="caps: 'spirv_version=1.9' is not a capability"):
        ti.aot.Module(ti.vulkan, caps=["spirv_version=1.9"])


def test_capabilities_in_taichis_spelling():
    ti.init(arch=ti.cpu)
    wanted = ti.aot.Module(ti.vulkan, caps=[ti.DeviceCapability.spirv_version_1_5]).target
    for caps in (["spirv_version=66816"], ["spirv_version=1.5"], ti.DeviceCapability.spirv_version_1_5):
        assert ti.aot.Module(ti.vulkan, caps=caps).target == wanted


def test_an_annotation_that_says_too_little_is_named():
    ti.init(arch=ti.cpu)

    @ti.kernel
    def fill(x: ti.types.ndarray(ndim=1), y: ti.types.ndarray()):
        for i in x:
            x[i] = y[i]

    module = ti.aot.Module(ti.vulkan)
    with pytest.raises(
        ti.TaichiRuntimeError, match="`x` of kernel `fill` leaves dtype open. Hint: template_args="
    ) as e:
        module.add_kernel(fill)
    assert not [entry for entry in e.traceback if "runtime" in str(entry.path)]  # the user's line, no frame of ours
    with pytest.raises(ti.TaichiRuntimeError, match="`y` of kernel `fill` leaves dtype and ndim open"):
        module.add_kernel(fill, {"x": ti.ndarray(ti.f32, 2)})


def test_the_same_instance_twice_is_named():
    ti.init(arch=ti.cpu)

    @ti.kernel
    def get(k: ti.template()) -> ti.i32:
        return k

    with ti.aot.Module(ti.cpu).add_kernel_template(get) as template:
        template.instantiate(k=3)
        with pytest.raises(
            ti.TaichiRuntimeError, match=r"`get\(k=3\)` already. Hint: each is archived once; for arrays"
        ):
            template.instantiate(k=3)
        with pytest.raises(ti.TaichiRuntimeError, match="kernel `get` has no parameter `j`"):
            template.instantiate(k=3, j=4)


@pytest.mark.parametrize("spelling", [("",), ("module",)])
def test_a_folder_is_saved_in_taichi_13s_spelling_too(tmp_path, spelling):
    ti.init(arch=ti.cpu)
    module = ti.aot.Module(ti.cpu)
    module.save(tmp_path, *spelling)
    assert (tmp_path / "module.json").read_bytes() == module.members()["module.json"]


def test_folder_equals_archive(tmp_path):
    ti.init(arch=ti.cpu)
    module = ti.aot.Module(ti.vulkan)
    module.add_kernel(fill)
    module.save(tmp_path / "out")
    module.save(tmp_path / "out")  # over the one before
    with zipfile.ZipFile(io.BytesIO(archive_of(module))) as file:
        files = {str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*") if path.is_file()}
        for_taichi = {"metadata.json", "graphs.json", "__content__", "__version__", "fill_t00.spv"}
        assert files == {*file.namelist(), *for_taichi}
        for name in file.namelist():
            assert (tmp_path / "out" / name).read_bytes() == file.read(name)


@ti.kernel
def wide(x: ti.types.ndarray(ti.f64, 1), y: ti.types.ndarray(ti.f32, 1)):
    for i in x:
        x[i] = x[i] + 1.0
        ti.atomic_add(y[0], 1.0)


def test_capabilities_are_read_back():
    ti.init(arch=ti.cpu)
    module = ti.aot.Module(ti.vulkan, caps="portable")
    module.add_kernel(fill)
    requires = manifest_of(module)["requires"]
    assert requires["spirv"] == [1, 3]
    assert set(requires["capabilities"]) == {"Shader", "PhysicalStorageBufferAddresses"}
    with pytest.raises(ti.UnsupportedError, match="f64"):
        module.add_kernel(wide)
    able = ti.aot.Module(ti.vulkan, caps=[ti.DeviceCapability.spirv_has_float64, "spirv_has_atomic_float_add"])
    able.add_kernel(wide)
    requires = manifest_of(able)["requires"]
    assert {"Float64", "AtomicFloat32AddEXT"} <= set(requires["capabilities"])
    assert {"shaderFloat64", "shaderBufferFloat32AtomicAdd", "bufferDeviceAddress"} <= set(requires["features"])
    assert "SPV_EXT_shader_atomic_float_add" in requires["extensions"]


@pytest.mark.parametrize("name", ["spirv_has_int8", "spirv_version_1_5", "spirv_has_subgroup_ballot"])
def test_each_capability_has_taichis_name(name):
    assert ti.DeviceCapability[name].value == name


def test_cuda_modules_need_no_gpu():
    pytest.importorskip("nvidia.cu13", reason="NVRTC")
    ti.init(arch=ti.cpu)
    module = ti.aot.Module("cuda:sm_80")
    module.add_kernel(fill)
    members, data = module.members(), manifest_of(module)
    assert data["requires"] == {"arch": "sm_80", "ptx": "compute_75"}
    assert members["kernels/fill/fill.cubin"][:4] == b"\x7fELF"
    assert b".target sm_75" in members["kernels/fill/fill.ptx"]


@pytest.mark.parametrize("name", ["../../x", "Größe", "größe", "a/b", "CON", "a b*{{7*7}}", "x" * 256, ".", "-"])
def test_any_name_of_a_kernel_is_a_plain_folder(name):
    ti.init(arch=ti.cpu)
    module = ti.aot.Module(ti.vulkan)
    module.add_kernel(fill, name=name)
    module.add_kernel(fill, name="kernel")
    assert sorted(open_archive(archive_of(module)).kernels) == sorted([name, "kernel"])


@pytest.mark.parametrize("name", ["x" * 257, "a\nb", "a\0b"])
def test_names_that_cannot_be_read_are_refused(name):
    ti.init(arch=ti.cpu)
    with pytest.raises(ti.TaichiRuntimeError, match="not a name of a kernel"):
        ti.aot.Module(ti.vulkan).add_kernel(fill, name=name)


class Gpu:
    """As much of a CUDA device as choosing code asks for."""

    name = "cuda"

    def __init__(self, arch):
        self.capabilities = Capabilities("cuda", extra=(("arch", arch),))


@pytest.mark.parametrize(
    ("arch", "chosen"), [("sm_80", "cubin"), ("sm_86", "cubin"), ("sm_90", "ptx"), ("sm_120", "ptx"), ("sm_75", "ptx")]
)
def test_a_gpu_gets_the_cubin_of_its_generation_else_ptx(arch, chosen):
    pytest.importorskip("nvidia.cu13", reason="NVRTC")
    ti.init(arch=ti.cpu)
    module = ti.aot.Module("cuda:sm_80")
    module.add_kernel(fill)
    archive = open_archive(archive_of(module))
    kernel = archive.kernels["fill"]
    assert codes_for(kernel, archive.manifest.requires, Gpu(arch)) == [kernel.codes[0][chosen]]


def test_machine_code_for_another_processor_is_not_loaded():
    ti.init(arch=ti.cpu)
    module = ti.aot.Module(caps="portable")
    module.add_kernel(fill)
    requires = manifest_of(module)["requires"]
    assert fits_host(requires)
    assert not fits_host({**requires, "cpu": ["avx8192"]})
    assert not fits_host({**requires, "machine": "riscv64"})


def test_a_session_with_passes_and_templates_of_its_own_is_archived(tmp_path):
    def nothing(kernel, context):
        return False

    path = tmp_path / "templates" / "parts" / "unused.j2"
    path.parent.mkdir(parents=True)
    path.write_text("// unused")
    passes = [ti.Pass(nothing, after="fold")]
    ti.init(arch=ti.cpu, passes=passes, templates_dir=str(tmp_path / "templates"), log_level=ti.WARN)
    module = ti.aot.Module()
    module.add_kernel(fill)
    options = manifest_of(module)["options"]
    (own_pass,), (own_template,) = options["own_passes"], options["own_templates"]
    assert own_pass["name"] == "nothing" and own_template["name"] == "parts/unused.j2"
    assert str(tmp_path) not in str(options), "the archive is the same wherever it is made"
