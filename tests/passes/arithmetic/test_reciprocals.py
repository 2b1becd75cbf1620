"""Pass `reciprocals`: CUDA C divides vectors by numbers through one reciprocal, within the errors of `fast_math`."""

from __future__ import annotations

import numpy as np

import shadesmith as ti

vec3 = ti.types.vector(3, ti.f32)
mat2 = ti.types.matrix(2, 2, ti.f32)
VALUES = np.array([1, 3, -7, 1e-20, 1e30, 1e-37, 0.1, np.inf, 0.0, -0.0, np.nan], np.float32)


@ti.kernel
def divide(a: ti.types.ndarray(vec3, 1), m: ti.types.ndarray(mat2, 1), s: ti.types.ndarray(ti.f32, 1)):
    for i in a:
        total = ti.Vector([0.0, 0.0, 0.0])
        for k in range(s.shape[0]):
            if k % s.shape[0] == i:
                total += a[i] / s[k] + a[i] / 4.0
                m[i] /= s[k] + 1.0
        a[i] = total


@ti.kernel
def once(a: ti.types.ndarray(vec3, 1), s: ti.types.ndarray(ti.f32, 1)):
    for i in a:
        a[i] = a[i] / s[i]


@ti.kernel(fast_math=False)
def exact(a: ti.types.ndarray(vec3, 1), s: ti.types.ndarray(ti.f32, 1)):
    for i in a:
        for k in range(s.shape[0]):
            a[i] /= s[k]


def arrays(n: int = len(VALUES)):
    a, m, s = ti.ndarray(vec3, n), ti.ndarray(mat2, n), ti.ndarray(ti.f32, n)
    a.from_numpy(np.arange(1, 3 * n + 1, dtype=np.float32).reshape(n, 3))
    m.from_numpy(np.arange(1, 4 * n + 1, dtype=np.float32).reshape(n, 2, 2))
    s.from_numpy(np.resize(VALUES, n))
    return a, m, s


def test_source():
    ti.init(arch=ti.python, log_level=ti.ERROR)
    a, m, s = arrays()
    text = divide.source(a, m, s, arch=ti.cuda)
    assert "a(i) * normal_reciprocal_f32(s(k)) + a(i) / 4.0f" in text
    assert "m(i) *= normal_reciprocal_f32(s(k) + 1.0f)" in text
    assert "a(i) /= s(k)" in exact.source(a, s, arch=ti.cuda)
    assert "1.0f" not in once.source(a, s, arch=ti.cuda)  # waits for memory
    for arch in (ti.vulkan, ti.cpu):
        assert "1.0f /" not in divide.source(a, m, s, arch=arch).replace("1.0 /", "1.0f /")
    ti.init(arch=ti.python, log_level=ti.ERROR, passes="-reciprocals")
    assert "1.0f /" not in divide.source(a, m, s, arch=ti.cuda)


def test_values(target):
    a, m, s = arrays()
    divide(a, m, s)
    n = len(VALUES)
    with np.errstate(all="ignore"):
        given = np.arange(1, 3 * n + 1, dtype=np.float64).reshape(n, 3)
        expected = given / VALUES.astype(np.float64)[:, None] + given / 4
        matrices = np.arange(1, 4 * n + 1, dtype=np.float64).reshape(n, 2, 2)
        matrices /= (VALUES.astype(np.float64) + 1)[:, None, None]
        expected, matrices = expected.astype(np.float32), matrices.astype(np.float32)
    np.testing.assert_allclose(a.to_numpy(), expected, rtol=5e-7)
    np.testing.assert_allclose(m.to_numpy(), matrices, rtol=5e-7)


def test_matrices_of_f64(target):
    """Both roundings together are within 1.5 units in the last place."""
    n = 40
    p, s = ti.Matrix.field(3, 3, ti.f64, n), ti.field(ti.f64, (n, 4))
    random = np.random.default_rng(1)
    matrices, divisors = (
        random.normal(size=(n, 3, 3)),
        random.normal(size=(n, 4)) * 10.0 ** random.integers(-9, 9, (n, 4)),
    )
    p.from_numpy(matrices)
    s.from_numpy(divisors)

    @ti.kernel
    def shrink():
        for i in p:
            for k in range(4):
                p[i] = p[i] / s[i, k]

    shrink()
    for k in range(4):
        matrices = matrices / divisors[:, k, None, None]
    np.testing.assert_allclose(p.to_numpy(), matrices, rtol=4 * 1.5 * 2.0**-52)
    assert "* (1.0 / s(i, k))" in shrink.source(arch=ti.cuda)
