"""Pass `eager_tests`: tests that clear a flag are computed without a branch for each of them (CUDA)."""

from __future__ import annotations

import numpy as np
import pytest
import written_programs

import shadesmith as ti


@pytest.fixture
def host() -> None:
    """A session that compiles for all targets."""
    ti.init(arch=ti.python, log_level=ti.ERROR)


N = 300
SOURCE = """
@ti.func
def apart(a, b, r):
    a *= 0.5
    b *= 0.5
    r *= 0.75
    return ti.max(a, b) < -r or ti.min(a, b) > r

@ti.kernel
def run(x: ti.template(), y: ti.template(), t: ti.template()):
    for i in y:
        p = ti.Vector([x[i, 0], x[i, 1], x[i, 2]])
        hit = p[0] > -0.5
        BODY
        y[i] = hit
"""
BODIES = {
    "a test": "if hit:\n            if apart(p[1], p[2], 0.25):\n                hit = False",
    "tests": "for k in ti.static(range(3)):\n            if hit:\n                d = p[k] - 0.5 * p[0]\n"
    "                if ti.abs(d) > 0.4:\n                    hit = False",
    "a test that sets": "if not hit:\n            hit = True\n        if hit:\n            if p[1] > 0.0:\n                hit = True",
}
KEPT = {
    "an element that may not exist": "for k in range(5):\n            if hit:\n                if k < 3 and p[k % 3] + p[ti.min(k, 2)] > 1.5:\n"
    "                    hit = False",
    "a load": "if hit:\n            if t[i] > 0:\n                hit = False",
    "more": "if hit:\n            if p[1] > 0.25:\n                hit = False\n                y[i] = 7",
    "another flag": "other = True\n        if hit:\n            if p[1] > 0.25:\n                other = False\n        hit = other",
    "an else": "if hit:\n            if p[1] > 0.25:\n                hit = False\n            else:\n                y[i] = 1",
    "an index that the flag keeps inside": "for k in range(12):\n            hit = k < 9\n"
    "            q = ti.Vector([p[c % 3] for c in ti.static(range(9))])\n"
    "            if hit:\n                if q[k] > 0.25:\n                    hit = False",
    "a root": "if hit:\n            if ti.sqrt(p[1] + 4.0) > 2.1:\n                hit = False",
}


def kernel_of(body: str, tmp_path):
    return written_programs.write(tmp_path / "tests.py", SOURCE.replace("BODY", body)).run


def arrays():
    x, y, t = ti.field(ti.f32, (N, 3)), ti.field(ti.i32, N), ti.field(ti.i32, N)
    values = np.random.default_rng(0).uniform(-1, 1, (N, 3)).astype(np.float32)
    values[::17, 1] = np.nan
    x.from_numpy(values)
    t.from_numpy(np.arange(N, dtype=np.int32) % 3)
    return x, y, t


@pytest.mark.targets("vulkan", "cuda")
@pytest.mark.parametrize("what", [*BODIES, *KEPT])
def test_results(target: str, what: str, tmp_path) -> None:
    run = kernel_of({**BODIES, **KEPT}[what], tmp_path)
    x, y, t = arrays()
    run(x, y, t)
    found = y.to_numpy()
    ti.init(arch=ti.python)
    x, y, t = arrays()
    run(x, y, t)
    assert np.array_equal(found, y.to_numpy())


@pytest.mark.usefixtures("host")
@pytest.mark.parametrize("what", [*BODIES, *KEPT])
def test_sources(what: str, tmp_path) -> None:
    source = kernel_of({**BODIES, **KEPT}[what], tmp_path).source(*arrays(), arch=ti.cuda)
    assert ("hit & " in source) is (what in BODIES)


@pytest.mark.usefixtures("host")
def test_both_sides_of_a_value(tmp_path) -> None:
    source = kernel_of(BODIES["a test"], tmp_path).source(*arrays(), arch=ti.cuda)
    assert "return (fmaxf(a, b) < -r) | (fminf(a, b) > r);" in source


@pytest.mark.usefixtures("host")
def test_conditions_of_branches_stay(tmp_path) -> None:
    body = "if p[1] > 0.25 and p[2] * 3.0 < p[0]:\n            y[i] = 2"
    assert " && " in kernel_of(body, tmp_path).source(*arrays(), arch=ti.cuda)
