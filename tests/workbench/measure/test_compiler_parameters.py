"""`kernel.tune` on kernels that nobody has edited; a stored winner runs from then on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import written_programs

import shadesmith as ti
from shadesmith.runtime.workbench.compiler_parameters import COMPILER, CompilerParameters, catalogue
from shadesmith.runtime.workbench.edits.slots import slot_of
from shadesmith.runtime.workbench.edits.stored_tunings import StoredTuning, shape_class, write_entry
from shadesmith.transpiler.errors import ShadesmithWarning, TaichiRuntimeError
from shadesmith.transpiler.options import CompileOptions

pytestmark = pytest.mark.targets("cpu", "vulkan", "cuda")  # the interpreter runs no text

PROGRAM = """
    N = ti.types.ndarray(ti.f32, 1)

    @ti.kernel
    def powers(x: N, y: N, n: ti.i32):
        for i in x:
            s = x[i]
            for j in range(n):
                s = s * 0.5 + j
            y[i] = s

    @ti.kernel
    def total(x: N) -> ti.f32:
        s = 0.0
        for i in x:
            s += x[i]
        return s

    M = ti.types.ndarray(ti.f32, 2)

    @ti.kernel
    def product(a: M, b: M, c: M):
        for i, j in c:
            s = 0.0
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            c[i, j] = s

    @ti.kernel
    def one(x: N):
        x[0] = 1.0
