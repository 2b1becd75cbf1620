"""Pass `short_quotients`: CUDA C multiplies by a short reciprocal, with `fast_math`, where quotients cost time."""

from __future__ import annotations

import numpy as np
import pytest
import written_programs

import shadesmith as ti

Array = ti.types.ndarray(ti.f32, 1)
Other = ti.types.ndarray(ti.f64, 1)


@ti.func
def limiter(a, b):
    return a / (b + 2.0) + b / (a + 3.0)


@ti.kernel
def some(x: Array, y: Array, r: Array):
    for i in r:
        r[i] = limiter(x[i], y[i]) + limiter(y[i], x[i])


@ti.kernel
def four(x: Array, y: Array, r: Array):
    for i in r:
        r[i] = x[i] / (y[i] + 2.0) + y[i] / (x[i] + 3.0) + x[i] / (y[i] + 4.0) + y[i] / (x[i] + 5.0)


@ti.kernel
def one(x: Array, y: Array, r: Array):
    for i in r:
        r[i] = x[i] / y[i]


@ti.kernel
def by_one_number(x: Array, y: Array, r: Array):
    for i in range(4):
        v = ti.math.vec2(x[i], y[i])
        s = 0.0
        for k in range(4):
            w = x[i] * k + 1.0
            s += 1.0 / w + v.x / w + v.y / w + x[i] / 3.0
        r[i] = s


@ti.kernel
def doubles(x: Other, y: Other, r: Other):
    for i in r:
        for _ in range(4):
            r[i] += x[i] / (y[i] + r[i])


def text(kernel, arch=ti.cuda, type=ti.f32) -> str:
    return kernel.source(*(ti.ndarray(type, 4) for _ in range(3)), arch=arch)


def test_sources() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    assert "a * normal_reciprocal_f32(b + 2.0f) + b * normal_reciprocal_f32(a + 3.0f)" in text(some)
    assert "x(i) / y(i)" in text(one) or "x4(i) / y4(i)" in text(one)
    source = text(by_one_number)
    assert source.count("normal_reciprocal_f32(w)") == 1 and "x(i) / 3.0f" in source
    assert "reciprocal" not in text(doubles, type=ti.f64)
    assert all("reciprocal" not in text(some, arch) for arch in (ti.vulkan, ti.cpu))
    for options in ({"fast_math": False}, {"passes": "-short_quotients"}):
        ti.init(arch=ti.python, log_level=ti.ERROR, **options)
        assert "reciprocal" not in text(some) + text(by_one_number)


@pytest.mark.targets("cuda", "cpu")
def test_single_elements_are_as_those_of_wide_accesses(target: str) -> None:
    """The same bits at all places, whatever the number of elements and their alignment."""
    random = np.random.default_rng(1)
    x, y = random.uniform(0.5, 2, (2, 1027)).astype(np.float32)
    r, shifted = np.zeros_like(x), np.zeros(1028, np.float32)
    four(x, y, r)
    a, b = np.zeros(1028, np.float32), np.zeros(1028, np.float32)
    a[1:], b[1:] = x, y
    four(a[1:], b[1:], shifted[1:])
    ti.sync()
    assert np.array_equal(r, shifted[1:])
    np.testing.assert_allclose(r, x / (y + 2) + y / (x + 3) + x / (y + 4) + y / (x + 5), rtol=1e-6)
    assert "x4(i)" in text(four) and "reciprocal" not in text(four)


def test_values(target: str) -> None:
    random = np.random.default_rng(2)
    x, y = (random.uniform(1, 2, (2, 4000)) * 2.0 ** random.integers(-60, 60, (2, 4000))).astype(np.float32)
    r = np.zeros_like(x)

    @ti.kernel
    def divide(x: Array, y: Array, r: Array):
        for i in r:
            for _ in range(1):
                r[i] = x[i] / y[i]

    divide(x, y, r)
    ti.sync()
    true = x.astype(np.float64) / y
    assert np.max(np.abs(r - true) / np.spacing(true.astype(np.float32))) <= 2.5


def test_functions_that_call_themselves() -> None:
    """And each other, with a local array that a loop of the kernel indexes beside the call (`register_arrays`)."""
    ti.init(arch=ti.python, log_level=ti.ERROR)

    @ti.real_func
    def fraction(n: ti.i32, x: ti.f32) -> ti.f32:
        r = x
        if n > 1:
            r = 1.5 / (x + fraction(n - 1, x / (r + 2.0)))
        return r

    @ti.kernel
    def fractions(x: Array):
        for i in x:
            w = ti.Vector([0.0] * 16)
            for k in range(16):
                w[k] = fraction(k, x[i])
            for k in range(16):
                x[i] += w[k]

    source = fractions.source(ti.ndarray(ti.f32, 4), arch=ti.cuda)
    assert "normal_reciprocal_f32(r + 2.0f)" in source and "#pragma unroll" in source


@pytest.mark.parametrize("loop", ["range(n)", "ti.static(range(16))"])
def test_reciprocals_in_loops(loop, target, tmp_path):
    program = written_programs.write(
        tmp_path / "sums.py",
        "@ti.kernel\n"
        "def add(a: ti.types.ndarray(ti.f32, 1), r: ti.types.ndarray(ti.f32, 1), n: ti.i32):\n"
        "    for i in a:\n"
        "        s = 1.0 / a[i]\n"
        f"        for k in {loop}:\n"
        "            s += 1.0 / (a[i] + k)\n"
        "        r[i] = s\n",
    )
    values = np.array([-1e-4, 0.25, 3, 1e9, -1e30, np.inf], np.float32)
    a, r = ti.ndarray(ti.f32, len(values)), ti.ndarray(ti.f32, len(values))
    a.from_numpy(values)
    program.add(a, r, 16)
    expected = 1 / values.astype(np.float64) + sum(1 / (values.astype(np.float64) + k) for k in range(16))
    np.testing.assert_allclose(r.to_numpy(), expected, rtol=1e-5)
    text = program.add.source(a, r, 16, arch=ti.cuda)
    assert text.count("= normal_reciprocal_f32(") == 1 and " s = 1.0f / a" in text
