"""Pass `block_scans`: lists with a capacity, whose counts stop at a limit."""

from __future__ import annotations

import numpy as np
import pytest
import written_programs

import shadesmith as ti

SOURCE = """
@ti.kernel
def run(x: ti.template(), near: ti.template(), counts: ti.template(), least: ti.i32):
    for b in counts:
        n = START
        for i in range(x.shape[1]):
            BODY
        counts[b] = n
"""
AND = "if n < LIMIT and x[b, i] > 0.5:\n                near[b, n] = i\n                n += 1"
INSIDE = (
    "if x[b, i] > 0.5:\n                if n < LIMIT:\n                    near[b, n] = i\n                    n += 1"
)
SHARED = {
    "and": (AND, "0", "20"),
    "inside": (INSIDE, "0", "20"),
    "an argument": (AND, "0", "least"),
    "an argument inside": (INSIDE, "3", "least"),
    "a start beyond": (AND, "30", "20"),
    "a value at hand": (AND.replace("x[b, i] > 0.5", "i % 3 == b % 3"), "0", "20"),
}
KEPT = {
    "other uses": (AND + "\n                counts[b] = n", "0", "20"),
    "another step": (AND.replace("n += 1", "n += 2"), "0", "20"),
    "an else": (INSIDE + "\n                else:\n                    counts[b] = 7", "0", "20"),
    "a limit of the loop": (AND, "0", "i // 4"),
    "the limit alone": (AND.replace(" and x[b, i] > 0.5", ""), "0", "20"),
    "more inside": (INSIDE.replace("n < LIMIT", "n < LIMIT and i % 3 == 0"), "0", "20"),
    "a condition of two": (
        "near_it = n < LIMIT and x[b, i] > 0.5\n            if near_it:\n                near[b, n] = i\n"
        "                n += 1\n            if near_it:\n                near[b, x.shape[1] + i % 64] = i",
        "0",
        "20",
    ),
    "a load that may not exist": (AND.replace("x[b, i]", "x[b, ti.min(i + n, x.shape[1] - 1)]"), "0", "20"),
}


def kernel_of(body: str, start: str, limit: str, tmp_path):
    text = SOURCE.replace("BODY", body).replace("START", start).replace("LIMIT", limit)
    return written_programs.write(tmp_path / "capped.py", text).run


def arrays(rows: int, length: int):
    x, near, counts = ti.field(ti.f32, (rows, length)), ti.field(ti.i32, (rows, length + 64)), ti.field(ti.i32, rows)
    values = np.random.default_rng(length).random((rows, length), dtype=np.float32) * np.linspace(0.4, 1, rows)[:, None]
    x.from_numpy(values.astype(np.float32))
    near.fill(-1)
    return x, near, counts


@pytest.mark.sampled(3, each="what")
@pytest.mark.targets("vulkan", "cuda")  # elsewhere the pass returns at once
@pytest.mark.parametrize("length", [100, 600, 1500])
@pytest.mark.parametrize("what", [*SHARED, *KEPT])
def test_results(target: str, what: str, length: int, tmp_path) -> None:
    run = kernel_of(*{**SHARED, **KEPT}[what], tmp_path)
    results = []
    for arch in (None, ti.python):
        if arch is not None:
            ti.init(arch=arch, log_level=ti.ERROR)
        x, near, counts = arrays(5, length)
        run(x, near, counts, 20)
        results.append((near.to_numpy(), counts.to_numpy()))
    assert all(np.array_equal(*pair) for pair in zip(*results, strict=True))


@pytest.mark.parametrize("what", [*SHARED, *KEPT])
def test_sources(what: str, tmp_path) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    source = kernel_of(*{**SHARED, **KEPT}[what], tmp_path).source(*arrays(64, 600), 20, arch=ti.cuda)
    assert ("(block_scans)" in source) is (what in SHARED)