"""
SIZE = 40_000


@pytest.fixture(autouse=True)
def compiled(target: str) -> None:
    if target == "python":
        pytest.skip("the interpreter runs no text")


@pytest.fixture
def program(tmp_path: Path):
    return written_programs.write(tmp_path / "p.py", PROGRAM)


def vectors() -> list[ti.ScalarNdarray]:
    x, y = ti.ndarray(ti.f32, SIZE), ti.ndarray(ti.f32, SIZE)
    x.from_numpy((np.arange(SIZE) % 7).astype(np.float32))
    return [x, y]


def offered(kernel, *args) -> dict[str, tuple[str, ...]]:
    _, request, compilation = kernel.emitted(args)
    return {
        parameter.name: parameter.values
        for parameter in CompilerParameters(request.specialization, compilation.module).offered()
    }


def store(kernel, args, values: dict[str, str]) -> None:
    """Store a winner, as a search does."""
    session, request, compilation = kernel.emitted(args)
    entry = StoredTuning(session.device.title, shape_class(compilation.module, args), "generated", "", trials=[{}])
    entry.best, entry.ratio = {COMPILER: values}, 0.5
    write_entry(slot_of(request.specialization, "", may_be_new=True), entry)


@pytest.mark.all_targets
def test_parameters_that_change_the_source_are_offered(program, target: str) -> None:
    x, y = vectors()
    found = offered(program.powers, x, y, 3)
    if target == "cpu":
        assert found == {"unroll": ("0", "2", "4", "8"), "schedule": ("auto", "dynamic")}, (
            "it chooses `static` by itself"
        )
    else:
        assert found["block_dim"] == ("64", "128", "256", "512") and "schedule" not in found
    assert ("unroll" in found) == (target != "vulkan"), "GLSL has no word for it"


@pytest.mark.all_targets
@pytest.mark.exhaustive
def test_reductions_have_parameters_of_their_own(program, target: str) -> None:
    found = offered(program.total, *vectors()[:1])
    assert "unroll" not in found
    if target != "cpu":
        assert found["loads"] == ("2", "4", "8", "16") and found["block_dim"] == ("64", "128", "256", "512")


@pytest.mark.all_targets
def test_a_stored_winner_runs(program, target: str) -> None:
    x, y = vectors()
    parameter, line = ("unroll", "#pragma GCC unroll 4") if target == "cpu" else ("block_dim", "#define BLOCK 256")
    value = line.split()[-1]
    store(program.powers, (x, y, 3), {parameter: value})
    program.powers(x, y, 3)
    s = x.to_numpy()
    for j in range(3):
        s = s * np.float32(0.5) + j
    assert (y.to_numpy() == s).all()
    launched = program.powers.last_launch
    assert launched.variant == "generated" and launched.knobs == {parameter: value}
    source = program.powers.compile(x, y, 3).source()
    own = catalogue(CompileOptions())[parameter].value
    assert line in source
    assert f"tuned: {parameter} {own} -> {value}, 0.5 of the time" in source.splitlines()[0]


@pytest.mark.all_targets
def test_a_winner_with_another_number_of_tasks_is_compared(program, target: str) -> None:
    """On Vulkan each task is a file: a module of one task has been checked as an edit of one with four."""
    if target == "cpu":
        pytest.skip("it has no tiles")
    a, b, c = (ti.ndarray(ti.f32, (48, 48)) for _ in range(3))
    numbers = np.random.default_rng(0).integers(0, 5, (48, 48)).astype(np.float32)
    a.from_numpy(numbers)
    b.from_numpy(numbers)
    store(program.product, (a, b, c), {"register_tiles": "off", "row_lanes": "off"})
    assert "(register_tiles)" not in program.product.compile(a, b, c).source()
    timing = program.product.bench(a, b, c, seconds=0.01)
    assert {row.name for row in timing.rows} == {"generated", "tuned"}
    program.product(a, b, c)
    assert np.array_equal(c.to_numpy(), numbers @ numbers)


@pytest.mark.one_target
@pytest.mark.parametrize("values", [{"unroll": "77"}, {"speed": "on"}], ids=["value", "name"])
def test_a_winner_that_the_compiler_does_not_have_is_left_out(program, values) -> None:
    x, y = vectors()
    store(program.powers, (x, y, 3), values)
    with pytest.warns(ShadesmithWarning, match="no longer among the values to tune"):
        program.powers(x, y, 3)
    assert program.powers.last_launch.knobs == {}


@pytest.mark.one_target
def test_edits_and_python_replace_parameters(program, target: str) -> None:
    x, y = vectors()
    path = program.powers.edit(x, y, 3)
    path.write_text(path.read_text() + "// changed\n")
    with pytest.raises(TaichiRuntimeError, match="nothing to tune"):
        program.powers.tune(x, y, 3)
    with pytest.raises(TaichiRuntimeError, match="nothing to tune"):
        ti.tune(SOMETHING=[1, 2])(program.total).tune(x)
    with pytest.raises(TaichiRuntimeError, match="nothing to tune"):
        program.one.tune(x)


@pytest.mark.exhaustive
def test_no_setting_that_wins_is_slower(program, target: str) -> None:
    x, y = vectors()
    found = program.powers.tune(x, y, 200, seconds=1.0)
    assert {trial.status for trial in found.trials} == {"timed"} and len(found.trials) > 3
    if found.best is not None:
        assert found.final is not None and found.final[found.final.fastest].verdict == "faster"
    program.powers(x, y, 200)
    assert program.powers.last_launch.knobs == ({} if found.best is None else found.values)
    assert {row.name for row in program.powers.bench(x, y, 200, seconds=0.5).rows} >= {"generated"}


@ti.kernel
def sums(x: ti.types.ndarray(ti.f32, 2), y: ti.types.ndarray(ti.f32, 1)):
    for i in y:
        s = 0.0
        for j in range(x.shape[1]):
            s += x[i, j]
        y[i] = s


@pytest.mark.parametrize("arch", ["cpu", "vulkan", "cuda"])
def test_an_edit_offers_the_parameters_in_its_text(arch: str, tmp_path: Path) -> None:
    ti.init(arch=ti.cpu, edits_dir=str(tmp_path), log_level=ti.ERROR)
    x, y = np.ones((16, 16), np.float32), np.zeros(16, np.float32)
    text = sums.edit(x, y, arch=arch, parameters=True).read_text()
    if arch == "cpu":
        assert "// compiler: unroll = 0 | 2 | 4 | 8, here 0; ti.loop_config(unroll=N)\n" in text
        sums(x, y)  # comments change nothing
        assert (y == 16).all()
    else:
        assert "// @tune BLOCK = 64 | 128 | 256 | 512\n" in text and "#define BLOCK 128" in text
    with pytest.raises(ValueError, match="parameters of the compiler"):
        sums.edit(x, y, form="ir", parameters=True)
