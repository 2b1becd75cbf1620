"""Pass `loads_ahead`: in tasks with few threads, serial loops are unrolled so that many loads are under way (CUDA)."""

from __future__ import annotations

import numpy as np
import pytest
import written_programs

import shadesmith as ti


@pytest.fixture
def host() -> None:
    """A session that compiles for all targets."""
    ti.init(arch=ti.python, log_level=ti.ERROR)


HINT = "#pragma unroll 16\n"
WHY = "// few threads: each has the loads of 16 iterations under way (loads_ahead)\n"


def filters(n: int, length: int = 50, channels: int = 512):
    """Return a kernel with a filter with feedback in each channel, its input and its output."""
    x, y = ti.field(ti.f32, (length, channels)), ti.field(ti.f32, (length, channels))
    x.from_numpy(np.random.default_rng(n).random((length, channels), dtype=np.float32))

    @ti.kernel
    def run():
        for c in range(n):
            s = 0.0
            for t in range(length):
                s = 0.5 * s + x[t, c]
                y[t, c] = s

    return run, x, y


@pytest.mark.targets("vulkan", "cuda")  # elsewhere the pass returns at once
@pytest.mark.parametrize("length", [32, 50])
def test_the_loop_is_unrolled(target: str, length: int) -> None:
    run, x, y = filters(512, length)
    run()
    source = run.source(arch=ti.cuda)
    assert WHY in source and HINT in source
    expected, s = [], np.zeros(512, np.float32)
    for row in x.to_numpy():
        s = np.float32(0.5) * s + row
        expected.append(s)
    np.testing.assert_allclose(y.to_numpy(), expected, rtol=1e-6)


@pytest.mark.usefixtures("host")
@pytest.mark.parametrize(("n", "length"), [(200, 50), (512, 31)])
def test_not_of_few_iterations(n: int, length: int) -> None:
    assert HINT not in filters(n, length)[0].source(arch=ti.cuda)


@pytest.mark.usefixtures("host")
def test_not_if_there_are_many_threads() -> None:
    assert HINT not in filters(40000, 50, 40000)[0].source(arch=ti.cuda)


LOOPS = {
    "a place that is loaded": "s += x[at[k], i]",
    "a place that is stored": "s += x[k, i]\n            x[k + 1, i] = s",
    "an exit": "if x[k, i] > 2.0:\n                break\n            s += 1.0",
    "an atomic operation": "s += x[k, i]\n            ti.atomic_add(y[at[k]], 1.0)",
    "a loop inside": "for m in range(k):\n                s += x[m, i]",
    "no load": "s = s * 0.5 + k",
}
SOURCE = """
@ti.kernel
def run(x: ti.template(), y: ti.template(), at: ti.template()):
    for i in range(512):
        s = 0.0
        for k in range(48):
            BODY
        y[i] += s
"""


@pytest.mark.usefixtures("host")
@pytest.mark.parametrize("what", LOOPS)
def test_not_of_loops_with(what: str, tmp_path) -> None:
    run = written_programs.write(tmp_path / "loops.py", SOURCE.replace("BODY", LOOPS[what])).run
    x, y, at = ti.field(ti.f32, (64, 512)), ti.field(ti.f32, 512), ti.field(ti.i32, 64)
    assert HINT not in run.source(x, y, at, arch=ti.cuda)


@pytest.mark.usefixtures("host")
def test_a_hint_of_the_program_stays() -> None:
    x, y = ti.field(ti.f32, (48, 512)), ti.field(ti.f32, 512)

    @ti.kernel
    def run():
        for i in y:
            s = 0.0
            ti.loop_config(unroll=4)
            for k in range(48):
                s += x[k, i]
            y[i] = s

    source = run.source(arch=ti.cuda)
    assert "#pragma unroll 4\n" in source and HINT not in source
