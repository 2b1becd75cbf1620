"""Pass `early_selections`: a branch that assigns a selection becomes one, with the same results."""

from __future__ import annotations

import textwrap

import numpy as np
import pytest
import written_programs

import shadesmith as ti

NOTE = "before its branch (early_selections)"
VALUES = np.array([0.0, -0.0, 1.0, -2.5, 3.0, np.nan, np.inf, -np.inf, 1e-40, 3e38], np.float32)
PAIRS = np.stack(np.meshgrid(VALUES, VALUES), -1).reshape(-1, 2)

EARLY = {
    "minmod": "r = 0.0\nif a * b > 0:\n    r = a if abs(a) < abs(b) else b",
    "another first value": "r = -7.5\nif a < b:\n    r = a if a > 1.0 else -b",
    "a value before": "r = 1.0\nif a != b:\n    c = a + b\n    r = c if c < a else b",
}
LATE = {
    "nested": "r = 0.0\nif a > 0.0:\n    if b > 0.0:\n        r = a if a < b else b",
    "no selection": "r = 0.0\nif a > b:\n    r = a",
    "another branch": "r = 0.0\nif a > b:\n    r = a if b > 0.0 else 1.0\nelse:\n    r = 2.0",
    "a second assignment": "r = 0.0\nif a > b:\n    r = a if b > 0.0 else 1.0\nr += 1.0",
    "added to": "r = 2.0\nif a > b:\n    r = r + (a if b > 0.0 else 1.0)",
    "a quotient": "r = 0.0\nif a > b:\n    r = a / b if b > 0.0 else 1.0",
    "a load": "r = 0.0\nif a > b:\n    r = x[i, 0] if b > 0.0 else 1.0",
    "an integer": "r = 0\nif a > b:\n    r = i + 1 if b > 0.0 else 2",
    "a variable": "r = a\nif a > b:\n    r = b if b > 0.0 else 1.0",
}
KERNEL = """
import shadesmith as ti

@ti.func
def selected(x: ti.template(), i, a, b):
{body}
    return r

@ti.kernel
def k(x: ti.types.ndarray(ti.f32, 2), y: ti.types.ndarray(ti.f32, 1)):
    for i in y:
        y[i] = 0.5 * selected(x, i, x[i, 0], x[i, 1])
"""


def run(body: str, folder, dtype: str = "f32") -> tuple[str, np.ndarray]:
    """Return the source of the kernel, and its results of all pairs."""
    path = folder / "program.py"
    path.write_text(KERNEL.format(body=textwrap.indent(body, "    ")).replace("f32", dtype))
    program = written_programs.load(path)
    x = PAIRS.astype({"f32": np.float32, "f64": np.float64}[dtype])
    y = np.full(len(x), 9, x.dtype)
    program.k(x, y)
    return program.k.source(x, y), y


@pytest.mark.sampled(2, each="body")
@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("body", EARLY.values(), ids=EARLY)
@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_a_branch_becomes_a_selection(target, body: str, dtype: str, tmp_path) -> None:
    found = []
    for passes in ("", "-early_selections"):
        ti.init(arch=getattr(ti, target), default_fp=getattr(ti, dtype), passes=passes, log_level=ti.ERROR)
        source, results = run(body, tmp_path, dtype)
        assert target == "python" or (NOTE in source) == (not passes)
        found.append(results)
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("body", LATE.values(), ids=LATE)
def test_other_branches_stay(body: str, tmp_path) -> None:
    ti.init(arch=ti.cpu, log_level=ti.ERROR)
    source, _ = run(body, tmp_path)
    assert NOTE not in source
