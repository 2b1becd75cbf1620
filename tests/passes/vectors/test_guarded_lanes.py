"""Pass `lane_loops`: branches around serial loops, or in them, that are the same for neighbouring iterations."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
import written_programs

import shadesmith as ti

RUNS = "#define LANES 128"
Matrix = ti.types.ndarray(dtype=ti.f32, ndim=2)
Numbers = ti.types.ndarray(dtype=ti.i32, ndim=1)


@ti.kernel
def guarded(count: Numbers, rows: Numbers, a: Matrix, b: Matrix, c: Matrix):
    for i, j in c:
        if i < count[0] and rows[i] >= 0:
            row = rows[i]
            s = 0.0
            for k in range(a.shape[1]):
                s += a[row, k] * b[k, j]
            c[i, j] = s
        else:
            c[i, j] = -1.0


def start(passes: str = "", arch=ti.cpu) -> None:
    ti.init(arch=arch, log_level=ti.ERROR, passes=passes, fast_math=False)


def integers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(-9, 9, shape).astype(np.float32)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (3, 0), (7, 127), (5, 129)], ids=str)
@pytest.mark.parametrize("count", [0, 3, 9])
def test_guarded_products(shape, count):
    start()
    n, m = shape
    rows = np.array([2, -1, 0, 3, 4, 1, -5])[:n].astype(np.int32)
    a, b, c = integers(6, 4), integers(4, m, seed=1), np.zeros(shape, np.float32)
    counts = np.array([count], np.int32)
    guarded(counts, rows, a, b, c)
    runs = (np.arange(n) < count) & (rows >= 0)
    assert np.array_equal(c, np.where(runs[:, None], a[rows] @ b, -1))
    source = guarded.source(counts, rows, a, b, c)
    assert RUNS in source
    assert "int row = rows(i);" in source  # once for a run, so that `a(row, k)` is one element
    assert RUNS not in guarded.source(counts, rows, a, b, c, arch=ti.cuda)


BODIES = {
    "by the last axis": "if j < n:\n    for k in range(n):\n        s += a[k, j]",
    "by a variable": "m = 3\nfor q in range(n):\n    m += q\nif m > 5:\n    for k in range(n):\n        s += a[k, j]",
    "by what is stored": "b[i, j] = 2.0\nif b[i, 0] > 1:\n    for k in range(n):\n        s += a[k, j]",
    "by what a loop stores": (
        "for k in range(n):\n    if b[i, k] > 0:\n        for m in range(n):\n            s += a[m, j]\n    b[i, j] = s"
    ),
    "by an atomic operation": "if ti.atomic_add(b[i, 0], 1) > 0:\n    for k in range(n):\n        s += a[k, j]",
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_other_branches_stay(body, tmp_path):
    start()
    a, c = integers(40, 40), np.zeros((2, 40), np.float32)
    assert RUNS not in _kernel(body, tmp_path / "program.py").source(a, integers(40, 40), c, np.zeros(9, np.int32), 6)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(24))
def test_random_branches(seed, tmp_path):
    kernel = _kernel(_random_body(random.Random(seed)), tmp_path / "program.py")
    results = {}
    for passes in ("", "-lane_loops"):
        start(passes)
        for width in (0, 1, 5, 130):
            a, b, c = integers(9, width), integers(9, width, seed=1), np.zeros((7, width), np.float32)
            flags = np.random.default_rng(seed).integers(-2, 6, 9).astype(np.int32)
            kernel(a, b, c, flags, 5)
            results[passes, width] = np.concatenate([b, c])
    assert all(np.array_equal(results["", width], results["-lane_loops", width]) for width in (0, 1, 5, 130))


def test_most_random_branches_are_outside_of_the_lanes(tmp_path):
    start()
    a, flags = integers(9, 5), np.zeros(9, np.int32)
    kernels = [_kernel(_random_body(random.Random(seed)), tmp_path / f"program_{seed}.py") for seed in range(24)]
    assert sum(RUNS in kernel.source(a, a, a, flags, 5) for kernel in kernels) >= 12


def _random_body(choose: random.Random) -> str:
    """Return branches and loops, in each other and one after another, one loop at least."""
    conditions = ["i < n", "flags[i] > 1", "n > 3 and flags[i] != 2", "i > 2 or flags[0] > 0", "not flags[i + 1] == 0"]
    lines: list[str] = []

    def block(depth: int, indent: str) -> None:
        if depth and choose.random() < 0.7:  # so that most branches are the same for neighbouring iterations
            lines.append(f"{indent}for q in range({depth}):\n{indent}    s += a[q, j]")
        for _ in range(choose.randint(1, 3)):
            kind = choose.choice(["if", "if", "loop", "sum", "bound"] + ["store"] * (choose.random() < 0.3))
            if kind == "if" and depth < 3:
                lines.append(f"{indent}if {choose.choice(conditions)}:")
                block(depth + 1, indent + "    ")
                if choose.random() < 0.5:
                    lines.append(f"{indent}else:")
                    block(depth + 1, indent + "    ")
            elif kind == "loop" and depth < 3:
                lines.append(f"{indent}for k{depth} in range({choose.choice(['3', 'n', 'flags[i]'])}):")
                loops = [f"{indent}    s += a[k{depth}, j]", f"{indent}    s -= a[ti.abs(flags[i]), j] * k{depth}"]
                lines.append(choose.choice(loops))
                block(depth + 1, indent + "    ") if choose.random() < 0.5 else None
            elif kind == "store":
                lines.append(f"{indent}b[i, j] = s + {depth}")
            elif kind == "bound":
                lines.append(f"{indent}s = ti.max(s, -50.0) * 0.5")
            else:
                lines.append(f"{indent}s += a[i, j] + flags[i]")

    block(0, "")
    lines.append("if flags[i] > 0:\n    for m in range(n):\n        s += a[m, j]")
    return "\n".join(lines)


def _kernel(body: str, path: Path) -> ti.Kernel:
    program = written_programs.write(
        path,
        "Matrix = ti.types.ndarray(dtype=ti.f32, ndim=2)\n"
        "Numbers = ti.types.ndarray(dtype=ti.i32, ndim=1)\n"
        "@ti.kernel\n"
        "def total(a: Matrix, b: Matrix, c: Matrix, flags: Numbers, n: ti.i32):\n"
        "    for i, j in c:\n"
        "        s = 0.0\n" + "".join(f"        {line}\n" for line in body.splitlines()) + "        c[i, j] = s\n",
    )
    return program.total


@ti.kernel
def convolved(x: Matrix, w: Matrix, y: Matrix, n: ti.i32):
    for i, c in y:
        s = 0.0
        for k in range(3):
            p = 2 * i + k - 1
            if 0 <= p < n and w[k, 0] < 5:
                s += x[p, c] * w[k, c]
        y[i, c] = ti.max(s, -40.0)


@pytest.mark.parametrize("width", [0, 1, 7, 130])
def test_a_branch_that_loads_is_once_in_a_run(width):
    start()
    x, w, y = integers(11, width), integers(3, max(width, 1), seed=1), np.zeros((6, width), np.float32)
    convolved(x, w, y, 11)
    padded = np.pad(x, ((1, 2), (0, 0)))
    taken = [padded[k : k + 12 : 2] * w[k, :width] for k in range(3) if w[k, 0] < 5]
    assert np.array_equal(y, np.maximum(sum(taken, np.zeros((6, width))), -40))
    source = convolved.source(x, w, y, 11)
    assert RUNS in source
    assert source.index("if ((0 <= p)") < source.index("s[c - first_c] += ")
