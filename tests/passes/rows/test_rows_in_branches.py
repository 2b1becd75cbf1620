"""Pass `shared_rows`: rows in a branch on which all threads of a row agree."""

from __future__ import annotations

import numpy as np
import pytest
import written_programs

import shadesmith as ti

SOURCE = """
@ti.kernel
def run(x: ti.template(), labels: ti.template(), y: ti.template(), total: ti.template()):
    for t in y:
        z = 0.0
        if labels[t] >= 0:
            BODY
"""
SUM = "for c in range(x.shape[1]):\n                z += x[t, c]\n            y[t] = z"
BODIES = {
    "a sum": SUM,
    "the greatest, and a sum": "m = -100.0\n            for c in range(x.shape[1]):\n                m = ti.max(m, x[t, c])\n"
    "            for c in range(x.shape[1]):\n                z += x[t, c] - m\n            y[t] = z + x[t, labels[t]]",
    "a total": "for c in range(x.shape[1]):\n                z += x[t, c]\n            total[None] += z\n            y[t] = z - 1.0",
    "parts": "for c in range(x.shape[1] - 2):\n                z += x[t, c]\n            y[t] = z",
}
KEPT = {
    "another branch": SUM + "\n        else:\n            for c in range(x.shape[1]):\n                y[t] -= x[t, c]",
    "a store before": "y[t] = 1.0\n            " + SUM,
    "a row that may not exist": "first = x[labels[t], 0]\n            "
    + SUM.replace("z += x[t, c]", "z += first * x[t, c]"),
    "an end": "for c in range(x.shape[1]):\n                if x[t, c] > 5.0:\n                    break\n                z += x[t, c]\n"
    "            y[t] = z",
}


def kernel_of(body: str, tmp_path):
    return written_programs.write(tmp_path / "branches.py", SOURCE.replace("BODY", body)).run


def arrays(rows: int, length: int):
    """Return a matrix of small integers, labels of which some are negative, and places for results."""
    x, labels = ti.field(ti.f32, (rows, length)), ti.field(ti.i32, rows)
    x.from_numpy(np.random.default_rng(length).integers(-9, 9, (rows, length)).astype(np.float32))
    labels.from_numpy(np.where(np.arange(rows) % 3 == 1, -1, np.arange(rows) % min(rows, length)).astype(np.int32))
    return x, labels, ti.field(ti.f32, rows), ti.field(ti.f32, ())


@pytest.mark.targets("vulkan", "cuda")  # elsewhere the pass returns at once
@pytest.mark.parametrize("length", [100, 258, 700])
@pytest.mark.parametrize("what", [*BODIES, *KEPT])
def test_results(target: str, what: str, length: int, tmp_path) -> None:
    run = kernel_of({**BODIES, **KEPT}[what], tmp_path)
    results = []
    for arch in (None, ti.python):
        if arch is not None:
            ti.init(arch=arch, log_level=ti.ERROR)
        x, labels, y, total = arrays(37, length)
        run(x, labels, y, total)
        results.append([*y.to_numpy(), total[None]])
    assert results[0] == results[1]


@pytest.mark.parametrize("what", [*BODIES, *KEPT])
def test_sources(what: str, tmp_path) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    source = kernel_of({**BODIES, **KEPT}[what], tmp_path).source(*arrays(64, 300), arch=ti.cuda)
    assert ("(shared_rows)" in source) is (what in BODIES)


def test_a_task_without_a_parallel_loop_stays() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)

    @ti.kernel
    def summed(n: ti.i32) -> ti.i32:
        s = 0
        if n > 0:
            for i in range(200):
                for j in range(300):
                    s += j
        return s

    assert "(shared_rows)" not in summed.source(1, arch=ti.cuda)
