"""Pass `conditional_loads`: gcc 12 makes wrong vectors of choices between a load and something else, which are stored."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.targets("cpu")  # elsewhere the pass returns at once

N = 64


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dt", ["f32", "f64"])
@pytest.mark.parametrize("count", [3, 4, 5, 7, 9, 12, 16, 20])
def test_results(target: str, count: int, dt: str) -> None:
    a, g, z = (ti.field(getattr(ti, dt), (N, count)) for _ in range(3))

    @ti.kernel
    def choice():
        for i in range(N):
            for j in range(count):
                g[i, j] = z[i, j] if a[i, j] >= 0.3 else 7.0

    @ti.kernel
    def selection():
        for i in range(N):
            for j in range(count):
                g[i, j] = ti.select(a[i, j] >= 0.3, z[i, j], 7.0)

    @ti.kernel
    def branch():
        for i in range(N):
            for j in range(count):
                t = ti.cast(7.0, g.dtype)
                if a[i, j] >= 0.3:
                    t = z[i, j]
                g[i, j] = t

    @ti.kernel
    def static():
        for i in range(N):
            for j in ti.static(range(count)):
                g[i, j] = z[i, j] if a[i, j] >= 0.3 else 7.0

    @ti.kernel
    def axes():
        for i, j in g:
            g[i, j] = z[i, j] if a[i, j] >= 0.3 else 7.0

    kind = np.dtype(dt.replace("f", "float"))
    a.from_numpy(np.cos(np.arange(N * count) * 1.7).reshape(N, count).astype(kind))
    z.from_numpy(np.arange(N * count).reshape(N, count).astype(kind))
    expected = np.where(a.to_numpy() >= kind.type(0.3), z.to_numpy(), 7)
    for kernel in (choice, selection, branch, static, axes):
        g.fill(0)
        kernel()
        np.testing.assert_array_equal(g.to_numpy(), expected)


def test_components(target: str) -> None:
    a, g, z = (ti.Vector.field(3, ti.f32, N) for _ in range(3))

    @ti.kernel
    def components():
        for i in g:
            for k in ti.static(range(3)):
                g[i][k] = z[i][k] if a[i][k] > 0.3 else 7.0

    a.from_numpy(np.cos(np.arange(N * 3) * 1.7).reshape(N, 3).astype(np.float32))
    z.from_numpy(np.arange(N * 3).reshape(N, 3).astype(np.float32))
    components()
    np.testing.assert_array_equal(g.to_numpy(), np.where(a.to_numpy() > np.float32(0.3), z.to_numpy(), 7))


def test_gradient_of_a_maximum(target: str) -> None:
    a, g, w = (ti.field(ti.f32, shape, needs_grad=True) for shape in ((8, 7), (8, 7), 7))

    @ti.kernel
    def greatest():
        for i in range(8):
            for j in range(7):
                g[i, j] += ti.max(a[i, j], w[j])

    a.from_numpy(np.cos(np.arange(56) * 1.7).reshape(8, 7).astype(np.float32))
    w.from_numpy(np.cos(np.arange(7) * 3.0).astype(np.float32))
    g.grad.fill(1)
    greatest.grad()
    np.testing.assert_array_equal(a.grad.to_numpy(), a.to_numpy() >= w.to_numpy())


@ti.kernel
def rows(a: ti.types.ndarray(ti.f32, 2), b: ti.types.ndarray(ti.f32, 2)):
    for i in range(a.shape[0]):
        for j in range(3):
            a[i, j] = b[i, j] if b[i, j] > 0 else 1.0
        for j in range(4):
            a[i, j] = b[i, j] * 2


def test_sources() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    arrays: Any = np.zeros((2, 4), np.float32), np.zeros((2, 4), np.float32)
    assert rows.source(*arrays, arch=ti.cpu).count("#pragma GCC unroll 1\n") == 1
    assert "unroll 1\n" not in rows.source(*arrays, arch=ti.cuda)


@pytest.mark.parametrize("members", [False, True])
def test_choices_one_by_one(target: str, members: bool) -> None:
    n = 2000 if target == "python" else 20_000
    if members:
        of = ti.types.struct(x=ti.f32, y=ti.f32, z=ti.f32)
        a, g, z = (of.field(shape=n) for _ in range(3))
    else:
        a, g, z = (ti.field(ti.f32, (n, 3)) for _ in range(3))

    @ti.kernel
    def rows():
        for i in range(n):
            g[i, 0] = z[i, 0] if a[i, 0] > 0.3 else 7.0
            g[i, 1] = z[i, 1] if a[i, 1] > 0.3 else 7.0
            g[i, 2] = z[i, 2] if a[i, 2] > 0.3 else 7.0

    @ti.kernel
    def structs():
        for i in g:
            g[i].x = z[i].x if a[i].x > 0.3 else 7.0
            g[i].y = z[i].y if a[i].y > 0.3 else 7.0
            g[i].z = z[i].z if a[i].z > 0.3 else 7.0

    conditions = np.cos(np.arange(n * 3) * 1.7).reshape(n, 3).astype(np.float32)
    values = np.arange(n * 3, dtype=np.float32).reshape(n, 3)
    expected = np.where(conditions > np.float32(0.3), values, 7)
    if members:
        a.from_numpy({name: conditions[:, k].copy() for k, name in enumerate("xyz")})
        z.from_numpy({name: values[:, k].copy() for k, name in enumerate("xyz")})
        structs()
        found = g.to_numpy()
        assert all(np.array_equal(found[name], expected[:, k]) for k, name in enumerate("xyz"))
    else:
        a.from_numpy(conditions)
        z.from_numpy(values)
        rows()
        np.testing.assert_array_equal(g.to_numpy(), expected)
