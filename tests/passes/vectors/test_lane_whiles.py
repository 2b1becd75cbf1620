"""Pass `lane_whiles`: `while` loops of C that run for neighbouring iterations together; results do not change."""

from __future__ import annotations

import numpy as np
import pytest
import written_programs

import shadesmith as ti

pytestmark = pytest.mark.targets("cpu")  # elsewhere the pass returns at once

RUNS = "#define LANES 32"


@ti.kernel
def escape(counts: ti.template(), limit: ti.i32):
    for i, j in counts:
        x, y, count = 0.0, 0.0, 0
        while x * x + y * y < 4.0 and count < limit:
            x, y = x * x - y * y + i * 0.25 - 1.5, 2.0 * x * y + j * 0.125 - 1.0
            count += 1
        counts[i, j] = count


@ti.kernel
def roots(x: ti.types.ndarray(dtype=ti.f64, ndim=1), first: ti.i32, last: ti.i32):
    for i in range(first, last):
        of = x[i]
        z, steps = ti.Vector([of, 1.0 + i], dt=ti.f64), 0
        while (z[0] * z[0] - of > 1e-9 or steps < 2) and steps < 60:
            z[0] = 0.5 * (z[0] + of / z[0])
            z = ti.Vector([z[0] + z[1] * 0.0, z[1] + 1.0], dt=ti.f64)
            steps += 1
        rest, third = 0, i % 3
        while rest < third:
            rest += 1
        x[i] = z[0] + rest + z[1]


def start(passes: str = "", **options) -> None:
    ti.init(arch=ti.cpu, log_level=ti.ERROR, passes=passes, fast_math=False, **options)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("shape", [(1, 16), (3, 33), (13, 31), (2, 100)], ids=str)
def test_counts(shape):
    found = []
    for passes in ("", "-lane_whiles"):
        start(passes)
        counts = ti.field(ti.i32, shape)
        escape(counts, 40)
        assert (RUNS in escape.source(counts, 40)) == (not passes)
        found.append(counts.to_numpy())
    assert np.array_equal(*found)
    assert found[0].max() == 40 or shape == (1, 16)


@pytest.mark.parametrize(("first", "last"), [(0, 0), (3, 4), (0, 100), (7, 70)])
def test_vectors_and_several_loops(first, last):
    found = []
    for passes in ("", "-lane_whiles"):
        start(passes)
        x = np.linspace(1, 50, 100)
        roots(x, first, last)
        assert (RUNS in roots.source(x, first, last)) == (not passes)
        found.append(x)
    assert np.array_equal(*found)


def test_the_source_reads():
    start()
    counts = ti.field(ti.i32, (20, 20))
    source = escape.source(counts, 9)
    assert "while (any != 0) {" in source and "#pragma omp simd reduction(|: any)" in source
    assert "any |= 1;" in source and "count[j - first_j] += 1;" in source
    assert "first_j" not in escape.source(counts, 9, arch=ti.cuda)


BODIES = {
    "loads": "while s < n:\n    s += a[s & 31, j] + 1",
    "stores": "while s < n:\n    a[i, j] = s\n    s += 1",
    "division": "while s < n:\n    s += 5 // (s + 1) + 1",
    "sine": "t = 0.0\nwhile t < n:\n    t += 1.0 + ti.sin(t)\ns = ti.i32(t)",
    "break": "while s < n:\n    if s == i:\n        break\n    s += 1",
    "branch": "while s < n:\n    if s == i:\n        s += 1\n    s += 1",
    "loop inside": "while s < n:\n    for k in range(3):\n        s += k",
    "atomic": "while s < n:\n    s += 1 + ti.atomic_add(a[0, 0], 0)",
    "large": "v = ti.Vector([0] * 5)\nwhile s < n:\n    v += 1\n    s += v[4]",
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_other_loops_stay(body, tmp_path):
    program = written_programs.write(
        tmp_path / "program.py",
        "@ti.kernel\n"
        "def total(a: ti.types.ndarray(dtype=ti.i32, ndim=2), n: ti.i32):\n"
        "    for i, j in a:\n"
        "        s = 0\n" + "".join(f"        {line}\n" for line in body.splitlines()) + "        a[i, j] = s\n",
    )
    start()
    assert RUNS not in program.total.source(np.zeros((40, 40), np.int32), 6)
