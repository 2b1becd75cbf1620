"""Graphs of `ti.graph` in archives."""

import json

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.aot.container import write_container


@pytest.fixture
def device(target):
    if target == "python":
        pytest.skip("the interpreter has nothing to archive")
    return target


@ti.kernel
def add(x: ti.types.ndarray(ti.f32, 1), value: ti.f32):
    for i in x:
        x[i] += value


@ti.kernel
def turn(p: ti.types.ndarray(ti.math.vec2, 1), m: ti.types.matrix(2, 2, ti.f32)):
    for i in p:
        p[i] = m @ p[i]


@ti.kernel
def scale(x: ti.types.ndarray(ti.f32, 1), k: ti.template()):
    for i in x:
        x[i] *= k


def archived(graph, **kernels):
    module = ti.aot.Module()
    for name, kernel in kernels.items():
        module.add_kernel(kernel, name=name)
    module.add_graph("g", graph)
    return module.members()


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_a_graph_runs_as_it_does_here(device):
    x = ti.graph.Arg(ti.graph.ArgKind.NDARRAY, "x", ti.f32, ndim=1)
    value = ti.graph.Arg(ti.graph.ArgKind.SCALAR, "value", ti.f32)
    builder = ti.graph.GraphBuilder()
    builder.dispatch(add, x, value)
    builder.dispatch(add, x, 0.5)
    loop = builder.create_sequential()
    loop.dispatch(add, x, value)
    for _ in range(3):
        builder.append(loop)
    graph = builder.compile()
    members = archived(graph, add=add)
    data = json.loads(members["module.json"])
    assert list(data["kernels"]) == ["add"]
    assert [each["arguments"] for each in data["graphs"]["g"]["dispatches"][:2]] == [["x", "value"], ["x", 0.5]]
    loaded = ti.aot.load(write_container(members))
    ours, theirs = ti.ndarray(ti.f32, 5), ti.ndarray(ti.f32, 5)
    graph.run({"x": ours, "value": 2.0})
    loaded.graphs["g"].run({"x": theirs, "value": 2.0})
    loaded.graphs["g"].run({"x": (again := ti.ndarray(ti.f32, 7)), "value": 3.0})
    assert again.to_numpy().tolist() == [12.5] * 7
    assert theirs.to_numpy().tolist() == ours.to_numpy().tolist() == [8.5] * 5


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_matrices_and_templates_in_graphs(device):
    p = ti.graph.Arg(ti.graph.ArgKind.NDARRAY, "p", ti.math.vec2, ndim=1)
    m = ti.graph.Arg(ti.graph.ArgKind.MATRIX, "m", ti.types.matrix(2, 2, ti.f32))
    x = ti.graph.Arg(ti.graph.ArgKind.NDARRAY, "x", ti.f32, ndim=1)
    builder = ti.graph.GraphBuilder()
    builder.dispatch(turn, p, m)
    builder.dispatch(scale, x, 3)
    builder.dispatch(scale, x, 5)
    members = archived(builder.compile())
    assert len(json.loads(members["module.json"])["kernels"]) == 3
    loaded = ti.aot.load(write_container(members))
    points, numbers = np.array([[1, 0], [0, 1]], np.float32), np.ones(2, np.float32)
    loaded.graphs["g"].run({"p": points, "m": ti.Matrix([[0.0, -1.0], [1.0, 0.0]]), "x": numbers})
    assert points.tolist() == [[0, 1], [-1, 0]]
    assert numbers.tolist() == [15, 15]


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_loaded_graphs_are_replayed(device, monkeypatch):
    x = ti.graph.Arg(ti.graph.ArgKind.NDARRAY, "x", ti.f32, ndim=1)
    builder = ti.graph.GraphBuilder()
    for _ in range(5):
        builder.dispatch(scale, x, 2)
        builder.dispatch(add, x, 1.0)
    loaded = ti.aot.load(write_container(archived(builder.compile())))
    numbers = ti.ndarray(ti.f32, 3)
    graph = loaded.graphs["g"]
    graph.run({"x": numbers})
    monkeypatch.setattr(type(loaded.kernels["add"]), "__call__", None)
    graph.run({"x": numbers})
    assert numbers.to_numpy().tolist() == [31 + 31 * 32] * 3


Pair = ti.types.struct(k=ti.i32, v=ti.math.vec2)


@ti.kernel
def put(p: Pair, x: ti.types.ndarray(ti.f32, 1)):
    for i in x:
        x[i] = p.k + p.v[0] * p.v[1]


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_structs_in_dispatches_of_an_archive(device):
    module = ti.aot.Module()
    module.add_kernel(put)
    members = module.members()
    data = json.loads(members["module.json"])
    array = data["kernels"]["put"]["parameters"][1]
    dispatch = {"kernel": "put", "arguments": [[1, 2.0, 3.0], "x"]}
    data["graphs"]["g"] = {"arguments": [array], "dispatches": [dispatch]}
    loaded = ti.aot.load(write_container({**members, "module.json": json.dumps(data).encode()}))
    for x in (ti.ndarray(ti.f32, 2), np.zeros(2, np.float32)):
        loaded.graphs["g"].run({"x": x})
        assert (x if isinstance(x, np.ndarray) else x.to_numpy()).tolist() == [7.0, 7.0]


def test_graphs_end_with_their_session():
    ti.init(arch=ti.cpu)
    builder = ti.graph.GraphBuilder()
    builder.dispatch(scale, ti.graph.Arg(ti.graph.ArgKind.NDARRAY, "x", ti.f32, ndim=1), 2)
    loaded = ti.aot.load(write_container(archived(builder.compile())))
    with pytest.raises(ti.TaichiRuntimeError, match="`x` is missing for graph `g`; `xs` was given"):
        loaded.graphs["g"].run({"xs": 1})
    ti.init(arch=ti.cpu)
    with pytest.raises(ti.TaichiRuntimeError, match=r"before the last `ti.init\(\)`"):
        loaded.graphs["g"].run({"x": ti.ndarray(ti.f32, 3)})
