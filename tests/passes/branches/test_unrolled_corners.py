"""Pass `unrolled_corners`: loops whose index gives constants by its bits."""

from __future__ import annotations

import numpy as np

import shadesmith as ti

Array = ti.types.ndarray(ti.f32, 2)
HINT = "#pragma GCC unroll 8"


@ti.kernel
def corners(x: Array):
    for i in range(x.shape[0]):
        s = 0.0
        for c in range(8):
            p = ti.Vector([(c & 1) * 2 - 1, (c >> 1 & 1) * 2 - 1, c // 4 * 2 - 1]) * x[i, 0]
            if p.sum() < x[i, 1]:
                s += p[0] * x[i, 2] + p[2]
        x[i, 3] = s


@ti.kernel
def longer(x: Array):
    for i in range(x.shape[0]):
        s = 0.0
        for c in range(9):
            s += ti.f32(c & 1) * x[i, 0]
        x[i, 3] = s


@ti.kernel
def elements(x: Array):
    for i in range(x.shape[0]):
        s = 0.0
        for c in range(4):
            s += x[i, c & 1] * c
        x[i, 3] = s


def test_results(target: str) -> None:
    x = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)
    wanted = np.zeros(50, np.float32)
    for c in range(8):
        p = np.stack([x[:, 0] * k for k in ((c & 1) * 2 - 1, (c >> 1 & 1) * 2 - 1, c // 4 * 2 - 1)])
        wanted += np.where(p.sum(0) < x[:, 1], p[0] * x[:, 2] + p[2], np.float32(0))
    corners(x)
    ti.sync()
    np.testing.assert_allclose(x[:, 3], wanted, rtol=1e-4, atol=1e-5)


def test_a_loop_over_corners_is_unrolled() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    x = np.zeros((50, 4), np.float32)
    assert HINT in corners.source(x, arch=ti.cpu) and "#pragma unroll" not in corners.source(x, arch=ti.cuda)


def test_longer_loops_and_elements_stay() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    x = np.zeros((50, 4), np.float32)
    assert not any("GCC unroll" in kernel.source(x, arch=ti.cpu) for kernel in (longer, elements))
