"""Pass `loop_divisors`: what a loop divides by the same number in all iterations it multiplies by one reciprocal."""

from __future__ import annotations

from typing import Any

import numpy as np

import shadesmith as ti

Row = ti.types.ndarray(ti.f32, 1)


def weigh(sigma: Any, x: Any, y: Any) -> None:
    """Divide by products of an argument, by a value that is named, and by what iterations change."""
    for i in range(y.shape[0]):
        total, width = 0.0, 1.5 + i
        for k in range(x.shape[0]):
            total += x[k] / (2.0 * sigma * sigma) + x[k] / width
            for m in range(2):
                total += (x[k] + m) / (width + k) + 1.0 / (x[k] + 2.0)
        y[i] = total


def kernel_of(**options: Any) -> Any:
    """Return the kernel."""
    weigh.__annotations__.update(sigma=ti.f32, x=Row, y=Row)
    weigh.__annotations__.pop("return", None)
    return ti.kernel(weigh, **options) if not options else ti.kernel(**options)(weigh)


def test_results(target: str) -> None:
    x, y = np.arange(1, 9, dtype=np.float32), np.zeros(5, np.float32)
    kernel_of()(0.7, x, y)
    expected = np.zeros(5)
    for i in range(5):
        for k in range(8):
            expected[i] += x[k] / (2 * 0.7**2) + x[k] / (1.5 + i) + 2 / (x[k] + 2)
            expected[i] += (2 * x[k] + 1) / (1.5 + i + k)
    np.testing.assert_allclose(y, expected, rtol=2e-6)


def test_source() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    x, y = np.arange(1, 9, dtype=np.float32), np.zeros(5, np.float32)
    text = kernel_of().source(0.7, x, y, arch=ti.cuda)
    assert "float inverse_sigma = normal_reciprocal_f32(2.0f * args.sigma * args.sigma);" in text
    assert "* inverse_sigma + x_tile[k_in_tile] * inverse_width" in text
    assert "float inverse = normal_reciprocal_f32(width + k);" in text and "+ m) * inverse" in text
    assert "inverse" not in kernel_of(fast_math=False).source(0.7, x, y, arch=ti.cuda)
    assert "inverse" not in kernel_of().source(0.7, x, y, arch=ti.cpu)


def test_numbers_of_64_bits_on_vulkan_too() -> None:
    ti.init(arch=ti.python, default_fp=ti.f64, log_level=ti.ERROR)

    @ti.kernel
    def total(a: ti.f64, x: ti.types.ndarray(ti.f64, 1)) -> ti.f64:
        s = 0.0
        ti.loop_config(serialize=True)
        for i in range(100):
            s += x[i] / a
        return s

    x = np.ones(100)
    assert all("x(i) * inverse_a" in total.source(3.0, x, arch=arch) for arch in (ti.cuda, ti.vulkan))
