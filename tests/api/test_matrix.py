"""Vectors and matrices in Python scope; expected values are measured on Taichi 1.7.4."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

V, M = ti.Vector, ti.Matrix


def v():
    return V([1, 2, 3])


def w():
    return V([1.5, 2.5, -3.0])


def m():
    return M([[1, 2], [3, 4]])


VALUES = [
    (lambda: v() + 1, [2, 3, 4]),
    (lambda: 1 + v(), [2, 3, 4]),
    (lambda: v() - w(), [-0.5, -0.5, 6.0]),
    (lambda: v() / 2, [0.5, 1.0, 1.5]),
    (lambda: v() // 2, [0, 1, 1]),
    (lambda: v() % 2, [1, 0, 1]),
    (lambda: 2 ** v(), [2, 4, 8]),
    (lambda: -v(), [-1, -2, -3]),
    (lambda: ~v(), [-2, -3, -4]),
    (lambda: v() << 1, [2, 4, 6]),
    (lambda: v() | V([4, 4, 4]), [5, 6, 7]),
    (lambda: v() == v(), [True, True, True]),
    (lambda: v() < 2, [True, False, False]),
    (lambda: v() + [1, 2, 3], [2, 4, 6]),
    (lambda: np.array([1, 2, 3]) + v(), [2, 4, 6]),
    (lambda: m() @ m(), [[7, 10], [15, 22]]),
    (lambda: m() @ V([1, 2]), [5, 11]),
    (lambda: V([1, 2]) @ m(), [7, 10]),
    (lambda: m() * m(), [[1, 4], [9, 16]]),
    (lambda: m() + V([1, 2]), [[2, 4], [4, 6]]),
    (lambda: v().normalized(1e-3), [0.26718983, 0.53437966, 0.8015695]),
    (lambda: v().cross(w()), [-13.5, 7.5, -0.5]),
    (lambda: v().outer_product(V([1, 2])), [[1, 2], [2, 4], [3, 6]]),
    (lambda: m().transpose(), [[1, 3], [2, 4]]),
    (lambda: m().inverse(), [[-2.0, 1.0], [1.5, -0.5]]),
    (lambda: M.diag(2, 3), [[3, 0], [0, 3]]),
    (lambda: M.cols([v(), v()]), [[1, 1], [2, 2], [3, 3]]),
    (lambda: M.rows([v(), v()]), [[1, 2, 3], [1, 2, 3]]),
    (lambda: V.unit(3, 1), [0, 1, 0]),
    (lambda: M.identity(ti.f32, 2), [[1.0, 0.0], [0.0, 1.0]]),
    (lambda: V([1.7, 2], dt=ti.i32), [1, 2]),
    (lambda: w().cast(int), [1, 2, -3]),
    (lambda: v().zyx, [3, 2, 1]),
    (lambda: v().rgb, [1, 2, 3]),
    (lambda: v().stp, [1, 2, 3]),
]

SCALARS = [
    (lambda: v() @ v(), 14),
    (lambda: v().norm(), 3.7416573867739413),
    (lambda: v().norm(1e-3), 3.7417910150087215),
    (lambda: v().norm_sqr(), 14),
    (lambda: v().norm_inv(), 0.2672612419124244),
    (lambda: v().dot(w()), -2.5),
    (lambda: V([1, 2]).cross(V([3, 4])), -2),
    (lambda: m().trace(), 5),
    (lambda: m().determinant(), -2.0),
    (lambda: v().sum(), 6),
    (lambda: w().max(), 2.5),
    (lambda: w().min(), -3.0),
    (lambda: v().x, 1),
    (lambda: v()[-1], 3),
    (lambda: m()[0, 1], 2),
]


@pytest.mark.parametrize(("call", "expected"), VALUES)
def test_value(call, expected) -> None:
    assert np.allclose(call().to_numpy(), expected, rtol=1e-7)
    assert call().to_numpy().shape == np.shape(expected)


@pytest.mark.parametrize(("call", "expected"), SCALARS)
def test_scalar(call, expected) -> None:
    assert call() == pytest.approx(expected, rel=1e-14)


def test_printing_is_numpys() -> None:
    assert repr(v()) == "[1 2 3]"
    assert str(m()) == "[[1 2]\n [3 4]]"
    assert repr(w()) == "[ 1.5  2.5 -3. ]"


def test_sizes() -> None:
    assert (v().n, v().m, v().ndim, v().get_shape(), len(v())) == (3, 1, 1, (3,), 3)
    assert (m().n, m().m, m().ndim, m().get_shape(), len(m())) == (2, 2, 2, (2, 2), 2)


def test_iteration() -> None:
    assert list(v()) == [1, 2, 3]
    assert list(m()) == [[1, 2], [3, 4]]
    assert m().to_list() == [[1, 2], [3, 4]]


def test_any_and_all() -> None:
    assert v().any() and v().all()
    assert not V([0, 0]).any()
    assert not V([1, 0]).all()


def test_writing_elements_keeps_the_type() -> None:
    found = v()
    found[0] = 5.5
    found[1:3] = [7, 8]
    assert found.to_list() == [5, 7, 8]


def test_writing_swizzles() -> None:
    found = v()
    found.x = 7
    found.zy = V([8, 9])
    assert found.to_list() == [7, 9, 8]


def test_filling() -> None:
    found = v()
    found.fill(4)
    assert found.to_list() == [4, 4, 4]


def test_a_vector_is_a_matrix() -> None:
    assert isinstance(v(), ti.Vector) and isinstance(v(), ti.Matrix)
    assert isinstance(v() + 1, ti.Vector)
    assert not isinstance(m(), ti.Vector)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: V(3), ti.TaichiTypeError, "can only be initialized with an array-like object"),
        (lambda: v().w, ti.TaichiSyntaxError, r"vec3 only has attributes=\('x', 'y', 'z'\), got=\('w',\)"),
        (lambda: v().xr, AttributeError, "'Vector' object has no attribute 'xr'"),
        (lambda: v()[5], IndexError, "index 5 is out of bounds"),
        (lambda: m()[0], AssertionError, "Expected 2 indices, got 1"),
        (lambda: v().transpose(), ti.TaichiCompilationError, r"`transpose\(\)` cannot apply to a vector"),
        (lambda: v().trace(), ti.TaichiCompilationError, "expected a square matrix, got shape"),
        (lambda: V([1] * 5).cross(V([1] * 5)), ti.TaichiCompilationError, "only dimension < 4 is supported"),
        (lambda: v() + V([1, 2]), ValueError, "could not be broadcast"),
    ],
)
def test_refusals(call, error, text) -> None:
    with pytest.raises(error, match=text):
        call()


def test_components_of_elements_are_pythons_numbers(target: str) -> None:
    """As in Taichi: what a program computes with them in Python is not rounded to the type of the array."""
    pair = ti.types.struct(a=ti.f32, b=ti.math.ivec2)
    x, i, u = ti.Vector.field(2, ti.f32, 2), ti.Vector.field(2, ti.i32, 2), ti.Vector.field(2, ti.u64, 1)
    s, m = pair.field(shape=2), ti.Matrix.ndarray(2, 2, ti.f16, 1)
    x[0], i[0], u[0], m[0] = [0.1, 0.25], [3, 7], [2**63, 1], [[1, 2], [3, 4]]
    s[1] = pair(a=0.5, b=[70000, 2])

    assert [type(value) for value in (x[0][0], x[0].y, *x[0], m[0][1, 0])] == [float] * 5
    assert [type(value) for value in (i[0][0], i[0].y, *i[0], s[1].b.x, s[1].b[1], u[0][1])] == [int] * 7
    assert x[0][0] == float(np.float32(0.1)) and x[0][0] * 1e-30 * 1e-30 > 0
    assert i[0][0] * 3000000000 == 9000000000 and i[0].y << 40 == 7 << 40 and s[1].b.x ** 2 == 4900000000
    assert (i[0] * 3000000000).to_numpy().tolist() == [9000000000, 21000000000]
    assert u[0][0] == 2**63 and (u[0] // 2).to_numpy().tolist() == [2**62, 0]
    assert x[0].norm() == np.hypot(float(np.float32(0.1)), 0.25) and repr([i[0][0], m[0][0, 1]]) == "[3, 2.0]"

    element = i[0]
    element[0] = 2**31 + 5  # wraps when it is stored
    i[0][1] *= 3
    assert i[0].to_list() == [-(2**31) + 5, 21]
