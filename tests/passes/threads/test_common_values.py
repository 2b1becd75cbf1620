"""Pass `common_values`: what iterations have in common is computed once, by a task before the loop."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import written_programs

import shadesmith as ti

pytestmark = pytest.mark.targets("vulkan", "cuda")  # elsewhere the pass returns at once

NOTE = "(common_values)"
FOLDER = "shadesmith.transpiler.passes"


@pytest.fixture(autouse=True)
def _for_few(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let few iterations be enough; leave out the interpreter."""
    if "target" in request.fixturenames and request.getfixturevalue("target") == "python":
        pytest.skip("the interpreter has one task")
    for module, names in (
        ("threads.parts.repeated_values", ["LEAST_SAVED"]),
        ("tiles.parts.register_plan", ["FEWEST"]),
    ):
        for name in names:
            monkeypatch.setattr(sys.modules[f"{FOLDER}.{module}"], name, 1)


def field_of(values: np.ndarray) -> Any:
    field = ti.field(ti.i32 if values.dtype == np.int32 else ti.f32, values.shape)
    field.from_numpy(values)
    return field


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).random(shape, np.float32)


@ti.func
def powers(t):
    p = ti.Vector([0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    for k in ti.static(range(6)):
        p[k] = 1.0 / (1 + k * t) / (2 + t * t) / ti.sqrt(3 + t)
    for k in ti.static(range(5)):
        p[k] = ti.exp(p[k]) / (1 + p[k + 1] * p[k + 1])
    return p


def powers_of(t: np.ndarray) -> np.ndarray:
    p = [1 / (1 + k * t) / (2 + t * t) / np.sqrt(3 + t) for k in range(6)]
    return np.stack([np.exp(p[k]) / (1 + p[k + 1] ** 2) for k in range(5)] + [p[5]])


def test_a_function_of_rows_in_a_product_of_matrices(target: str) -> None:
    """Layers of splines: what is left has tiles. Of six numbers of the vector, the loop needs four."""
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    x, c = numbers(48, 33), numbers(40, 132)
    a, b, y = field_of(x), field_of(c), ti.field(ti.f32, (48, 40))

    @ti.kernel
    def layer():
        for n, o in y:
            s = 0.0
            for i in range(33):
                p = powers(a[n, i])
                for k in ti.static(range(4)):
                    s += b[o, i * 4 + k] * p[k]
            y[n, o] = s

    source = layer.source(arch=ti.cuda)
    assert f"range_for over n, i; p for all o {NOTE}" in source and "(register_tiles)" in source
    assert "p_of_n_i.m[n][i * 4 + k] = p.e[k];" in source
    layer()
    expected = np.einsum("kni,oik->no", powers_of(x)[:4], c.reshape(40, 33, 4))
    assert np.allclose(y.to_numpy(), expected, rtol=1e-4)


def test_numbers_and_vectors_as_a_whole_of_the_last_axis(target: str) -> None:
    """What is stored has the order of what was loaded, i before o. Axes are counted from their starts on."""
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    x, w = numbers(20, 24), numbers(17, 20)
    a, b, y = field_of(x), field_of(w), ti.field(ti.f32, (17, 24))
    s = ti.field(ti.f32, (17, 24))

    @ti.kernel
    def rows():
        for n, o in ti.ndrange(17, (2, 24)):
            total, whole = 0.0, ti.Vector([0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
            for i in range(3, 20):
                total += powers(a[i, o] + 1)[1] * 2 * b[n, i]
                whole += powers(a[i, o]) * b[n, i]
            y[n, o] = total
            s[n, o] = whole.sum()

    source = rows.source(arch=ti.cuda)
    assert f"range_for over i, o; powers for all n {NOTE}" in source
    rows()
    assert np.allclose(y.to_numpy()[:, 2:], w[:, 3:] @ (2 * powers_of(x[3:, 2:] + 1)[1]), rtol=1e-4)
    assert np.allclose(s.to_numpy()[:, 2:], w[:, 3:] @ powers_of(x[3:, 2:]).sum(0), rtol=1e-4)
    assert not y.to_numpy()[:, :2].any()


PROGRAM = """
import shadesmith as ti

x, y = ti.field(ti.f32, (64, 32)), ti.field(ti.f32, (64, 32))

@ti.func
def heavy(t):
    return 1 / (1 + t) / ti.sqrt(3 + t) / ti.exp(t) + ti.pow(t, 1.7) + ti.tan(t)

@ti.kernel
def run():
    for n, o in y:
        s = 0.0
        for i in range(32):
            LINE
        y[n, o] = s
"""


@pytest.mark.parametrize(
    ("line", "is_moved"),
    [
        ("s += heavy(x[n, i]) * o", True),
        ("if o > 3: s += heavy(x[n, i])", False),  # other iterations do not compute it
        ("if s > 9: break\n            s += heavy(x[n, i])", False),
        ("s += heavy(x[n, i] + o)", False),
        ("s += heavy(y[n, i])", False),  # other iterations store to it
        ("s += ti.exp(x[n, i])", False),  # is as cheap as a load
    ],
)
def test_which_values_move(line: str, is_moved: bool, tmp_path: Path) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    module = written_programs.write(tmp_path / "program.py", PROGRAM.replace("LINE", line))
    assert (NOTE in module.run.source(arch=ti.cuda)) == is_moved


def test_a_vector_that_a_choice_results_in(target: str) -> None:
    """It has no other user; the loop loads it as a whole."""
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    x, c = numbers(12, 9), numbers(40, 9)
    a, b, y = field_of(x), field_of(c), ti.field(ti.f32, (12, 40))

    @ti.kernel
    def choose():
        for n, o in y:
            s = 0.0
            for i in range(9):
                p = powers(a[n, i])
                q = p if b[o, i] > 0.5 else ti.Vector([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
                s += q[0] * q[5] + q[2]
            y[n, o] = s

    choose()
    p = powers_of(x)
    taken = (p[0] * p[5] + p[2])[:, None, :]
    expected = np.where(c > 0.5, taken, 9.0).sum(2)  # 1 * 6 + 3
    assert np.allclose(y.to_numpy(), expected, rtol=1e-5)
    assert NOTE in choose.source(arch=ti.cuda)
