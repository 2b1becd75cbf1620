"""Graphs of an archive, launched by name from C: like the same kernels one after the other."""

import json

import numpy as np
import pytest
from c_api import binding
from c_api.binding import CError, f32, i32
from damaged_archives import rebuilt

import shadesmith as ti

pytestmark = pytest.mark.targets("vulkan", "cuda")  # the C runtime has no other


@ti.kernel
def fill(x: ti.types.ndarray(ti.f32, 1), value: ti.f32):
    for i in x:
        x[i] = value + i


@ti.kernel
def scale(x: ti.types.ndarray(ti.f32, 1), y: ti.types.ndarray(ti.f32, 1), v: ti.types.vector(2, ti.f32), n: ti.i32):
    for i in range(n):
        y[i] = x[i] * v[0] + v[1]


GRAPH = {
    "arguments": [
        {"name": "x", "kind": "ndarray", "element": "f32", "element_shape": [], "ndim": 1},
        {"name": "y", "kind": "ndarray", "element": "f32", "element_shape": [], "ndim": 1},
        {"name": "value", "kind": "scalar", "type": "f32"},
    ],
    "dispatches": [
        {"kernel": "fill", "arguments": ["x", "value"]},
        {"kernel": "fill", "arguments": ["y", -1]},
        {"kernel": "scale", "arguments": ["x", "y", [2, 0.5], 3]},
    ],
}


@pytest.fixture
def graph(runtime, tmp_path):
    module = ti.aot.Module()
    module.add_kernel(fill)
    module.add_kernel(scale)
    members = module.members()
    manifest = json.loads(members["module.json"])
    manifest["graphs"] = {"both": GRAPH, "nothing": {"arguments": [], "dispatches": []}}
    (tmp_path / "module.tcm").write_bytes(rebuilt(members, manifest))
    loaded = runtime.load(tmp_path / "module.tcm")
    names = [runtime.call("ti_get_aot_module_compute_graph_name", loaded, number) for number in range(3)]
    assert names == [b"both", b"nothing", None]
    return runtime.call("ti_get_aot_module_compute_graph", loaded, b"both")


def test_a_graph_is_its_kernels_one_after_the_other(runtime, graph):
    x, x_argument = runtime.array(np.zeros(5, np.float32), "f32")
    y, y_argument = runtime.array(np.zeros(5, np.float32), "f32")
    for value in (1.5, 10.0):
        runtime.launch_graph(graph, y=y_argument, value=f32(value), x=x_argument)
        expected = np.arange(5, dtype=np.float32)
        assert np.frombuffer(runtime.read(x, 20), np.float32).tolist() == (expected + value).tolist()
        second = np.concatenate([(expected[:3] + value) * 2 + 0.5, expected[3:] - 1])
        assert np.frombuffer(runtime.read(y, 20), np.float32).tolist() == second.tolist()


def test_arguments_are_checked_by_name(runtime, graph):
    _, x = runtime.array(np.zeros(5, np.float32), "f32")
    _, wrong = runtime.array(np.zeros(5, np.int32), "i32")
    with pytest.raises(CError, match="graph `both` takes argument `y`, which is missing") as caught:
        runtime.launch_graph(graph, x=x, value=f32(1))
    assert caught.value.code == binding.ARGUMENT_NOT_FOUND
    with pytest.raises(CError, match="graph `both` takes no argument `z`"):
        runtime.launch_graph(graph, x=x, y=x, z=x, value=f32(1))
    with pytest.raises(
        CError, match="graph `both`: kernel `fill`: argument `x` has elements of i32, and the kernel takes f32"
    ):
        runtime.launch_graph(graph, x=wrong, y=x, value=f32(1))
    with pytest.raises(CError, match="kernel `fill`: argument `value` is an ndarray"):
        runtime.launch_graph(graph, x=x, y=x, value=x)


def test_a_number_for_a_float(runtime, graph):
    x, x_argument = runtime.array(np.zeros(5, np.float32), "f32")
    runtime.launch_graph(graph, x=x_argument, y=x_argument, value=i32(3))
    assert np.frombuffer(runtime.read(x, 4), np.float32)[0] == -1 * 2 + 0.5


def test_graphs_of_the_builder(runtime, tmp_path):
    x = ti.graph.Arg(ti.graph.ArgKind.NDARRAY, "x", ti.f32, ndim=1)
    value = ti.graph.Arg(ti.graph.ArgKind.SCALAR, "value", ti.f32)
    builder = ti.graph.GraphBuilder()
    builder.dispatch(fill, x, value)
    builder.dispatch(fill, x, value)
    module = ti.aot.Module()
    module.add_graph("twice", builder.compile())
    module.archive(str(tmp_path / "module.tcm"))
    loaded = runtime.load(tmp_path / "module.tcm")
    memory, argument = runtime.array(np.zeros(4, np.float32), "f32")
    graph = runtime.call("ti_get_aot_module_compute_graph", loaded, b"twice")
    runtime.launch_graph(graph, x=argument, value=f32(2))
    assert np.frombuffer(runtime.read(memory, 16), np.float32).tolist() == [2, 3, 4, 5]
