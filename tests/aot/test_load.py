"""Modules that were archived and loaded again do what kernels do."""

import json
import os

import corpus
import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.aot.container import write_container
from shadesmith.runtime.session import session as sessions

Particle = ti.types.struct(pos=ti.math.vec3, mass=ti.f32, kind=ti.i32)


@pytest.fixture
def device(target):
    if target == "python":
        pytest.skip("the interpreter has nothing to archive")
    return target


def through_archive(*kernels, fields={}, **named):
    """Archive kernels with what they take, and load them in the same session."""
    module = ti.aot.Module()
    for name, field in fields.items():
        module.add_field(name, field)
    for kernel in kernels:
        module.add_kernel(kernel)
    for name, (kernel, arguments) in named.items():
        module.add_kernel(kernel, arguments, name)
    return ti.aot.load(write_container(module.members()))


@ti.kernel
def saxpy(x: ti.types.ndarray(ti.f32, 1), y: ti.types.ndarray(ti.f32, 1), a: ti.f32):
    for i in x:
        y[i] = a * x[i] + y[i]


@pytest.mark.parametrize("size", [0, 1, 7, 1000])
@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_arrays_of_every_kind(device, size):
    module = through_archive(saxpy)
    x, y = np.arange(size, dtype=np.float32), np.ones(size, np.float32)
    expected = 2 * x + y
    ours = ti.ndarray(ti.f32, max(size, 1))
    module.saxpy(x, y, 2.0)
    np.testing.assert_array_equal(y, expected)
    if size:
        ours.from_numpy(np.ones(size, np.float32))
        module.kernels["saxpy"](x, a=2.0, y=ours)
        np.testing.assert_array_equal(ours.to_numpy(), expected)


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_arrays_with_gaps_are_copied(device):
    module = through_archive(saxpy)
    x, whole = np.arange(5, dtype=np.float32), np.zeros(10, np.float32)
    module.saxpy(x, whole[::2], 3.0)
    np.testing.assert_array_equal(whole[::2], 3 * x)
    assert not whole[1::2].any()
    with pytest.raises(ti.TaichiRuntimeTypeError, match="archived for arrays without"):
        module.saxpy(x, ti.ndarray(ti.f32, 10)[::2], 3.0)


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_kernels_for_arrays_with_gaps(device):
    whole = ti.ndarray(ti.f32, 10)
    module = through_archive(strided=(saxpy, {"y": whole[::2]}))
    x = np.arange(5, dtype=np.float32)
    part = ti.ndarray(ti.f32, 15)
    module.strided(x, part[::3], 2.0)
    module.strided(x, y := np.zeros(5, np.float32), 2.0)
    np.testing.assert_array_equal(part.to_numpy()[::3], 2 * x)
    np.testing.assert_array_equal(y, 2 * x)


