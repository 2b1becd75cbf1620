"""Pass `paired_divisors`: C divides two numbers by the same one through its reciprocal, within `fast_math`."""

from __future__ import annotations

import numpy as np

import shadesmith as ti

N = 40
vec2 = ti.types.vector(2, ti.f32)


def data() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    return random.normal(size=(N, 2)).astype(np.float32), random.uniform(0.1, 9.0, N).astype(np.float32)


@ti.kernel
def vectors(a: ti.types.ndarray(vec2, 1), s: ti.types.ndarray(ti.f32, 1)):
    for i in a:
        a[i] = a[i] / s[i]


@ti.kernel
def numbers(a: ti.types.ndarray(ti.f32, 2), s: ti.types.ndarray(ti.f32, 1)):
    for i in s:
        d = s[i]
        x = 1.0 / d
        if a[i, 0] > 0.0:
            a[i, 0] = a[i, 0] / d
            a[i, 1] = a[i, 1] / d
        else:
            a[i, 0] = a[i, 1] / d + x


@ti.kernel
def cells(a: ti.types.ndarray(ti.f32, 2), s: ti.types.ndarray(ti.f32, 1)):
    for i in s:
        x = a[i, 0] / s[i]
        a[i, 1] = ti.floor(a[i, 1] / s[i]) + x
        a[i, 0] = x


@ti.kernel
def triples(a: ti.types.ndarray(ti.f32, 2), s: ti.types.ndarray(ti.f32, 1)):
    for i in s:
        d = s[i]
        a[i, 0] = a[i, 0] / d
        a[i, 1] = a[i, 1] / d + 5.0 / d


@ti.kernel(fast_math=False)
def exact(a: ti.types.ndarray(vec2, 1), s: ti.types.ndarray(ti.f32, 1)):
    for i in a:
        a[i] = a[i] / s[i]


def arrays(dtype: object, shape: object) -> tuple[ti.Ndarray, ti.Ndarray]:
    values, divisors = data()
    a, s = ti.ndarray(dtype, shape), ti.ndarray(ti.f32, N)
    a.from_numpy(values)
    s.from_numpy(divisors)
    return a, s


def test_sources() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    assert "vec2_mul_vs(a(i), 1.0f / s(i))" in vectors.source(*arrays(vec2, N), arch=ti.cpu)
    assert "1.0f /" not in exact.source(*arrays(vec2, N), arch=ti.cpu)
    given = arrays(ti.f32, (N, 2))
    source = numbers.source(*given, arch=ti.cpu)
    assert "float inverse_d = 1.0f / d;" in source and "a(i, 0) *= inverse_d;" in source
    assert "a(i, 1) / d" in source  # the only one of the other branch
    assert "1.0f /" not in cells.source(*given, arch=ti.cpu)  # floor() of a multiple would be one less
    assert "1.0f /" not in triples.source(*given, arch=ti.cpu)  # gcc does so itself
    assert "1.0f / s" not in vectors.source(*arrays(vec2, N), arch=ti.vulkan)


def test_values(target: str) -> None:
    values, divisors = data()
    a, s = arrays(vec2, N)
    vectors(a, s)
    np.testing.assert_allclose(a.to_numpy(), values / divisors[:, None], rtol=3e-7)
    a, s = arrays(ti.f32, (N, 2))
    numbers(a, s)
    expected = values / divisors[:, None]
    negative = values[:, 0] <= 0.0
    expected[negative, 0] = (expected[:, 1] + 1.0 / divisors)[negative]
    expected[negative, 1] = values[negative, 1]
    np.testing.assert_allclose(a.to_numpy(), expected, rtol=1e-6, atol=1e-6)
    a, s = arrays(ti.f32, (N, 2))
    cells(a, s)
    quotients = values / divisors[:, None]
    np.testing.assert_allclose(a.to_numpy()[:, 1], np.floor(quotients[:, 1]) + quotients[:, 0], rtol=1e-6, atol=1e-6)
