"""Functions of `ti.math` and decompositions are functions of the source, with the results of inlined statements."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti
from shadesmith import math as tm

N = 12


def kernel_of(arch, **options):
    """Return a kernel that calls functions of the library in every way, and its results."""
    ti.init(arch=arch, log_level=ti.ERROR, **options)
    x, v, m = ti.field(ti.f32, N), ti.Vector.field(3, ti.f32, N), ti.Matrix.field(2, 2, ti.f32, N)

    @ti.func
    def direction(a):  # a part of `ti.svd` has this name
        return a + 1.0

    @ti.kernel
    def run():
        for i in x:
            a = x[i] * 0.3
            x[i] = tm.smoothstep(a, 2.0, x[i]) + tm.smoothstep(0.5, a + 1.5, x[i]) + direction(tm.fract(x[i]))
            v[i] = tm.mix(v[i], tm.vec3(a), tm.fract(a)) + tm.mix(v[i], tm.vec3(1), 0.25) + direction(tm.mod(a, 0.7))
            U, S, V = ti.svd(m[i])
            R, P = ti.polar_decompose(m[i])
            m[i] = U @ S @ V.transpose() + 2.0 * (R @ P)

    def results():
        x.from_numpy(np.linspace(-1.5, 2.5, N, dtype=np.float32))
        v.from_numpy(np.linspace(-3, 3, 3 * N, dtype=np.float32).reshape(N, 3))
        m.from_numpy(np.linspace(-2, 5, 4 * N, dtype=np.float32).reshape(N, 2, 2))
        run()
        return [field.to_numpy() for field in (x, v, m)]

    return run, results


def test_results(target: str) -> None:
    x, v, m = kernel_of(getattr(ti, target), fast_math=False)[1]()
    start = np.linspace(-1.5, 2.5, N)

    def smoothstep(low, high, at):
        t = np.clip((at - low) / (high - low), 0, 1)
        return t * t * (3 - 2 * t)

    a = 0.3 * start
    expected = smoothstep(a, 2, start) + smoothstep(0.5, a + 1.5, start) + start % 1 + 1
    assert np.allclose(x, expected, atol=1e-5)
    u, f = np.linspace(-3, 3, 3 * N).reshape(N, 3), (a % 1)[:, None]
    assert np.allclose(v, u * (1 - f) + a[:, None] * f + 0.75 * u + 0.25 + (a % 0.7)[:, None] + 1, atol=1e-5)
    assert np.allclose(m, 3 * np.linspace(-2, 5, 4 * N).reshape(N, 2, 2), atol=1e-4)


@pytest.mark.one_target
def test_inlining_changes_no_bit(target: str) -> None:
    found = [kernel_of(getattr(ti, target), fast_math=False, inline=inline)[1]() for inline in ("auto", True, False)]
    assert all(np.array_equal(a, b) for other in found[1:] for a, b in zip(found[0], other, strict=True))


def test_sources() -> None:
    run = kernel_of(ti.python)[0]
    text = run.source(arch=ti.cuda)
    assert "// ti.math.smoothstep\n__device__ inline float smoothstep(float edge0, float edge1, float x" in text
    assert "smoothstep(a, 2.0f, x(i))" in text and text.count("// ti.svd\n") == 1 == text.count(
        "// ti.polar_decompose\n"
    )
    assert "svd(m_i)" in text and "inline float direction(float a)" in text, "the user's name wins"
    assert "mix(v(i), vec3{a, a, a}, fract(a)) + (v(i) * 0.75f + 0.25f)" in text, "0.75 is computed by Python"
    glsl = run.source(arch=ti.vulkan)
    assert "float smoothstep_(float edge0" in glsl and "float fract_(float x_) { return x_ - floor(x_); }" in glsl
    assert "float smoothstep(" not in kernel_of(ti.python, debug=True)[0].source(arch=ti.cuda)


def test_numbers_of_the_library_have_names() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    x = ti.field(ti.f32, N)

    @ti.kernel
    def run():
        for i in x:
            x[i] = tm.log2(x[i]) + tm.radians(x[i]) + ti.randn()

    text = run.source(arch=ti.cuda)
    assert "log_of_2 = 0.6931472f;  // ti.math.log_of_2" in text and "// ti.math.pi / 180.0" in text
    assert "* two_pi)" in text
