"""Local matrices and long vectors of which only elements are used: arrays in C and CUDA C, with the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.devices.cuda.nvrtc import compile_cubin


@ti.kernel
def mixed(x: ti.types.ndarray(ti.f32, 2), y: ti.types.ndarray(ti.f32, 1), z: ti.types.ndarray(ti.f16, 1)):
    for i in y:
        whole, used = ti.Matrix.zero(ti.f32, 3, 3), ti.Matrix.zero(ti.f32, 3, 3)
        sums, halves = ti.Vector.zero(ti.f32, 7), ti.Matrix.zero(ti.f16, 2, 2)
        counts = ti.Matrix([[0, 0], [0, 0]])
        for r in range(3):
            for s in range(3):
                whole[r, s] += x[r, s] * i
                sums[r + s] += whole[r, s]
                used[r, s] = sums[r]
                halves[r % 2, s % 2] += ti.f16(i)
                counts[s % 2, r % 2] -= i
        product = used @ whole
        y[i] = sums[4] + product[0, 1] + counts[1, 0]
        z[i] = halves[0, 1]


def expected(x: np.ndarray) -> np.ndarray:
    i = np.arange(5)
    used, sums = np.zeros((3, 3)), np.zeros(7)
    for r in range(3):
        for s in range(3):
            sums[r + s] += x[r, s]
            used[r, s] = sums[r]
    return i * sums[4] + i**2 * (used @ x)[0, 1] - 2 * i


def test_results(target: str) -> None:
    x = np.random.default_rng(3).uniform(0, 1, (3, 3)).astype(np.float32)
    y, z = np.zeros(5, np.float32), np.zeros(5, np.float16)
    mixed(x, y, z)
    assert y == pytest.approx(expected(x), rel=1e-5, abs=1e-5)
    assert z.tolist() == [0, 2, 4, 6, 8]


@pytest.mark.parametrize(("arch", "zero", "half"), [(ti.cuda, "{}", "half"), (ti.cpu, "{0}", "_Float16")])
def test_sources(arch, zero: str, half: str) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    given = np.zeros((3, 3), np.float32), np.zeros(5, np.float32), np.zeros(5, np.float16)
    source = mixed.source(*given, arch=arch)
    for declared in ("float sums[7]", f"{half} halves[2][2]", "int counts[2][2]", "mat3 whole", "mat3 used"):
        assert f"{declared} = {zero}" in source or (declared.startswith("mat3") and f"used = {zero}" in source)
    assert "vec7" not in source and "matrix" not in source
    if arch is ti.cuda:
        assert compile_cubin(source)[1] == ""


@pytest.mark.parametrize(("arch", "zero"), [(ti.cuda, "{}"), (ti.cpu, "{0}")])
def test_arrays_that_start_with_one_zero_leave_no_variable_and_no_type_of_it(arch, zero: str) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)

    @ti.kernel
    def several(y: ti.types.ndarray(ti.i32, 1), whole: ti.template()):
        for i in y:
            a, b, c, d = ti.Vector([0] * 9), ti.Vector([0] * 9), ti.Vector([0] * 9), ti.Vector([0] * 9)
            for k in range(3):
                a[k + i] += k
                b[k - i] += a[k]
                c[i] = b[k]
                d[k] += c[3 - k]
            y[i] = (d + c).sum() if ti.static(whole) else d[1]

    source = several.source(np.zeros(5, np.int32), False, arch=arch)
    assert all(f"int {name}[9] = {zero};" in source for name in "abcd")
    assert "vector" not in source and "ivec9" not in source
    assert "ivec9" in several.source(np.zeros(5, np.int32), True, arch=arch)