@ti.kernel
def results(
    v: ti.math.vec3, m: ti.types.matrix(2, 2, ti.i32), p: Particle, k: ti.i64
) -> (ti.f32, ti.math.vec3, Particle):
    return v.dot(v) + k, v * 2.0, Particle(pos=p.pos + v, mass=m[1, 0], kind=p.kind + m[0, 1])


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_values_and_results(device):
    module = through_archive(results)
    value = Particle(pos=[1, 2, 3], mass=4, kind=5)
    number, vector, particle = module.results(ti.Vector([1.0, 2.0, 3.0]), ti.Matrix([[1, 2], [3, 4]]), value, 2**33)
    expected = results(ti.Vector([1.0, 2.0, 3.0]), ti.Matrix([[1, 2], [3, 4]]), value, 2**33)
    assert number == expected[0]
    assert vector.to_list() == expected[1].to_list() == [2.0, 4.0, 6.0]
    assert particle.pos.to_list() == [2.0, 4.0, 6.0]
    assert (particle.mass, particle.kind) == (3.0, 7)


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_fields_are_the_modules_own(device):
    x, v = ti.field(ti.i32, shape=8), ti.Vector.field(2, ti.f32)
    ti.root.dense(ti.ij, (2, 3)).place(v)
    x.fill(7)

    @ti.kernel
    def step():
        for i in x:
            x[i] += i
        for i, j in v:
            v[i, j] += ti.Vector([i, j])

    module = through_archive(step, fields={"x": x, "v": v})
    assert set(module.fields) == {"x", "v"}
    assert module.fields["x"].to_numpy().tolist() == [0] * 8
    module.step()
    module.fields["x"][3] = 100
    module.step()
    assert module.fields["x"].to_numpy().tolist() == [0, 2, 4, 103, 8, 10, 12, 14]
    assert module.fields["v"].to_numpy()[1, 2].tolist() == [2.0, 4.0]
    assert x.to_numpy().tolist() == [7] * 8
    again = through_archive(step, fields={"x": x, "v": v})
    assert again.fields["x"].to_numpy().tolist() == [0] * 8


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_fields_of_a_tree(device):
    a, b = ti.field(ti.f32), ti.field(ti.f64)
    ti.root.dense(ti.i, 5).place(a, b)

    @ti.kernel
    def count():
        for i in a:
            a[i] = i
            b[i] = 10 * i

    module = through_archive(count, fields={"a": a, "b": b})
    module.count()
    assert module.fields["a"].to_numpy().tolist() == [0, 1, 2, 3, 4]
    assert module.fields["b"].to_numpy().tolist() == [0, 10, 20, 30, 40]


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_blocks_and_sparse_trees_are_for_kernels(device):
    blocked, sparse = ti.field(ti.i32), ti.field(ti.i32)
    ti.root.dense(ti.i, 4).dense(ti.i, 4).place(blocked)
    ti.root.pointer(ti.i, 8).dense(ti.i, 4).place(sparse)

    @ti.kernel
    def write():
        for i in blocked:
            blocked[i] = i
        sparse[9] = 5
        sparse[30] = 6

    @ti.kernel
    def total() -> ti.i32:
        found = 0
        for i in sparse:
            found += sparse[i] + 1
        return found

    @ti.kernel
    def last(out: ti.types.ndarray(ti.i32, 1)):
        for i in out:
            out[i] = blocked[i]

    module = through_archive(write, total, last, fields={"blocked": blocked, "sparse": sparse})
    module.write()
    assert module.total() == 5 + 6 + 8  # two cells of four items
    out = np.zeros(16, np.int32)
    module.last(out)
    assert out.tolist() == list(range(16))
    with pytest.raises(ti.TaichiRuntimeError, match="`sparse` have no strides"):
        module.fields["sparse"]


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_reports_of_loaded_kernels(device, capfd):
    @ti.kernel
    def check(n: ti.i32):
        for i in range(n):
            if i == 1:
                print("here", i)

    module = through_archive(check)
    module.check(3)
    assert capfd.readouterr().out == "here 1\n"


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_assertions_of_loaded_kernels(target):
    if target == "python":
        pytest.skip("the interpreter has nothing to archive")
    ti.init(arch=sessions.current().arch, debug=True, log_level=ti.WARN)

    @ti.kernel
    def check(n: ti.i32):
        for i in range(n):
            assert i < 3, f"{i} is too far"

    module = through_archive(check)
    module.check(3)
    with pytest.raises(ti.TaichiAssertionError, match="3 is too far") as caught:
        module.check(9)
    assert "test_load.py" in str(caught.value)


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_random_numbers_differ_from_launch_to_launch(device):
    @ti.kernel
    def noise(x: ti.types.ndarray(ti.f32, 1)):
        for i in x:
            x[i] = ti.random()

    module = through_archive(noise)
    a, b = np.zeros(16, np.float32), np.zeros(16, np.float32)
    module.noise(a)
    module.noise(b)
    assert (a != b).any() and a.min() >= 0 and a.max() < 1


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_instances_of_templates(device):
    @ti.kernel
    def power(x: ti.types.ndarray(ti.i32, 1), k: ti.template(), add: ti.i32):
        for i in x:
            x[i] = i**k + add

    module = ti.aot.Module()
    with module.add_kernel_template(power) as kt:
        kt.instantiate(k=2)
        kt.instantiate(k=3)
    loaded = ti.aot.load(write_container(module.members()))
    x = np.zeros(4, np.int32)
    loaded.kernels["power(k=3)"](x, 1)
    assert x.tolist() == [1, 2, 9, 28]
    loaded.kernels["power(k=2)"](x, add=0)
    assert x.tolist() == [0, 1, 4, 9]


