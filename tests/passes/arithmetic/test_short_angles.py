"""Pass `short_angles`: sines and cosines in loops of CUDA C, with `fast_math`; errors are those that the docs state."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

Array = ti.types.ndarray(ti.f32, 1)


@ti.kernel
def waves(x: Array, sine: Array, cosine: Array):
    for i in x:
        s = c = 0.0
        for _ in range(1):
            s = ti.sin(x[i])
            c = ti.cos(x[i])
        sine[i] = s
        cosine[i] = c


@ti.kernel
def waves_apart(x: Array, sine: Array, cosine: Array):
    for i in x:
        s = c = 0.0
        for _ in range(1):
            s = ti.sin(x[i])
        for _ in range(1):
            c = ti.cos(x[i])
        sine[i] = s
        cosine[i] = c


def results(x: np.ndarray) -> list[np.ndarray]:
    """Return sines and cosines, by functions for a pair and by those for one of them."""
    found = []
    for kernel in (waves, waves_apart):
        sine, cosine = np.zeros_like(x), np.zeros_like(x)
        kernel(x, sine, cosine)
        ti.sync()
        found += [sine.astype(np.float64), cosine.astype(np.float64)]
    return found


@pytest.mark.all_targets
def test_errors(target: str) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    if target == "vulkan":
        pytest.skip("the driver's own functions")
    rng = np.random.default_rng(1)
    multiples = np.arange(-5000, 5000) * (np.pi / 2)
    x = np.concatenate(
        [rng.uniform(-8191, 8191, 40_000), rng.uniform(-7, 7, 20_000), multiples, 10.0 ** -np.arange(38)]
    )
    x = x.astype(np.float32)[:: 8 if target == "python" else 1]  # which has NumPy's functions
    for found, true in zip(results(x), (np.sin(x.astype(np.float64)), np.cos(x.astype(np.float64))) * 2, strict=True):
        assert np.max(np.abs(found - true) / np.spacing(np.abs(true).astype(np.float32))) < 2


@pytest.mark.targets("cpu", "cuda", "python")
def test_large_angles(target: str) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    if target == "vulkan":
        pytest.skip("the driver's own functions")
    x = np.array([8192, -8192, 8193.5, 12345.678, -98765.4, 123456.7, -999999], np.float32)
    for found, true in zip(results(x), (np.sin(x.astype(np.float64)), np.cos(x.astype(np.float64))) * 2, strict=True):
        assert np.all(np.abs(found - true) <= 2 * np.spacing(np.abs(x)))
    huge = np.array([1e9, -3e20, 3e38], np.float32)
    assert all(np.max(np.abs(found)) <= 1 for found in results(huge))
    assert all(np.isnan(found).all() for found in results(np.array([np.inf, -np.inf, np.nan], np.float32)))


def test_sources() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    x = np.zeros(4, np.float32)
    text = waves_apart.source(x, x, x, arch=ti.cuda)
    assert "s = short_sin_f32(x_i);" in text and "c = short_cos_f32(x_i);" in text
    text = waves.source(x, x, x, arch=ti.cuda)
    assert "s = paired_sin_f32(x_i);" in text and "c = paired_cos_f32(x_i);" in text
    assert all("paired" not in waves.source(x, x, x, arch=arch) for arch in (ti.vulkan, ti.x64))

    @ti.kernel
    def turns(x: Array):
        for i in x:
            angle = 0.0
            for k in range(8):
                angle += x[k]
                x[i] += ti.cos(angle) * ti.sin(angle)
                angle = angle * 2
                s = ti.sin(angle)
                angle -= 1
                x[i] -= ti.cos(angle) * s

    text = turns.source(x, arch=ti.cuda)
    assert "paired_cos_f32(angle) * paired_sin_f32(angle)" in text
    assert "s = short_sin_f32(angle)" in text and "short_cos_f32(angle) * s" in text

    @ti.kernel
    def once(x: Array):
        for i in x:
            x[i] = ti.sin(x[i])

    assert "= short_atan2_f32(y(i), x(i));" in directions.source(x, x, x, arch=ti.cuda)
    assert "x(ii) = sinf(x(ii));" in once.source(x, arch=ti.cuda)
    ti.init(arch=ti.python, log_level=ti.ERROR, fast_math=False)
    assert "sinf(x_i)" in waves.source(x, x, x, arch=ti.cuda)


@ti.kernel
def directions(y: Array, x: Array, angle: Array):
    for i in x:
        for _ in range(1):
            angle[i] = ti.atan2(y[i], x[i])


@pytest.mark.targets("cpu", "cuda")
def test_directions(target: str) -> None:
    """In all quadrants, next to the axes and the diagonals."""
    if target in ("vulkan", "python"):
        pytest.skip("others' functions")
    rng = np.random.default_rng(2)
    x, y = (
        rng.uniform(0.5, 1, (2, 40_000)) * rng.choice([-1, 1], (2, 40_000)) * 2.0 ** rng.uniform(-30, 30, (2, 40_000))
    )
    y[::4] = x[::4] * rng.uniform(0.99, 1.01, 10_000)
    x, y = x.astype(np.float32), y.astype(np.float32)
    angle = np.zeros_like(x)
    directions(y, x, angle)
    true = np.arctan2(y.astype(np.float64), x.astype(np.float64))
    assert np.max(np.abs(angle - true) / np.spacing(np.abs(true).astype(np.float32))) < 2


@pytest.mark.targets("cpu", "cuda")
def test_directions_of_zeros_and_infinities(target: str) -> None:
    """Subnormal numbers and those beyond 2^126 have angles in the right eighth."""
    if target in ("vulkan", "python"):
        pytest.skip("others' functions")
    values = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 3, 1e-37, -1e-37, 8e37], np.float32)
    y, x = (np.ascontiguousarray(axis.ravel()) for axis in np.meshgrid(values, values))
    angle = np.zeros_like(x)
    directions(y, x, angle)
    true = np.arctan2(y.astype(np.float64), x.astype(np.float64)).astype(np.float32)
    assert np.allclose(angle, true, rtol=3e-7, atol=2e-38, equal_nan=True)
    numbers = ~np.isnan(true)
    assert np.array_equal(np.signbit(angle[numbers]), np.signbit(true[numbers]))
    y, x = np.array([1e-40, 2e38, 2e38], np.float32), np.array([1e-40, 3e38, -3e38], np.float32)
    directions(y, x, angle)
    assert np.all((angle[:2] >= 0) & (angle[:2] <= 0.7854)) and 2.356 < angle[2] < 3.1416


@pytest.mark.all_targets
def test_no_result_is_beyond_one(target: str) -> None:
    """Next to pi / 2, where one unit more would make `sqrt(1 - s * s)` no number."""
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    if target == "vulkan":
        pytest.skip("the driver's own functions")
    around = np.concatenate([np.linspace(1.55, 1.6, 4000), np.linspace(-0.03, 0.03, 1000)])
    x = np.concatenate([around + k * np.pi for k in (0, 1, 7, 600, 2000)]).astype(np.float32)
    assert all(np.max(np.abs(found)) <= 1 for found in results(x[:: 8 if target == "python" else 1]))
