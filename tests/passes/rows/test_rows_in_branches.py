"""Pass `shared_rows`: rows in a branch on which all threads of a row agree."""

from __future__ import annotations

import sys

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


@pytest.mark.sampled(3, each="what")
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


CHANGED = """
@ti.kernel
def run(x: ti.template(), ids: ti.template(), sums: ti.template(), ys: ti.template()):
    for t in ids:
        if ids[t] >= 0:
            for c in range(x.shape[1]):
                sums[ids[t], c] += x[t, c]
    for t, u in ti.ndrange(ids.shape[0], 5):
        if u <= t % 7:
            w = ids[t] + u
            for c in range(x.shape[1]):
                ys[t, c] += w * x[u, c]
                ys[u, c] -= x[t, c]
"""


@pytest.mark.targets("vulkan", "cuda")
@pytest.mark.parametrize("length", [3, 16, 64, 100])
def test_short_rows_whose_elements_change(target: str, length: int, tmp_path) -> None:
    """Gradients of embeddings, and of attention: what threads of a row add to are neighbours."""
    run = written_programs.write(tmp_path / "changed.py", CHANGED).run
    results = []
    for arch in (None, ti.python):
        if arch is not None:
            ti.init(arch=arch, log_level=ti.ERROR)
        x, ids, *_ = arrays(37, length)
        sums, ys = ti.field(ti.f32, (37, length)), ti.field(ti.f32, (37, length))
        run(x, ids, sums, ys)
        if arch is None:
            assert run.source(x, ids, sums, ys).count("share a row") == (2 if length >= 16 else 0)
        results.append((sums.to_numpy(), ys.to_numpy()))
    assert all(np.array_equal(*pair) for pair in zip(*results, strict=True))


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


@pytest.mark.targets("vulkan", "cuda")
@pytest.mark.parametrize("is_selected", [True, False])
def test_blocks_for_rows_before_a_total(target: str, monkeypatch: pytest.MonkeyPatch, is_selected: bool) -> None:
    """A loss of all rows is for a task behind that of the rows, which have a block each; it loads the labels again."""
    monkeypatch.setattr(sys.modules["shadesmith.transpiler.passes.rows.shared_rows"], "MANY_ELEMENTS", 1)
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    rows, length = 9, 1100
    x, label = ti.field(ti.f32, (rows, length)), ti.field(ti.i32, rows)
    top, loss = ti.field(ti.f32, rows), ti.field(ti.f32, ())
    numbers = np.random.default_rng(1).integers(-99, 99, (rows, length)).astype(np.float32)
    labels = np.array([-1, 0, 3, -1, 1099, 7, 7, -1, 2], np.int32)
    x.from_numpy(numbers)
    label.from_numpy(labels)

    @ti.kernel
    def total():
        for t in range(rows):
            at = label[t]
            if at >= 0 or not ti.static(is_selected):
                m = -1000.0
                for c in range(length):
                    m = ti.max(m, x[t, c])
                z = 0.0
                for c in range(length):
                    z += x[t, c] - m
                top[t] = m
                loss[None] += z + x[t, ti.max(at, 0)]

    source = total.source(arch=ti.cuda)
    assert "a block, share a row" in source and "m_of_rows" in source and "z_of_rows" in source
    total()
    chosen = labels >= 0 if is_selected else np.full(rows, True)
    most = numbers.max(1)
    losses = numbers.sum(1) - length * most + numbers[np.arange(rows), np.maximum(labels, 0)]
    assert np.array_equal(top.to_numpy(), np.where(chosen, most, 0)) and loss[None] == losses[chosen].sum()
