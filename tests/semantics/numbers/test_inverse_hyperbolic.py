"""`ti.asinh`, `ti.acosh`, `ti.atanh`, which Taichi does not have: scalars, vectors, matrices; f16, f32 and f64.

How exact they are is measured in test_numerics_accuracy.py.
"""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

FUNCTIONS = {"asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh}
ARGUMENTS = {"asinh": [-3.5, -1e-3, 0.0, 1e6], "acosh": [1.0, 1.0625, 2.5, 60000.0], "atanh": [-0.75, 1e-3, 0.0, 0.5]}
EXACT = {"f16": 2e-3, "f32": 3e-7, "f64": 5e-16}


@pytest.mark.sampled(2, each="name")
@pytest.mark.parametrize("dtype", EXACT)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_scalars_vectors_and_matrices(target: str, name: str, dtype: str) -> None:
    kind, function = getattr(ti, dtype), getattr(ti, name)
    x = ti.field(kind, 4)
    single, vector, matrix = ti.field(kind, 4), ti.Vector.field(4, kind, ()), ti.Matrix.field(2, 2, kind, ())
    values = np.minimum(ARGUMENTS[name], 6e4).astype(kind.numpy)
    x.from_numpy(values)

    @ti.kernel
    def run():
        for i in x:
            single[i] = function(x[i])
        for _ in range(1):
            vector[None] = function(ti.Vector([x[0], x[1], x[2], x[3]]))
            matrix[None] = function(ti.Matrix([[x[0], x[1]], [x[2], x[3]]]))

    run()
    wanted = FUNCTIONS[name](values.astype("f8"))
    for found in (single, vector, matrix):
        assert np.allclose(found.to_numpy().ravel().astype("f8"), wanted, rtol=EXACT[dtype], atol=0)


def test_outside_of_their_domain(target: str) -> None:
    @ti.kernel
    def run(one: ti.f32) -> ti.types.vector(5, ti.f32):
        inf = 1 / (one - 1)
        return ti.Vector([ti.acosh(one / 2), ti.atanh(one * 2), ti.atanh(-one), ti.asinh(-inf), ti.acosh(inf)])

    assert np.array_equal(run(1.0), [np.nan, np.nan, -np.inf, -np.inf, np.inf], equal_nan=True)


def test_integers_and_python_scope(target: str) -> None:
    @ti.kernel
    def run(n: ti.i32) -> ti.f32:
        return ti.math.asinh(n) + ti.acosh(2)

    assert run(3) == pytest.approx(np.arcsinh(3) + np.arccosh(2))
    assert ti.asinh(0.5) == np.arcsinh(0.5)
    assert np.allclose(ti.math.atanh(ti.Vector([0.5, 0.25])).to_numpy(), np.arctanh([0.5, 0.25]))
