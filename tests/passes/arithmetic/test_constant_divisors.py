"""Pass `constant_divisors`: divisions of f64 by constants are products on GPUs, within one unit in the last place."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.targets("vulkan", "cuda")  # elsewhere the pass returns at once

NUMBERS = ti.types.ndarray(ti.f64, 1)


@ti.kernel
def divide(x: NUMBERS, y: NUMBERS, z: NUMBERS, n: ti.template()):
    for i in x:
        y[i] = x[i] / 9
        z[i] = x[i] / ti.static(n)


def test_quotients(target: str) -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.standard_normal(100) * 10.0 ** rng.integers(-200, 200, 100), [0.0, -0.0, 1e300, np.inf]])
    for n in (3, -7, 12.5):
        y, z = np.zeros_like(x), np.zeros_like(x)
        divide(x, y, z, n)
        assert np.allclose(y, x / 9, rtol=1e-15, atol=0) and np.allclose(z, x / n, rtol=1e-15, atol=0)
    nan = np.array([np.nan])
    divide(nan, nan, nan, 3)
    assert np.isnan(nan[0])


def test_sources() -> None:
    x = np.zeros(1)
    for arch in (ti.cuda, ti.vulkan):
        ti.init(arch=ti.python, log_level=ti.ERROR)
        source = divide.source(x, x, x, 8, arch=arch).replace("lf", "")
        assert (
            "* (1.0 / 9.0)" in source
            and "x(ii) / n;" in source
            and source.count("/ 9.0") == source.count("(1.0 / 9.0)")
        )
        ti.init(arch=ti.python, log_level=ti.ERROR, fast_math=False)
        assert "(1.0 / 9.0)" not in divide.source(x, x, x, 8, arch=arch).replace("lf", "")
    ti.init(arch=ti.python, log_level=ti.ERROR)
    assert "(1.0 / 9.0)" not in divide.source(x, x, x, 8, arch=ti.cpu)
