"""Pass `loads_before_loops`: elements of the parallel loop's index are loaded before the serial loops that need them."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.targets("vulkan", "cuda")  # elsewhere the pass returns at once

Vectors = ti.types.ndarray(ti.math.vec3, 1)
Numbers = ti.types.ndarray(ti.f32, 1)


@ti.kernel
def pull(x: Vectors, f: Vectors):
    for i in x:
        f[i] = ti.math.vec3(1.0)
        for j in range(x.shape[0]):
            if i != j:
                d = x[j] - x[i]
                f[i] += d / (1.0 + d.dot(d))


@pytest.mark.parametrize("n", [0, 1, 2, 130])
def test_forces(target: str, n: int) -> None:
    x = np.random.default_rng(n).random((n, 3), dtype=np.float32)
    f = np.zeros_like(x)
    pull(x, f)
    d = x[None] - x[:, None]
    assert np.allclose(f, 1 + (d / (1 + (d * d).sum(-1, keepdims=True))).sum(1), rtol=1e-4)


def test_sources() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR, passes="-block_tiles")
    x = np.zeros((4, 3), np.float32)
    for arch in (ti.cuda, ti.vulkan):
        assert pull.source(x, x, arch=arch).count("vec3 x_i = x(i);") == 1  # of two tasks: one stores into f, perhaps x
    assert "x_i" not in pull.source(x, x, arch=ti.cpu)


def test_elements_that_the_loop_changes(target: str) -> None:
    """By their name, by another name, and by another iteration of the loop."""

    @ti.kernel
    def add(x: Numbers, y: Numbers):
        for i in x:
            for k in range(3):
                if k > 0:
                    y[i] = x[i] + 1.0

    @ti.kernel
    def add_to(x: Numbers):
        for i in x:
            for k in range(3):
                x[i] = x[i] * 2 + k

    both, one, two = (np.zeros(40, np.float32) for _ in range(3))
    add(both, both)
    add(one, two)
    assert (both == 2).all() and (one == 0).all() and (two == 1).all()
    add_to(one)
    assert (one == 4).all()


def test_elements_that_may_not_exist(target: str) -> None:
    """The index of a loop over something else."""
    n = 50

    @ti.kernel
    def add(x: Numbers, y: Numbers, n: ti.i32):
        for i in range(n):
            total = 0.0
            for k in range(3):
                if i < x.shape[0]:
                    total += x[i]
            y[i] = total

    x, y = np.ones(7, np.float32), np.zeros(n, np.float32)
    add(x, y, n)
    assert y.tolist() == [3.0] * 7 + [0.0] * (n - 7)
    assert "x_i = x(i)" not in add.source(x, y, n, arch=ti.cuda)
