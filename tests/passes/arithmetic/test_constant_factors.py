"""Pass `constant_factors`: GPUs multiply by one constant where a program has two, in loops with `fast_math`."""

from __future__ import annotations

import numpy as np
import pytest
import written_programs

import shadesmith as ti

pytestmark = pytest.mark.targets("vulkan", "cuda")  # elsewhere the pass returns at once

dt, inverse_dx = 0.01, 64.0
SHORTER = {
    "two products": ("x[k] * 0.2 * 0.25", "* 0.05f"),
    "three": ("2.0 * x[k] * 3.0 * 4.0", "* 24.0f"),
    "names": ("x[k] * dt * inverse_dx", "* (dt * inverse_dx)"),
    "quotient first": ("x[k] / 4.0 * 2.0", "* 0.5f"),
    "quotient last": ("x[k] * 3.0 / 4.0", "* 0.75f"),
    "two quotients": ("x[k] / 2.0 / 8.0", "/ 16.0f"),
    "a square": ("x[k] * x[k] * 0.5 * 3.0", "* 1.5f"),
}
OTHERS = {
    "constant over": "3.0 / x[k] * 2.0",
    "not constant": "x[k] * x[0] * 2.0",
    "infinite": "x[k] * 1e30 * 1e30",
    "subnormal": "x[k] * 1e-20 * 1e-20",
    "zero": "x[k] * 0.0 * 2.0",
    "a sum": "(x[k] * 2.0 + 1.0) * 3.0",
}


def make(tmp_path, expression: str, options: str = ""):
    program = written_programs.write(
        tmp_path / "program.py",
        "dt, inverse_dx = 0.01, 64.0\n"
        f"@ti.kernel({options})\n"
        "def add(x: ti.types.ndarray(ti.f32, 1), r: ti.types.ndarray(ti.f32, 1), n: ti.i32):\n"
        "    for i in r:\n"
        "        s = 0.0\n"
        "        for k in range(n):\n"
        f"            s += {expression}\n"
        "        r[i] = s\n",
    )
    return program.add


@pytest.mark.parametrize("expression, text", SHORTER.values(), ids=SHORTER)
def test_one_constant(expression, text, target, tmp_path):
    values = np.array([-3.5, 0, 1e-6, 7, 1e5], np.float32)
    x, r = ti.ndarray(ti.f32, len(values)), ti.ndarray(ti.f32, 1)
    x.from_numpy(values)
    kernel = make(tmp_path, expression)
    kernel(x, r, len(values))
    names = {"x": values.astype(np.float64), "dt": dt, "inverse_dx": inverse_dx}
    expected = sum(eval(expression, {**names, "k": k}) for k in range(len(values)))  # noqa: S307
    np.testing.assert_allclose(r.to_numpy(), [expected], rtol=1e-5)
    assert text in kernel.source(x, r, 5, arch=ti.cuda)
    ti.init(arch=ti.python, log_level=ti.ERROR, passes="-constant_factors")
    assert text not in make(tmp_path, expression).source(x, r, 5, arch=ti.cuda)


@pytest.mark.parametrize("expression", OTHERS.values(), ids=OTHERS)
def test_others(expression, tmp_path):
    x = np.zeros(1, np.float32)
    sources = []
    for passes in ("", "-constant_factors"):
        ti.init(arch=ti.python, log_level=ti.ERROR, passes=passes)
        sources.append(make(tmp_path, expression).source(x, x, 5, arch=ti.cuda).split("\n", 1)[1])
    assert sources[0] == sources[1]


def test_fast_math_alone(tmp_path):
    ti.init(arch=ti.python, log_level=ti.ERROR)
    x = np.zeros(1, np.float32)
    assert "0.05f" not in make(tmp_path, SHORTER["two products"][0], "fast_math=False").source(x, x, 5, arch=ti.cuda)
    assert "0.05f" not in make(tmp_path, SHORTER["two products"][0]).source(x, x, 5, arch=ti.cpu)
