"""Pass `literal_bases`: powers of 2, 10 and some powers of 2 by exponentials of these bases."""

from __future__ import annotations

import math

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.transpiler.passes.arithmetic.literal_bases import exact_factor

BASES = (2.0, 10.0, 0.5, 4.0, 16.0, 0.25)


@ti.kernel
def powers(x: ti.types.ndarray(), y: ti.types.ndarray()):
    for i in x:
        y[0, i] = ti.cast(2.0, y.dtype) ** x[i]
        y[1, i] = ti.cast(10.0, y.dtype) ** x[i]
        y[2, i] = ti.cast(0.5, y.dtype) ** x[i]
        y[3, i] = ti.cast(4.0, y.dtype) ** x[i]
        y[4, i] = ti.cast(16.0, y.dtype) ** x[i]
        y[5, i] = ti.cast(0.25, y.dtype) ** x[i]


@pytest.mark.targets("cuda", "vulkan")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_errors(target: str, dtype) -> None:
    """Within what GLSL allows, 3 + 2 |x| units in the last place; CUDA's functions have 2. All overflow alike."""
    x = np.concatenate([np.linspace(-12, 12, 301), [0.0, -0.0, np.inf, -np.inf]]).astype(dtype)
    y = np.zeros((len(BASES), len(x)), dtype)
    powers(x, y)
    for base, found in zip(BASES, y, strict=True):
        true = np.power(np.longdouble(base), x.astype(np.longdouble))
        finite = np.isfinite(true) & (true > 0)
        error = np.abs(found[finite] - true[finite]) / np.spacing(true[finite].astype(dtype))
        allowed = 4 if target != "vulkan" else 3 + 2 * np.abs(math.log2(base) * x[finite])
        assert np.all(error <= allowed)
        assert np.array_equal(found[~finite], true[~finite].astype(dtype))


def test_sources() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    x, y = np.zeros(4, np.float32), np.zeros((6, 4), np.float32)
    cuda, glsl, c = (powers.source(x, y, arch=arch) for arch in (ti.cuda, ti.vulkan, ti.x64))
    assert "exp10f(" in cuda and "powf" not in cuda and "exp2f(" in cuda
    assert "pow(10.0, " in glsl and "exp2(" in glsl and "pow_f32" not in glsl
    assert "powf(10.0f, " in c
    assert "pow_f64(2.0lf, " in powers.source(x.astype(np.float64), y.astype(np.float64), arch=ti.vulkan)
    ti.init(arch=ti.python, log_level=ti.ERROR, fast_math=False)
    assert "powf(10.0f, " in powers.source(x, y, arch=ti.cuda)


@pytest.mark.parametrize(
    ("base", "factor"),
    [(2, 1), (0.5, -1), (4, 2), (65536, 16), (0.25, -2), (8, None), (128, None), (1, None), (3, None)],
)
def test_the_product_is_exact(base: float, factor: int | None) -> None:
    """3 * x for a base of 8 would be rounded."""
    assert exact_factor(base) == factor
    assert exact_factor(-base) is None and exact_factor(math.inf) is None and exact_factor(0.0) is None