class Graph:
    """What `ti.graph` gives to `add_graph`."""

    def __init__(self, kernels, arguments, dispatches):
        self._kernels, self._arguments, self._dispatches = kernels, arguments, dispatches

    def kernels(self):
        return self._kernels

    def to_data(self):
        return {
            "arguments": [{"name": name} for name in self._arguments],
            "dispatches": [{"kernel": name, "arguments": given} for name, given in self._dispatches],
        }


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_graphs_dispatch_kernels_by_name(device):
    array = ti.ndarray(ti.f32, 1)
    graph = Graph(
        {"saxpy": (saxpy, [array, array, 0.0])},
        ["x", "y", "a"],
        [("saxpy", ["x", "y", "a"]), ("saxpy", ["y", "x", 0.5])],
    )
    module = ti.aot.Module()
    module.add_graph("twice", graph)
    loaded = ti.aot.load(write_container(module.members()))
    assert list(loaded.kernels) == ["saxpy"]
    assert [argument["kind"] for argument in loaded.graphs["twice"].arguments] == ["ndarray", "ndarray", "scalar"]
    x, y = np.ones(3, np.float32), np.zeros(3, np.float32)
    loaded.graphs["twice"].run({"x": x, "y": y, "a": 2.0})
    assert (y.tolist(), x.tolist()) == ([2.0] * 3, [2.0] * 3)
    with pytest.raises(ti.TaichiRuntimeError, match="`a` is missing"):
        loaded.graphs["twice"].run({"x": x, "y": y})


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_kernels_of_graphs_do_not_hide_others(device):
    @ti.kernel
    def fill(x: ti.types.ndarray(ti.f32, 1), value: ti.template()):
        for i in x:
            x[i] = value

    array = ti.ndarray(ti.f32, 1)
    module = ti.aot.Module()
    module.add_kernel(fill, {"value": 1})
    graph = Graph({"fill": (fill, [array, 2]), "fill__2": (fill, [array, 1])}, ["x"], [("fill", ["x"])])
    module.add_graph("g", graph)
    assert sorted(module.kernels) == ["fill", "fill__2", "g.fill"]
    loaded = ti.aot.load(write_container(module.members()))
    x = np.zeros(3, np.float32)
    loaded.graphs["g"].run({"x": x})
    assert x.tolist() == [2.0] * 3
    loaded.fill(x)
    assert x.tolist() == [1.0] * 3


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_mistakes_in_calls(device):
    module = through_archive(saxpy)
    x = np.zeros(3, np.float32)
    with pytest.raises(TypeError, match="takes 3 arguments"):
        module.saxpy(x)
    with pytest.raises(ti.TaichiRuntimeTypeError, match="`a` of kernel `saxpy`"):
        module.saxpy(x, x.copy(), "fast")
    with pytest.raises(ti.TaichiRuntimeTypeError, match="dtype=f32"):
        module.saxpy(np.zeros(3, np.int32), x, 1.0)
    with pytest.raises(AttributeError, match="did you mean `saxpy`"):
        module.saxpi
    sessions.reset()
    with pytest.raises(ti.TaichiRuntimeError, match=r"before the last `ti.init\(\)`"):
        module.saxpy(x, x.copy(), 1.0)


def test_modules_for_other_targets_are_refused():
    ti.init(arch=ti.cpu)
    module = ti.aot.Module(ti.vulkan)
    module.add_kernel(saxpy)
    with pytest.raises(ti.TaichiRuntimeError, match=r"ti.init\(arch=ti.vulkan\)"):
        ti.aot.load(write_container(module.members()))
    ti.reset()
    with pytest.raises(ti.TaichiRuntimeError, match="ti.init"):
        ti.aot.load(write_container(module.members()))


