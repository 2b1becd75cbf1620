"""Checks in kernels whose arguments do not fit into push constants: they reach the buffer of records through a pointer."""

import numpy as np
import pytest

import shadesmith as ti

Large = ti.types.matrix(6, 6, ti.f32)


def test_an_access_is_checked_beside_many_arguments(target: str) -> None:
    ti.init(arch=getattr(ti, target), debug=True, log_level=ti.ERROR)

    @ti.kernel
    def store(a: Large, b: Large, i: ti.i32, x: ti.types.ndarray(dtype=ti.f32, ndim=1)):
        x[i] = a[1, 2] + b[3, 4]

    values = np.arange(36.0).reshape(6, 6)
    x = ti.ndarray(ti.f32, 3)
    store(Large(values.tolist()), Large(values.tolist()), 1, x)
    assert x.to_numpy().tolist() == [0, 8 + 22, 0]
    with pytest.raises(ti.TaichiAssertionError, match="x"):
        store(Large(values.tolist()), Large(values.tolist()), 3, x)


def test_components_of_many_arguments_are_told_apart(target: str) -> None:
    """lavapipe (Mesa 22.3) gave `g[0, 0]` for `g[0, 1]`, read behind a check."""
    ti.init(arch=getattr(ti, target), debug=True, fast_math=False, log_level=ti.ERROR)

    @ti.kernel
    def store(
        m: ti.types.matrix(3, 3, ti.f32),
        g: ti.types.matrix(2, 2, ti.i32),
        f: ti.types.matrix(4, 4, ti.f32),
        x: ti.types.ndarray(dtype=ti.f64, ndim=1),
    ):
        for _ in range(1):
            x[0] = ti.cast(g.trace(), ti.f64)
            x[1] = ti.cast(g.determinant(), ti.f64)
            x[2] = ti.cast(f.determinant(), ti.f64)
            r = m.inverse()
            x[3] = ti.cast(r[0, 0], ti.f64)

    m, f = np.arange(9.0).reshape(3, 3) + np.eye(3), np.arange(16.0).reshape(4, 4) + np.eye(4)
    x = np.zeros(4)
    store(ti.Matrix(m.tolist()), ti.Matrix([[3, 1], [-2, 4]]), ti.Matrix(f.tolist()), x)
    ti.sync()
    assert np.allclose(x, [7, 14, np.linalg.det(f), np.linalg.inv(m)[0, 0]], rtol=1e-4)
