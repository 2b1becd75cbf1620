"""What the compiler does to literals of vectors changes no result: conversions, sums, orders, the identity."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.session import session as sessions


@ti.kernel
def offsets(out: ti.types.ndarray(ti.types.vector(3, ti.f32), ndim=1), s: ti.f32):
    for i in out:
        v = ti.Vector([i, -2, i + 1]).cast(ti.f32) + 0.5
        out[i] = v * s + s * (ti.Vector([i, i, 3]) - 0.25) + (s + v) - (v + s)


def test_conversions_sums_and_both_orders(target: str) -> None:
    for n in (1, 5):
        out = ti.Vector.ndarray(3, ti.f32, (n,))
        offsets(out, -1.5)
        i = np.arange(n, dtype=np.float32)[:, None]
        v = np.concatenate([i, np.full_like(i, -2), i + 1], 1) + np.float32(0.5)
        w = np.concatenate([i, i, np.full_like(i, 3)], 1) - np.float32(0.25)
        assert np.array_equal(out.to_numpy(), v * np.float32(-1.5) + np.float32(-1.5) * w)


@pytest.mark.parametrize("value", [2.5, -0.0, float("inf"), float("nan")])
@pytest.mark.targets("cpu", "cuda", "python")
def test_the_identity_times_a_number(target: str, value: float) -> None:
    if target == "vulkan" and not np.isfinite(value):
        pytest.skip("drivers take 0 * x for 0 in a product of a constant matrix")
    ti.init(arch=sessions.CURRENT.arch, fast_math=False, log_level=ti.ERROR)
    out = ti.Matrix.field(2, 2, ti.f32, 2)

    @ti.kernel
    def scale(s: ti.f32):
        for i in out:
            out[i] = ti.Matrix.identity(ti.f32, 2) * s * (s + i)

    scale(value)
    with np.errstate(all="ignore"):
        s = np.float32(value)
        expected = np.stack([np.eye(2, dtype=np.float32) * s * (s + np.float32(i)) for i in range(2)])
    assert np.array_equal(out.to_numpy(), expected, equal_nan=True)


def test_elements_of_a_comparison(target: str) -> None:
    out = ti.field(ti.i32, 6)

    @ti.func
    def inside(c) -> ti.u1:
        return all(c >= 0) and all(c < 4)

    @ti.kernel
    def count():
        for i in out:
            out[i] = int(inside(ti.Vector([i - 1, 3 - i]))) + 2 * int(any(ti.Vector([i, 2]) == 2))

    count()
    assert out.to_numpy().tolist() == [int(0 <= i - 1 < 4 and 0 <= 3 - i < 4) + 2 for i in range(6)]