@pytest.mark.all_targets
def test_nothing_is_compiled(device, monkeypatch):
    module = ti.aot.Module()
    module.add_kernel(saxpy)
    data = write_container(module.members())
    sessions.reset()
    ti.init(arch={"cpu": ti.cpu}.get(device, getattr(ti, device)), log_level=ti.WARN)
    loaded = ti.aot.load(data)

    def refuse(*args, **kwargs):
        raise AssertionError("a compiler was asked")

    monkeypatch.setattr(type(sessions.current().device), "build", refuse)
    x, y = np.ones(4, np.float32), np.zeros(4, np.float32)
    loaded.saxpy(x, y, 1.0)
    assert y.tolist() == [1.0] * 4


def test_binaries_equal_those_of_launches():
    """One manager compiles for launches and archives: the SPIR-V is the same, byte for byte."""
    from shadesmith.runtime.devices.vulkan.glslang import Glslang

    ti.init(arch=ti.vulkan)
    module = ti.aot.Module()
    module.add_kernel(saxpy)
    x = ti.ndarray(ti.f32, 4)
    launched = saxpy.compile(x, x, 1.0)
    members = module.members()
    assert members["kernels/saxpy/saxpy.comp"].decode() == launched.files[0].text
    assert members["kernels/saxpy/saxpy.spv"] == Glslang().compile(launched.files[0], "saxpy")


@pytest.mark.targets("cpu", "vulkan", "cuda")
@pytest.mark.sampled(8)
@pytest.mark.parametrize("maker", corpus.MAKERS, ids=lambda maker: maker.__name__)
def test_kernels_of_the_corpus_are_archived_loaded_and_launched(device, maker):
    kernel, arguments = maker()
    module = ti.aot.Module()
    try:
        module.add_call(kernel, kernel.arguments.bind(arguments), "k")
    except (ti.UnsupportedError, ti.TaichiSyntaxError):
        pytest.skip("needs what the device lacks, or arguments that the corpus leaves out")
    data = write_container(module.members())
    assert data == write_container(module.members())
    loaded = ti.aot.load(data).kernels["k"]
    values = kernel.arguments.flattened(arguments)
    loaded(*(value for value, each in zip(values, loaded.parameters, strict=True) if each["kind"] != "template"))
    ti.sync()


def test_text_is_compiled_where_the_machine_code_is_for_another_processor():
    ti.init(arch=ti.cpu, log_level=ti.WARN)
    module = ti.aot.Module()
    module.add_kernel(saxpy)
    members = module.members()
    data = json.loads(members["module.json"])
    data["requires"]["cpu"] = ["avx8192"]
    loaded = ti.aot.load(write_container({**members, "module.json": json.dumps(data).encode()}))
    x, y = np.ones(4, np.float32), np.zeros(4, np.float32)
    loaded.saxpy(x, y, 2.0)
    assert y.tolist() == [2.0] * 4


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_memory_goes_with_the_module(device):
    x = ti.field(ti.f32, shape=1 << 16)

    @ti.kernel
    def step():
        for i in x:
            x[i] += 1

    module = through_archive(step, fields={"x": x})
    module.step()
    field = module.fields["x"]
    ti.sync()
    used = sessions.current().device.used_bytes
    del module
    assert field[5] == 1.0
    del field
    ti.sync()
    assert sessions.current().device.used_bytes <= used - (4 << 16)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of POSIX")
def test_what_is_no_plain_file(tmp_path):
    ti.init(arch=ti.cpu, log_level=ti.WARN)
    os.mkfifo(tmp_path / "pipe.tcm")
    (tmp_path / "folder" / "kernels").mkdir(parents=True)
    (tmp_path / "folder" / "module.json").write_text("{}")
    os.mkfifo(tmp_path / "folder" / "kernels" / "pipe")
    for path in (tmp_path / "pipe.tcm", tmp_path / "folder", "/dev/zero"):
        with pytest.raises(ti.TaichiRuntimeError, match="no plain file"):
            ti.aot.load(path)
    with pytest.raises(ti.TaichiRuntimeError, match="is no path"):
        ti.aot.load("a\0b")
