"""Pass `extremes`: minima and maxima of floats by one instruction, where gcc makes no vectors of the loop around."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import written_programs

import shadesmith as ti

LOOPS = {
    "marches": "while t < y[i]:\n    t += ti.max(x[i], y[i] * t) * .5 + .1\n    n += 1\n    if n > 9: break",
    "stack": "top = 3\nwhile top > 0:\n    top -= 1\n    t = ti.min(x[i] * top, y[i] - t)\n    if t > 1 and n < 9:\n"
    "        top += 2\n        n += 1",
    "breaks": "for k in range(9):\n    t = ti.max(ti.min(x[i], y[i] + k), x[i] * t)\n    if t > 2: break",
    "calls": "for k in range(9):\n    t += ti.max(x[i * k % 40], y[i] + ti.sin(t))",
    "atomic": "for k in range(9):\n    ti.atomic_max(z[k], ti.max(x[i] * k, y[i] - k))",
    "function": "for k in range(9):\n    t = least(x[i] * k, y[i] - t)\n    if t > 2: break",
    "sorts": "v = ti.Vector([9.0, 9.0, 9.0])\nfor k in range(9):\n    a = x[(i + k) % 40] * y[i]\n"
    "    for q in ti.static(range(3)):\n        b = ti.min(v[q], a)\n        a = ti.max(v[q], a)\n        v[q] = b\n"
    "t = v[0] + v[1] * 10 + v[2]",
}
"""Name -> a loop of which gcc 12 makes no vectors."""
OTHERS = {
    "counts": "k = 0\nwhile k < 9:\n    t += ti.max(x[i], y[i] * k)\n    k += 1",
    "sums": "for k in range(9):\n    t += ti.max(x[i], y[i] * k)",
    "straight": "for k in ti.static(range(3)):\n    t = ti.max(ti.min(x[i], y[i] + k), x[i] * t)",
    "both": "t = least(x[i], y[i])\nfor k in range(9):\n    t += least(x[i] * k, y[i] - t)",
}
"""Name -> a loop with vectors, or a function that one calls."""


def kernel_of(tmp_path: Path, loop: str) -> ti.Kernel:
    program = written_programs.write(
        tmp_path / "program.py",
        "A = ti.types.ndarray(ti.f32, 1)\n"
        "@ti.func(inline=False)\n"
        "def least(a, b):\n"
        "    return ti.min(a, b) + 1\n"
        "@ti.kernel\n"
        "def run(x: A, y: A, z: A):\n"
        "    for i in x:\n"
        "        t = 0.0\n"
        "        n = 0\n" + "".join(f"        {line}\n" for line in loop.splitlines()) + "        z[i] = t + n\n",
    )
    return program.run


def operands() -> tuple[np.ndarray, np.ndarray]:
    x, y = np.random.default_rng(0).normal(size=(2, 40)).astype(np.float32) * 2
    x[::3], y[::4], x[1], y[2] = np.nan, np.nan, np.inf, -np.inf
    return x, y


@pytest.mark.parametrize("name", [*LOOPS, *OTHERS])
def test_results_are_numbers_where_one_is(name, tmp_path) -> None:
    results = []
    for arch in (ti.cpu, ti.python):
        ti.init(arch=arch, log_level=ti.ERROR)
        x, y = operands()
        z = np.zeros(40, np.float32)
        kernel_of(tmp_path, {**LOOPS, **OTHERS}[name])(x, y, z)
        results.append(z)
    np.testing.assert_allclose(*results, rtol=1e-5)
    assert np.isfinite(results[0]).sum() > 9


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_without_vectors_has_one_instruction(name, tmp_path) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    kernel, arguments = kernel_of(tmp_path, LOOPS[name]), [np.zeros(40, np.float32)] * 3
    source = kernel.source(*arguments, arch=ti.cpu)
    assert "scalar_m" in source and "= min_f32(" not in source and "max_f32(x(i)," not in source
    assert "scalar_m" not in kernel.source(*arguments, arch=ti.cuda)


@pytest.mark.parametrize("name", OTHERS)
def test_others_keep_what_compilers_vectorize(name, tmp_path) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    assert "scalar_m" not in kernel_of(tmp_path, OTHERS[name]).source(*[np.zeros(40, np.float32)] * 3, arch=ti.cpu)


def test_zeros_keep_their_sign_without_fast_math(tmp_path) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR, fast_math=False)
    assert "scalar_m" not in kernel_of(tmp_path, LOOPS["breaks"]).source(*[np.zeros(40, np.float32)] * 3, arch=ti.cpu)
