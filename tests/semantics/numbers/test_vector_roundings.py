"""With fast_math=False products of vectors and matrices are rounded as the sums that they are, on every target."""

from typing import Any

import numpy as np
import pytest

import shadesmith as ti

COUNT = 512


def numbers(seed: int, *shape: int, kind: type) -> np.ndarray:
    random = np.random.default_rng(seed)
    return (random.standard_normal((COUNT, *shape)) * 10.0 ** random.uniform(-3, 3, (COUNT, *shape))).astype(kind)


def rows(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the products of rows (..., k) and (..., k), added from the left."""
    total = a[..., 0] * b[..., 0]
    for k in range(1, a.shape[-1]):
        total = total + a[..., k] * b[..., k]
    return total


def products(real: Any, size: int) -> Any:
    vector, matrix, f = ti.types.vector(size, real), ti.types.matrix(size, size, real), ti.types.ndarray

    @ti.kernel(fast_math=False)
    def compute(
        a: f(vector, 1), b: f(vector, 1), m: f(matrix, 1), numbers: f(real, 2), vectors: f(vector, 2), p: f(matrix, 1)
    ):
        for i in a:
            numbers[i, 0] = a[i].dot(b[i])
            numbers[i, 1] = a[i].norm()
            numbers[i, 2] = ti.math.distance(a[i], b[i])
            vectors[i, 0] = a[i].normalized()
            vectors[i, 1] = m[i] @ a[i]
            vectors[i, 2] = m[i].transpose() @ a[i]
            if ti.static(size == 3):
                vectors[i, 3] = a[i].cross(b[i])
            p[i] = m[i] @ m[i]

    return compute


@pytest.mark.sampled(2, each="kind")
@pytest.mark.parametrize("size", [2, 3, 4, 5])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_each_product_and_each_sum_is_rounded(target: str, kind: type, size: int) -> None:
    a, b, m = numbers(1, size, kind=kind), numbers(2, size, kind=kind), numbers(3, size, size, kind=kind)
    scalars, vectors = np.zeros((COUNT, 3), kind), np.zeros((COUNT, 4, size), kind)
    p = np.zeros_like(m)
    products(ti.f32 if kind is np.float32 else ti.f64, size)(a, b, m, scalars, vectors, p)
    ti.sync()
    length = np.sqrt(rows(a, a))
    np.testing.assert_array_equal(scalars[:, 0], rows(a, b))
    np.testing.assert_array_equal(scalars[:, 1], length)
    np.testing.assert_array_equal(scalars[:, 2], np.sqrt(rows(a - b, a - b)))
    np.testing.assert_array_equal(vectors[:, 0], a / length[:, None])
    np.testing.assert_array_equal(vectors[:, 1], rows(m, a[:, None, :]))
    np.testing.assert_array_equal(vectors[:, 2], rows(m.transpose(0, 2, 1), a[:, None, :]))
    if size == 3:
        (x, y, z), (u, v, w) = a.T, b.T
        np.testing.assert_array_equal(vectors[:, 3], np.stack([y * w - z * v, z * u - x * w, x * v - y * u], axis=1))
    np.testing.assert_array_equal(p, rows(m[:, :, None, :], m.transpose(0, 2, 1)[:, None, :, :]))


def test_sources_for_vulkan_use_functions_of_their_own() -> None:
    """`NoContraction` does not reach into GLSL's `dot`: NVIDIA's driver takes one rounding for a product and a sum."""
    ti.init(arch=ti.python, log_level=ti.ERROR)
    given = (*(numbers(k, 3, kind=np.float32) for k in (1, 2)), numbers(3, 3, 3, kind=np.float32))
    results = np.zeros((COUNT, 3), np.float32), np.zeros((COUNT, 4, 3), np.float32), np.zeros((COUNT, 3, 3), np.float32)
    code = products(ti.f32, 3).source(*given, *results, arch=ti.vulkan).split("void main()")[1]
    code = "\n".join(line.split("//")[0] for line in code.splitlines())
    assert all(f" {name}(" not in code and f"({name}(" not in code for name in ("dot", "length", "normalize", "cross"))
    assert "vec3_dot(" in code and "mat3_matmul_vec3(" in code
