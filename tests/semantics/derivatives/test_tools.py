"""Gradients are kernels for all tools: archives, recordings, graphs, edited sources, reports, the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.commands.command_line import main
from shadesmith.runtime.session import session as sessions

MATRIX = ti.types.ndarray(ti.f64, ndim=2)

pytestmark = pytest.mark.one_target  # the rest in `make test-all`

N = 8
PROGRAM = """
@ti.kernel
def measure():
    for i in x: loss[None] += (x[i] - 0.5) ** 2

@ti.kernel
def descend(rate: ti.f32):
    for i in x: x[i] -= rate * x.grad[i]

@ti.kernel
def square(a: ti.f32, u: ti.types.ndarray(dtype=ti.f32, ndim=1), v: ti.types.ndarray(dtype=ti.f32, ndim=1)):
    for i in u: v[i] = a * u[i] * u[i]

@ti.kernel
def in_place():
    for i in x: x[i] = x[i] * x[i]
"""
START = np.arange(N, dtype=np.float32)


@pytest.fixture
def program(target: str, define_program: Any) -> dict[str, Any]:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    x, loss = ti.field(ti.f32, N, needs_grad=True), ti.field(ti.f32, (), needs_grad=True)
    x.from_numpy(START)
    return define_program(PROGRAM, x=x, loss=loss)


def expected(steps: int) -> Any:
    """Return `x` after steps of the descent."""
    x = START.copy()
    for _ in range(steps):
        x = x - np.float32(0.1) * 2 * (x - np.float32(0.5))
    return pytest.approx(x, rel=1e-5)


def pair() -> tuple[Any, Any]:
    arrays = ti.ndarray(ti.f32, 3, needs_grad=True), ti.ndarray(ti.f32, 3, needs_grad=True)
    arrays[0].fill(2)
    arrays[1].grad.fill(1)
    return arrays


@pytest.fixture
def compiled(target: str) -> str:
    if target == "python":
        pytest.skip("the interpreter runs no source")
    return target


def test_gradients_are_archived(program: dict[str, Any], compiled: str, tmp_path: Path) -> None:
    module = ti.aot.Module(getattr(ti, compiled))
    for name in ("x", "loss"):
        module.add_field(name, program[name])
        module.add_field(f"{name}.grad", program[name].grad)
    for name in ("measure", "square"):
        module.add_kernel(program[name])
        module.add_kernel(program[name].grad)
    with pytest.raises(ti.TaichiRuntimeError, match=r"line 16, (.*\n)*.*the kernel overwrites it"):
        module.add_kernel(program["in_place"].grad)
    module.archive(tmp_path / "module.tcm")
    loaded = ti.aot.load(tmp_path / "module.tcm")
    loaded.fields["x"].from_numpy(START)
    loaded.fields["loss.grad"].fill(1)
    loaded.kernels["measure"]()
    loaded.kernels["measure_grad"]()
    assert loaded.fields["x.grad"].to_numpy().tolist() == (2 * START - 1).tolist()
    u, v = pair()
    loaded.kernels["square"](3.0, u, v)
    loaded.kernels["square_grad"](3.0, u, v)
    assert v.to_numpy().tolist() == u.grad.to_numpy().tolist() == [12.0] * 3
    with pytest.raises(ti.TaichiRuntimeTypeError, match="gradient"):
        loaded.kernels["square_grad"](3.0, ti.ndarray(ti.f32, 3), v)


@pytest.mark.one_target
def test_a_tape_is_recorded_and_replayed(program: dict[str, Any], compiled: str, tmp_path: Path, capsys: Any) -> None:
    ti.aot.start_recording(tmp_path / "record.yml")
    for _ in range(2):
        with ti.ad.Tape(program["loss"]):
            program["measure"]()
        program["descend"](0.1)
    ti.aot.stop_recording()
    assert program["x"].to_numpy() == expected(2)
    text = (tmp_path / "record.yml").read_text()
    assert text.count("kernel: measure_grad-") == 2
    capsys.readouterr()
    assert main(["replay", str(tmp_path / "record.yml")]) == 0
    assert "x_grad: equal" in capsys.readouterr().out


def test_a_graph_has_gradients(program: dict[str, Any], target: str, tmp_path: Path) -> None:
    builder = ti.graph.GraphBuilder()
    rate = ti.graph.Arg(ti.graph.ArgKind.SCALAR, "rate", ti.f32)
    for name in ("measure", "measure.grad", "descend"):
        kernel = program[name.partition(".")[0]]
        builder.dispatch(kernel.grad if "." in name else kernel, *([rate] if name == "descend" else []))
    graph = builder.compile()
    program["loss"].grad.fill(1)
    for _ in range(3):
        program["x"].grad.fill(0)
        graph.run({"rate": 0.1})
    assert program["x"].to_numpy() == expected(3)
    if target == "python":
        return
    module = ti.aot.Module(getattr(ti, target))
    for name in ("x", "loss"):
        module.add_field(name, program[name])
        module.add_field(f"{name}.grad", program[name].grad)
    module.add_graph("step", graph)
    module.archive(tmp_path / "graph.tcm")
    loaded = ti.aot.load(tmp_path / "graph.tcm")
    loaded.fields["x"].from_numpy(START)
    loaded.fields["loss.grad"].fill(1)
    loaded.graphs["step"].run({"rate": 0.1})
    assert loaded.fields["x"].to_numpy() == expected(1)


@pytest.mark.one_target
def test_a_graph_has_gradients_of_its_arguments(program: dict[str, Any]) -> None:
    builder = ti.graph.GraphBuilder()
    u, v = (ti.graph.Arg(ti.graph.ArgKind.NDARRAY, name, ti.f32, ndim=1) for name in "uv")
    builder.dispatch(program["square"].grad, 3.0, u, v)
    graph = builder.compile()
    first, second = pair()
    graph.run({"u": first, "v": second})
    assert first.grad.to_numpy().tolist() == [12.0] * 3
    graph.run({"u": first, "v": ti.ndarray(ti.f32, 3)})  # without a gradient, as in a plain call: nothing comes back
    assert first.grad.to_numpy().tolist() == [12.0] * 3
    builder = ti.graph.GraphBuilder()
    builder.dispatch(program["in_place"].grad)
    with pytest.raises(ti.TaichiRuntimeError, match="launch the kernel in `with ti.ad.Tape"):
        builder.compile().run({})


def test_a_tape_is_recorded_once_and_runs_as_a_graph(program: dict[str, Any]) -> None:
    x, loss = program["x"], program["loss"]
    with ti.ad.Tape(loss) as tape:
        program["measure"]()
    graph = ti.graph.compile_tape(tape)
    for steps in range(1, 4):
        program["descend"](0.1)
        graph.run()
        assert x.to_numpy() == expected(steps)
        assert x.grad.to_numpy() == pytest.approx(2 * x.to_numpy() - 1, abs=1e-5)
        assert loss[None] == pytest.approx(float(np.sum((x.to_numpy() - 0.5) ** 2)), rel=1e-5)
    x.fill(1.0)
    graph.forward.run({})
    assert loss[None] == pytest.approx(N / 4)
    graph.backward.run({})
    assert x.grad.to_numpy().tolist() == [1.0] * N
    with ti.ad.Tape(loss) as tape:
        program["in_place"]()
        program["measure"]()
    with pytest.raises(ti.TaichiRuntimeError, match="that a launch of the tape overwrites"):
        ti.graph.compile_tape(tape)
    with ti.ad.Tape(loss) as tape:
        x.fill(0.5)
        program["measure"]()
    with pytest.raises(ti.TaichiRuntimeError, match="holds something else"):
        ti.graph.compile_tape(tape)


@pytest.mark.one_target
def test_the_source_of_a_gradient_is_edited_compared_and_timed(
    program: dict[str, Any], compiled: str, tmp_path: Path
) -> None:
    sessions.CURRENT.config.edits_dir = str(tmp_path)
    gradient = program["measure"].grad
    assert "measure_grad" in str(gradient.bench())
    path = Path(gradient.edit(variant="mine"))
    program["loss"].grad.fill(1)
    path.write_text(path.read_text().replace("0.5", "0.25"))
    assert "mine" in str(gradient.compare(variant="mine"))
    gradient.use("mine")
    program["x"].grad.fill(0)
    gradient()
    assert program["x"].grad.to_numpy().tolist() == (2 * START - 0.5).tolist()


@pytest.mark.one_target
def test_the_report_and_the_command_line_show_gradients(target: str, tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    head = "import shadesmith as ti\nti.init(arch=ti.cpu)\nx = ti.field(ti.f32, 8, needs_grad=True)\n"
    file.write_text(
        head + "loss = ti.field(ti.f32, (), needs_grad=True)\n" + PROGRAM.partition("@ti.kernel\ndef sq")[0]
    )
    page = tmp_path / "page.html"
    assert main(["report", str(file), "--arch", "cpu", "-o", str(page)]) == 0
    text = page.read_text()
    assert "measure_grad" in text
    assert "descend_grad" not in text  # it would do nothing
    assert main(["inspect", f"{file}:measure.grad"]) == 0


@pytest.mark.one_target
def test_gradcheck_takes_ndarrays(target: str) -> None:
    ti.init(arch=getattr(ti, target), default_fp=ti.f64, log_level=ti.ERROR)

    @ti.kernel
    def layer(x: MATRIX, w: MATRIX, y: MATRIX):
        for i, j in y:
            s = 0.0
            for k in range(x.shape[1]):
                s += x[i, k] * w[k, j]
            y[i, j] = s * s

    x, w, y = (ti.ndarray(ti.f64, shape, needs_grad=True) for shape in ((2, 3), (3, 2), (2, 2)))
    for array in (x, w):
        array.from_numpy(np.random.default_rng(0).uniform(0.5, 1.5, array.shape))
    assert ti.ad.gradcheck(layer, x, w, y)
    assert ti.ad.gradcheck(layer, w, x, ti.ndarray(ti.f64, (3, 3), needs_grad=True))
