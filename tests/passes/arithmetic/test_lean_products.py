"""Pass `lean_products`: products of matrices with literal zeros have no products by them, with `fast_math`."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

dt = 0.25
LITERALS = {
    "transition": [[1, 0, dt, 0], [0, 1, 0, dt], [0, 0, 1, 0], [0, 0, 0, 1]],
    "selection": [[1, 0, 0, 0], [0, 0, 1, 0]],
    "rotation": [[0, -1, 0], [1, 0, 0], [0, 0, 1]],
    "diagonal": [[2, 0], [0, 3]],
    "nothing": [[0, 0, 0], [0, 0, 0], [0, 0, 0]],
    "full": [[1, 2], [3, 4]],
}


def make(literal: list[list[float]], dtype=ti.f32, fast_math: bool = True):
    rows, columns = np.shape(literal)
    m, v = ti.Matrix.field(columns, columns, dtype, 7), ti.Vector.field(columns, dtype, 7)
    around, turned = ti.Matrix.field(rows, rows, dtype, 7), ti.Vector.field(rows, dtype, 7)
    rng = np.random.default_rng(len(literal))
    m.from_numpy(rng.normal(size=(7, columns, columns)))
    v.from_numpy(rng.normal(size=(7, columns)))

    @ti.kernel(fast_math=fast_math)
    def turn():
        for i in m:
            a = ti.Matrix(literal, dt=dtype)
            p = a @ m[i] @ a.transpose()
            around[i] = p + p @ p
            turned[i] = a @ v[i]

    return turn, m, v, around, turned


@pytest.mark.sampled(2, each="literal")
@pytest.mark.parametrize("dtype", [ti.f32, ti.f64])
@pytest.mark.parametrize("literal", LITERALS.values(), ids=LITERALS)
def test_values(target: str, literal, dtype) -> None:
    turn, m, v, around, turned = make(literal, dtype)
    turn()
    a, m, v = np.array(literal, np.float64), m.to_numpy().astype(np.float64), v.to_numpy().astype(np.float64)
    p = a @ m @ a.T
    tolerance = 1e-5 if dtype is ti.f32 else 1e-12
    np.testing.assert_allclose(around.to_numpy(), p + p @ p, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(turned.to_numpy(), v @ a.T, rtol=tolerance, atol=tolerance)


def test_sources() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    names = [name for name, literal in LITERALS.items() if "add_product_f32(" in make(literal)[0].source(arch=ti.cpu)]
    assert names == [name for name in LITERALS if name != "full"]
    assert "add_product" not in make(LITERALS["diagonal"], fast_math=False)[0].source(arch=ti.cpu)
    assert all("add_product" not in make(LITERALS["diagonal"])[0].source(arch=arch) for arch in (ti.cuda, ti.vulkan))
    ti.init(arch=ti.python, log_level=ti.ERROR, passes="-lean_products")
    assert "add_product" not in make(LITERALS["diagonal"])[0].source(arch=ti.cpu)


@pytest.mark.targets("cpu", "cuda", "python")
def test_without_fast_math_zero_times_infinity_is_no_number(target: str) -> None:
    if target == "vulkan":
        pytest.skip("lavapipe takes 0 times a number for 0")
    turn, m, v, _, turned = make(LITERALS["diagonal"], fast_math=False)
    m.fill(1)
    v.fill(1)
    v[3] = [np.inf, 1]
    turn()
    assert turned[2].to_list() == [2, 3] and turned[3][0] == np.inf and np.isnan(turned[3][1])


def test_large_matrices_stay() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    assert "sum = add_product_f32(sum, a.m[i][k], b.m[k][j])" in make(np.eye(6).tolist())[0].source(arch=ti.cpu)
    assert "sum = add_product_f32(sum, a.m[i][k], b.m[k][j])" not in make(np.eye(7).tolist())[0].source(arch=ti.cpu)


def test_a_product_with_a_vector_is_a_line_for_each_term() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    source = make(LITERALS["transition"])[0].source(arch=ti.cpu)
    assert "r.x = add_product_f32(0.0f, a.m[0][0], b.x);\n    r.x = add_product_f32(r.x, a.m[0][1], b.y);" in source
    assert "add_product_f32(add_product_f32(" not in source
    assert "static inline __attribute__((always_inline)) vec4 mat4_matmul_vec4(mat4 a, vec4 b) {" in source
