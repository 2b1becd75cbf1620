"""Pass `literal_products`: CUDA C has products with literal zeros written out, in loops with `fast_math`."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

dt = 0.25
LITERALS = {
    "transition": [[1, 0, dt, 0], [0, 1, 0, dt], [0, 0, 1, 0], [0, 0, 0, 1]],
    "selection": [[1, 0, 0, 0], [0, 0, 1, 0]],
    "quarter turn": [[0, -1, 0], [1, 0, 0], [0, 0, 1]],
    "diagonal": [[2, 0], [0, -3]],
    "nothing": [[0, 0, 0], [0, 0, 0], [0, 0, 0]],
    "wide": [[0, 0, 1, 2, 0], [0, 3, 0, 0, 0]],
    "full": [[1, 2], [3, 4]],
}


def make(literal: list[list[float]], dtype=ti.f32, fast_math: bool = True):
    rows, columns = np.shape(literal)
    m, v = ti.Matrix.field(columns, columns, dtype, 7), ti.Vector.field(columns, dtype, 7)
    around, turned = ti.Matrix.field(rows, rows, dtype, 7), ti.Vector.field(rows, dtype, 7)
    rng = np.random.default_rng(rows)
    m.from_numpy(rng.normal(size=(7, columns, columns)))
    v.from_numpy(rng.normal(size=(7, columns)))

    @ti.kernel(fast_math=fast_math)
    def turn(n: ti.i32):
        for i in m:
            a = ti.Matrix(literal, dt=dtype)
            p = ti.Matrix.zero(dtype, rows, rows)
            w = ti.Vector.zero(dtype, rows)
            for k in range(n):
                p += a @ (m[i] * k) @ a.transpose()
                w += a @ v[i] + p @ w * 0.125
            around[i] = p
            turned[i] = w

    return turn, m, v, around, turned


@pytest.mark.sampled(2, each="literal")
@pytest.mark.parametrize("dtype", [ti.f32, ti.f64])
@pytest.mark.parametrize("literal", LITERALS.values(), ids=LITERALS)
def test_values(target: str, literal, dtype) -> None:
    turn, m, v, around, turned = make(literal, dtype)
    turn(3)
    a, m, v = np.array(literal, np.float64), m.to_numpy().astype(np.float64), v.to_numpy().astype(np.float64)
    p, w = np.zeros((7, len(a), len(a))), np.zeros((7, len(a)))
    for k in range(3):
        p += a @ (m * k) @ a.T
        w += v @ a.T + np.einsum("nij,nj->ni", p, w) * 0.125
    tolerance = 1e-4 if dtype is ti.f32 else 1e-12
    np.testing.assert_allclose(around.to_numpy(), p, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(turned.to_numpy(), w, rtol=tolerance, atol=tolerance)


def test_a_rotation(target: str) -> None:
    """Of numbers that only the device knows, in a function."""
    angle, v, r = ti.field(ti.f32, 9), ti.Vector.field(3, ti.f32, 9), ti.Vector.field(3, ti.f32, 9)
    rng = np.random.default_rng(4)
    angle.from_numpy(rng.normal(size=9).astype(np.float32))
    v.from_numpy(rng.normal(size=(9, 3)).astype(np.float32))

    @ti.func
    def rotated(p, t):
        s, c = ti.sin(t), ti.cos(t)
        return ti.Matrix([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]) @ p

    @ti.kernel
    def spin(n: ti.i32):
        for i in v:
            p = v[i]
            for _ in range(n):
                p = rotated(p, angle[i])
            r[i] = p

    spin(3)
    x, y, z = v.to_numpy().astype(np.float64).T
    t = 3 * angle.to_numpy().astype(np.float64)
    true = np.stack([np.cos(t) * x - np.sin(t) * y, np.sin(t) * x + np.cos(t) * y, z], axis=1)
    np.testing.assert_allclose(r.to_numpy(), true, rtol=1e-4, atol=1e-4)
    assert "p = {c * p.x - s * p.y, s * p.x + c * p.y, p.z};" in spin.source(3, arch=ti.cuda)


def test_sources() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    for name, literal in LITERALS.items():
        source = make(literal)[0].source(3, arch=ti.cuda)
        ti.init(arch=ti.python, log_level=ti.ERROR, passes="-literal_products")
        plain = make(literal)[0].source(3, arch=ti.cuda)
        ti.init(arch=ti.python, log_level=ti.ERROR)
        assert (source.split("\n", 1)[1] == plain.split("\n", 1)[1]) == (name == "full"), name
    exact = make(LITERALS["transition"], fast_math=False)[0].source(3, arch=ti.cuda)
    assert "operator*(mat4 a, mat4 b)" in exact
    assert "operator*(mat4 a, mat4 b)" not in make(LITERALS["transition"])[0].source(3, arch=ti.cuda)
