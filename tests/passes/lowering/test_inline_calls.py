"""Pass `inline_calls`: a function that is all of the work of an iteration becomes its body, where other passes find loops."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

N = 2048


@pytest.mark.targets("cpu", "vulkan", "cuda")  # it takes the interpreter seconds
def test_functions_with_loops(target: str) -> None:
    x, y, a = ti.field(ti.f32, N), ti.field(ti.f32, N), ti.field(ti.f32, (N, 512))

    @ti.func
    def pull(i):
        s = 0.0
        for j in range(N):
            d = x[j] - x[i]
            s += d / (d * d + 0.1)
        return s

    @ti.func
    def total(i):
        s = 0.0
        for j in range(512):
            s += a[i, j]
        return s

    @ti.func
    def first(i):
        for j in range(512):
            if a[i, j] > 0.5:
                return j
        return -1

    @ti.kernel
    def forces():
        for i in x:
            y[i] = pull(i)

    @ti.kernel
    def rows():
        for i in x:
            y[i] = 0.5 * total(i)

    @ti.kernel
    def two_calls():
        for i in x:
            y[i] = total(i) + total(N - 1 - i)

    @ti.kernel
    def inner_loop():
        for i in x:
            for _ in range(3):
                y[i] += total(i)

    @ti.kernel
    def returns_early():
        for i in x:
            y[i] = first(i)

    assert "(block_tiles)" in forces.source(arch=ti.cuda) and "(shared_rows)" in rows.source(arch=ti.cuda)
    for kernel, function in ((two_calls, "float total("), (inner_loop, "float total("), (returns_early, "int first(")):
        assert function in kernel.source(arch=ti.cuda)
    random = np.random.default_rng(1)
    values, matrix = random.random(N, dtype=np.float32), random.random((N, 512), dtype=np.float32)
    x.from_numpy(values)
    a.from_numpy(matrix)
    forces()
    d = values[None].astype(np.float64) - values[:, None]
    np.testing.assert_allclose(y.to_numpy(), (d / (d * d + 0.1)).sum(1), rtol=1e-3, atol=1e-2)
    rows()
    np.testing.assert_allclose(y.to_numpy(), 0.5 * matrix.sum(1, dtype=np.float64), rtol=1e-5)
