"""Powers of 0.5, 1.5, 2.5, -0.5 and -1.5 are square roots with `fast_math`, on all targets but the interpreter."""

import re

import numpy as np
import pytest

import shadesmith as ti

EXPONENTS = (0.5, 1.5, 2.5, -0.5, -1.5)


@ti.kernel
def powers(x: ti.types.ndarray(ti.f32, 1), y: ti.types.ndarray(ti.f32, 2), z: ti.types.ndarray(ti.f64, 2)):
    for i in x:
        for k in ti.static(range(5)):
            y[k, i] = x[i] ** ti.static(EXPONENTS[k])
            z[k, i] = ti.pow(ti.cast(x[i], ti.f64), ti.static(EXPONENTS[k]))


@pytest.mark.all_targets
def test_results(target):
    x = np.concatenate([np.geomspace(1e-12, 1e12, 61), [0.0, 1.0, np.inf, np.nan, -1.0]]).astype(np.float32)
    y, z = np.zeros((5, x.size), np.float32), np.zeros((5, x.size))
    powers(x, y, z)
    with np.errstate(all="ignore"):
        expected = np.array([x.astype(np.float64) ** e for e in EXPONENTS])
    # GPUs compute 1 / x ** 1.5 by the cube of one over the root; infinite where a product of the divisor overflows
    assert np.allclose(y, expected, rtol=1e-6, atol=0, equal_nan=True)
    assert np.allclose(z, expected, rtol=1e-14 if target in ("cpu", "python") else 1e-6, atol=0, equal_nan=True)


@pytest.mark.parametrize("arch", ["cpu", "cuda", "vulkan"])
def test_sources(arch):
    ti.init(arch=ti.python, log_level=ti.ERROR)
    given = np.zeros(1, np.float32), np.zeros((5, 1), np.float32), np.zeros((5, 1))
    call = re.compile(r"(?<![.\w])pow(f|_f32|_f64)?\(")
    assert not call.search(powers.source(*given, arch=arch))
    ti.init(arch=ti.python, log_level=ti.ERROR, fast_math=False)
    assert call.search(powers.source(*given, arch=arch))


@ti.kernel
def zeroth_powers(x: ti.types.ndarray(ti.f32, 1), n: ti.types.ndarray(ti.i32, 1), y: ti.types.ndarray(ti.f32, 1)):
    for i in x:
        y[i] = x[i] ** 0 + x[i] ** 0.0
        n[i] **= 0


def test_zeroth_powers_are_1(target):
    """Also of 0 and of what is no number."""
    x, n, y = np.float32([0, -2, np.nan, np.inf]), np.int32([0, 1, -1, 7]), np.zeros(4, np.float32)
    zeroth_powers(x, n, y)
    assert (y == 2).all() and (n == 1).all()
    assert not re.search(r"(?<!\w)pow\w*\(", zeroth_powers.source(x, n, y))
