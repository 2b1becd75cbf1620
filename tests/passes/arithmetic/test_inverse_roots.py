"""Pass `inverse_roots`: GPUs divide by roots and their cubes by one instruction, within the errors of `fast_math`."""

from __future__ import annotations

import re

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.targets("vulkan", "cuda")  # elsewhere the pass returns at once

Numbers = ti.types.ndarray(ti.f32, 1)
vec3 = ti.types.vector(3, ti.f32)
VALUES = np.array(
    [1, 2, 3, 0.1, 7e-5, 1e4, 1e-12, 1e12, 4, 5, 6.25, 1e9, 0.0, -0.0, np.inf, -1, np.nan, 1e30], np.float32
)


@ti.kernel
def quotients(x: Numbers, one: Numbers, cube: Numbers, vector: ti.types.ndarray(vec3, 1), n: ti.i32):
    for i in x:
        a, b = 0.0, 0.0
        v = ti.Vector([0.0, 0.0, 0.0])
        for _ in range(n):
            a += 3.0 / ti.sqrt(x[i])
            b += 1 / (x[i] * ti.sqrt(x[i]))
            d = ti.Vector([x[i], 1.0, -2.0])
            v += d / d.norm() ** 3
        one[i], cube[i], vector[i] = a, b, v


def call(n: int = 1) -> list[np.ndarray]:
    size = len(VALUES)
    arrays = [np.zeros(size, np.float32), np.zeros(size, np.float32)]
    vectors = ti.ndarray(vec3, size)
    quotients(VALUES, *arrays, vectors, n)
    return [*arrays, vectors.to_numpy()]


def test_values(target: str) -> None:
    one, cube, vectors = call()
    x = VALUES.astype(np.float64)
    with np.errstate(all="ignore"):
        d = np.stack([x, np.ones(len(x)), np.full(len(x), -2.0)], axis=1)
        expected = [3 / np.sqrt(x), 1 / (x * np.sqrt(x)), d / np.linalg.norm(d, axis=1)[:, None] ** 3]
    usual = slice(0, 12)
    for found, right in zip((one, cube, vectors), expected, strict=True):
        assert np.allclose(found[usual], right[usual], rtol=1e-6, atol=1e-38)
    assert np.isposinf(one[12]) and np.isposinf(cube[12]) and one[14] == 0 and cube[14] == 0
    assert np.isnan(one[15:17]).all() and np.isnan(cube[15:17]).all() and abs(cube[17]) < 1e-37


@pytest.mark.parametrize("arch", ["cuda", "vulkan"])
def test_sources(arch: str) -> None:
    def source(kernel: object = quotients, **options: object) -> str:
        ti.init(arch=ti.python, log_level=ti.ERROR, **options)
        return kernel.inspect(VALUES, VALUES, VALUES, ti.ndarray(vec3, 1), 2, arch=getattr(ti, arch)).source

    text, root = source(), "rsqrtf" if arch == "cuda" else "inversesqrt"
    assert text.count(f"{root}(x_i)") == 1 and f"{root}(dot(d, d))" in text
    assert "inverse_root * inverse_root * inverse_root;" in text
    code = re.sub("//.*", "", text[text.index("for (") :])
    assert " / " not in code and not re.search(r"\b(sqrtf?|length)\(", code)
    for options in ({"fast_math": False}, {"passes": "-inverse_roots"}):
        assert f"{root}(" not in source(**options)


def test_what_stays() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)

    @ti.kernel
    def others(x: Numbers, y: Numbers, n: ti.i32):
        for i in x:
            s = 1 / ti.sqrt(x[i])  # outside of loops threads wait for memory
            for k in range(n):
                r, q = ti.sqrt(x[k]), ti.sqrt(y[k])
                s += 1 / (r * q)
                s += 1 / (r * r * r * r * r)
                s += 1 / (r * y[k])
                s += 1 / (x[k] * x[k])
                s += r / x[k]
            y[i] = s

    for arch in (ti.cuda, ti.vulkan, ti.cpu):
        assert not re.search("rsqrt|inversesqrt", others.source(VALUES, VALUES, 2, arch=arch))


def test_a_root_that_something_else_needs_stays() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)

    @ti.kernel
    def both(x: Numbers, y: Numbers, n: ti.i32):
        for i in x:
            s = 0.0
            for k in range(n):
                r = ti.sqrt(x[k])
                s += r + 1 / r
                q = ti.sqrt(y[k])
                s += 1 / q / (y[k] * q)
            y[i] = s

    text = both.source(VALUES, VALUES, 2, arch=ti.vulkan)
    assert text.count("inversesqrt(") == 1 and "sqrt(x(k))" in text and "inversesqrt(y(k))" in text


def test_functions_that_loops_call() -> None:
    @ti.func
    def direction(d):
        length = ti.sqrt(d.dot(d))
        if length > 0.5:
            length = 1.0
        return d / ti.sqrt(d.dot(d) + 1.0) + length

    @ti.kernel
    def in_a_loop(x: ti.types.ndarray(vec3, 1), n: ti.i32):
        for i in x:
            for k in range(n):
                x[i] += direction(x[k])
                x[i] -= direction(x[i])

    @ti.kernel
    def once(x: ti.types.ndarray(vec3, 1)):
        for i in x:
            x[i] = direction(x[i]) + direction(-x[i])

    for fast_math in (True, False):
        ti.init(arch=ti.python, log_level=ti.ERROR, fast_math=fast_math)
        x = ti.ndarray(vec3, 4)
        assert ("rsqrt_f32(" in in_a_loop.source(x, 2, arch=ti.cuda)) is fast_math
        assert "rsqrt" not in once.source(x, arch=ti.cuda)
