"""Pass `exact_ends`: sources for Vulkan end loops over negative constants by `!=`; the numbers are right everywhere."""

from __future__ import annotations

import numpy as np

import shadesmith as ti

f = ti.types.ndarray


@ti.kernel
def visited(x: f(ti.i32, 2)):
    for i in range(x.shape[0]):
        for k in range(-3, 2, 2):
            x[i, 0] = x[i, 0] * 10 + k + 4
        for k in range(-2, 1):
            x[i, 1] = x[i, 1] * 10 + k + 4
        for k in range(2, -3, -2):
            x[i, 2] = x[i, 2] * 10 + k + 4
        for j, k in ti.ndrange((-1, 1), (0, 2)):
            x[i, 3] = x[i, 3] * 10 + j * 2 + k + 4
        for k in range(-5, -5):
            x[i, 4] += 1
        for k in range(3):
            x[i, 4] += k


def test_results(target: str) -> None:
    x = np.zeros((3, 5), np.int32)
    visited(x)
    ti.sync()
    assert x.tolist() == [[135, 234, 642, 2345, 3]] * 3


def test_sources() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    source = visited.source(np.zeros((1, 5), np.int32), arch=ti.vulkan)
    for head in ("k = -3; k != 3; k += 2", "k = -2; k != 1; k++", "k = 2; k != -4; k -= 2", "k = 0; k < 3; k++"):
        assert f"for (int {head})" in source, head
    assert "!=" not in visited.source(np.zeros((1, 5), np.int32), arch=ti.cpu)
    lines = [line.strip() for line in source.splitlines()]
    remarks = [number for number, line in enumerate(lines) if line.endswith("(exact_ends)")]
    assert len(remarks) == 4 and all(
        "!=" in next(line for line in lines[number + 1 :] if not line.startswith("//")) for number in remarks
    )
    ti.reset()
